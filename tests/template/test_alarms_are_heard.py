"""Each alarm of the template rings on its bad days and on no good one, whatever the switches of the template are.

A day says what happens; what is published of it, `published.py` reads from what publishes it.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from typing import Any

import pytest
from late_calls import answers
from published import ALARM, SWEEP, Day, NotThere, Stack, deployed, stack_with
from scenario import BUSINESS, charge, dies, id_of
from template_parts import PARTS, TEMPLATE, all_resources, was_added, written_with

from oncekit.contract.lanes import FAST, FULL, Lane
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.interceptors import before
from oncekit.local.engine.service_calls import Call, Interceptor
from oncekit.local.templates.template import parse

TOPIC, KEY = "AlarmTopic", "arn:aws:kms:us-east-1:123456789012:key/some"
MACHINES: Mapping[Lane, str] = {FULL: "OperationStateMachine", FAST: "FastStateMachine"}

# ---- the switches ----

GIVEN: tuple[dict[str, str], ...] = (
    {},
    {"EventBusName": "none"},
    {"EventBusName": "theirs"},
    {"EventBusName": "none", "QueueTrigger": "false", "HttpTrigger": "false", "Examples": "no"},
    {"EventSource": "shop"},
    {"EncryptionKeyArn": KEY},
    {"AlarmEmail": "oncall@example.com"},
    {"Operations": "refund=my-refund:live"},
    {"DirectLaneName": "shop-prod"},
    {"Announcements": "default"},
    {"HttpCorsOrigin": "*"},
    {"HttpUserPoolArn": "arn:aws:cognito-idp:us-east-1:123456789012:userpool/some"},
)
MOST_CHOICES = 4
"""Of a switch; a list of more is one of numbers."""


def switches() -> Iterator[dict[str, str]]:
    """The defaults, and each switch turned the other way."""
    yield from map(dict, GIVEN)
    for name, declared in parse(TEMPLATE.read_text(), TEMPLATE)["Parameters"].items():
        choices = declared.get("AllowedValues", ())
        if len(choices) <= MOST_CHOICES:
            yield from ({name: each} for each in choices if each != declared["Default"])


every_switch = pytest.mark.parametrize(
    "given", [pytest.param(each, id=" ".join(f"{n}={v}" for n, v in each.items()) or "defaults") for each in switches()]
)


@pytest.mark.parametrize("file", [TEMPLATE, *PARTS], ids=lambda file: file.parent.name)
def test_each_condition_of_the_template_is_tried_both_ways(file: Any) -> None:
    """But for the partition, which is no parameter, and whether a part is told of a queue, which its parent decides."""
    given = {"IsCommercial"} if file == TEMPLATE else {"IsCommercial", "TakesEvents", "TakesMessages"}
    tried = [written_with(file, **each)[0] for each in switches()]
    for name in parse(file.read_text(), file)["Conditions"].keys() - given:
        assert {each.holds(name) for each in tried} == {True, False}, name


# ---- the days ----

WORKING = {"IN_PROGRESS": 60}
OVERDUE = {"IN_PROGRESS": -60}
QUARANTINED = {"QUARANTINED": 0}
Happens = Callable[[Day], None]
BadDay = tuple[Happens, Iterable[int]]
"""With the minutes in which its alarm rings."""
HOURS = 120
"""Minutes of a day that is looked at."""


def swept(
    leases: Mapping[range, Mapping[str, int]] = {},
    rejected: Mapping[range, int] = {},
    blind: Iterable[int] = (),
    away: Iterable[int] = (),
    minutes: int = HOURS,
) -> Happens:
    """A sweep each minute; in `blind` ones it cannot count, in `away` ones it does not run."""

    def happens(day: Day) -> None:
        for minute in range(-10, minutes, day.minutes_between_sweeps):
            found = next((each for when, each in leases.items() if minute in when), WORKING)
            refused = next((each for when, each in rejected.items() if minute in when), 0)
            if minute not in away:
                day.sweep(minute, None if minute in blind else found, refused)

    return happens


def fails_at(logical_id: str, *errors: tuple[int, int]) -> Happens:
    def happens(day: Day) -> None:
        for minute, count in errors:
            day.fails(minute, logical_id, count)

    return happens


MORE_THAN_TEN = ((60, 2), (61, 2), (62, 2), (63, 2), (64, 3))
TEN_IN_FIVE_MINUTES = tuple((minute, 2) for minute in range(HOURS))


def at_http(*errors: tuple[int, int]) -> Happens:
    def happens(day: Day) -> None:
        for minute, count in errors:
            day.answers(minute, count)

    return happens


def ends(*ended: tuple[int, str, str, str | None, int]) -> Happens:
    def happens(day: Day) -> None:
        for each in ended:
            day.ends(*each)

    return happens


SIX_AND_FIVE = ((60, 6), (61, 5))


def throttled(metric: str, **dimensions: str) -> Happens:
    """CloudWatch gets the values later than those of the sweep, which are there at once."""

    def happens(day: Day) -> None:
        swept()(day)
        under = {name: day.of(each)["ref"] if each in day.resources else each for name, each in dimensions.items()}
        for minute, value in SIX_AND_FIVE:
            day.aws(minute, metric, value, late=6, **under)

    return happens


def waits(metric: str, queue: str, *values: tuple[range, int]) -> Happens:
    def happens(day: Day) -> None:
        for minutes, value in values:
            for minute in minutes:
                day.queue(minute, metric, queue, value)

    return happens


def reads_late(minutes: range, age: int) -> Happens:
    """How old what AnnounceEnd gets of its stream is, in milliseconds."""

    def happens(day: Day) -> None:
        name = day.of("AnnounceEndFunction")["ref"]
        for minute in minutes:
            day.aws(minute, "AWS/Lambda/IteratorAge", age, FunctionName=name)

    return happens


FULL_MACHINE, FAST_MACHINE = MACHINES.values()
TABLE, INDEX = {"TableName": "IdempotencyTable"}, {"GlobalSecondaryIndexName": "open-operations"}
AGE, VISIBLE = "ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"
OWN_ENDS = ("InvalidRequest", "PayloadMismatch", "OperationInProgress", "OperationFailed", "NeedsAttention", "LockLost")
DAY = 24 * 60


def no_dead_execution(day: Day) -> None:
    for (minute, error), machine in itertools.product(enumerate(OWN_ENDS), MACHINES.values()):
        day.ends(minute, machine, "FAILED", error)
        day.ends(minute, machine, "ABORTED")
        day.ends(minute, machine, "TIMED_OUT")
    day.ends(1, SWEEP, "FAILED", "States.Timeout")


def no_stopped_execution(day: Day) -> None:
    for minute in range(HOURS):
        for machine, error in itertools.product((FULL_MACHINE, FAST_MACHINE), OWN_ENDS):
            day.ends(minute, machine, "FAILED", error)
        for status in ("ABORTED", "TIMED_OUT"):
            day.ends(minute, FAST_MACHINE, status)
            if minute % 10 == 0:
                day.ends(minute, FULL_MACHINE, status, times=0)


def no_slow_execution(day: Day) -> None:
    for minute in range(HOURS):
        day.ends(minute, FAST_MACHINE, "FAILED", "OperationFailed")
        day.ends(minute, FULL_MACHINE, "TIMED_OUT")


def ten_failed_in_five_minutes(day: Day) -> None:
    for minute, machine in itertools.product(range(HOURS), (FULL_MACHINE, FAST_MACHINE)):
        day.ends(minute, machine, "FAILED", "InvalidRequest")


def few_throttles(day: Day) -> None:
    """Ten in five minutes, of different things."""
    swept()(day)
    for minute in range(HOURS):
        day.aws(minute, "AWS/States/ExecutionThrottled", 1, StateMachineArn=day.of(FULL_MACHINE)["ref"])
        day.aws(minute, "AWS/DynamoDB/ReadThrottleEvents", 1, TableName=day.of("IdempotencyTable")["ref"])


DAYS: Mapping[str, tuple[list[Happens], list[BadDay]]] = {
    "DeadExecutionsAlarm": (
        [no_dead_execution],
        [(ends((60, each, "FAILED", "States.Runtime", 1)), range(60, 65)) for each in MACHINES.values()],
    ),
    "RequestApiErrorsAlarm": ([at_http(*TEN_IN_FIVE_MINUTES)], [(at_http(*MORE_THAN_TEN), [64])]),
    "QuarantinedOperationsAlarm": (
        [swept({range(HOURS): OVERDUE}, {range(HOURS): 99}), swept(away=range(60, 100)), swept(blind=range(60, 100))],
        [
            (swept({range(60, 100): QUARANTINED}), range(60, 101)),
            (swept({range(60, 100): QUARANTINED}, away=range(70, 90)), range(60, 101)),
            (swept({range(60, 100): QUARANTINED}, blind=range(70, 90)), range(60, 101)),
        ],
    ),
    "OverdueOperationsAlarm": (
        [
            swept({range(n, n + 3): OVERDUE for n in range(0, HOURS, 4)}, {range(HOURS): 99}),
            swept({range(HOURS): QUARANTINED}, away=range(0, HOURS, 3)),
        ],
        [
            (swept({range(60, 100): OVERDUE}), range(63, 100)),
            (swept(away=range(60, 100)), range(63, 100)),
            (swept(blind=range(60, 100)), range(63, 100)),
        ],
    ),
    "RejectedRequestsAlarm": (
        [
            swept({range(HOURS): QUARANTINED}, {range(HOURS): 10}),
            swept(away=range(60, 100)),
            swept(blind=range(60, 100)),
        ],
        [
            (swept(rejected={range(60, 100): 11}), range(60, 101)),
            (swept(rejected={range(60, 100): 11}, away=range(70, 90)), range(60, 101)),
            (swept(rejected={range(60, 100): 11}, blind=range(70, 90)), range(60, 101)),
        ],
    ),
    "RejectedRequestsLeftAlarm": (
        [
            swept(rejected={range(DAY - 1): 99}, minutes=DAY + HOURS),
            swept(away=range(60, DAY + HOURS), minutes=DAY + 2 * HOURS),
        ],
        [
            (swept(rejected={range(DAY + 100): 1}, minutes=DAY + HOURS), range(DAY - 1, DAY + 100)),
            (
                swept(rejected={range(DAY + 100): 1}, away=range(DAY + 10, DAY + 90), minutes=DAY + HOURS),
                range(DAY - 1, DAY + 100),
            ),
        ],
    ),
    "RecoveryFailingAlarm": (
        [ends(*((minute, SWEEP, "FAILED", "RecoveryIncomplete", minute % 5 == 0) for minute in range(HOURS)))],
        [(ends(*((minute, SWEEP, "FAILED", "RecoveryIncomplete", 1) for minute in (60, 64))), [64])],
    ),
    "StoppedExecutionsAlarm": (
        [no_stopped_execution],
        [(ends((60, FULL_MACHINE, each, None, 1)), range(60, 65)) for each in ("ABORTED", "TIMED_OUT")],
    ),
    "FastTimeoutsAlarm": (
        [no_slow_execution],
        [(ends((60, FAST_MACHINE, "TIMED_OUT", None, 1)), range(60, 65))],
    ),
    "FailedExecutionsAlarm": (
        [ten_failed_in_five_minutes],
        [
            (ends((60, one, "FAILED", "InvalidRequest", 6), (61, other, "FAILED", "InvalidRequest", 5)), range(61, 65))
            for one, other in itertools.product((FULL_MACHINE, FAST_MACHINE), repeat=2)
        ],
    ),
    "ThrottlesAlarm": (
        [few_throttles, swept({range(HOURS): WORKING})],
        [
            (throttled(metric, **dimensions), range(67, 70))
            for metric, dimensions in (
                ("AWS/States/ExecutionThrottled", {"StateMachineArn": FULL_MACHINE}),
                ("AWS/Lambda/Throttles", {"FunctionName": "somebody's"}),
                ("AWS/DynamoDB/ReadThrottleEvents", TABLE),
                ("AWS/DynamoDB/WriteThrottleEvents", TABLE),
                ("AWS/DynamoDB/WriteThrottleEvents", TABLE | INDEX),
            )
        ],
    ),
    "EventDeadLetterAlarm": (
        [waits(VISIBLE, "EventDeadLetterQueue", (range(0, HOURS, 7), 0))],
        [(waits(VISIBLE, "EventDeadLetterQueue", (range(60, 100), 1)), range(60, 104))],
    ),
    "RequestDeadLetterAlarm": (
        [waits(VISIBLE, "RequestDeadLetterQueue", (range(0, HOURS, 7), 0))],
        [(waits(VISIBLE, "RequestDeadLetterQueue", (range(60, 100), 1)), range(60, 104))],
    ),
    "RequestAgeAlarm": (
        [
            waits(AGE, "RequestQueue", (range(10, HOURS), 600)),
            waits(AGE, "RequestQueue", *((range(n, n + 4), 3000) for n in range(0, HOURS, 5))),
        ],
        [(waits(AGE, "RequestQueue", (range(60, 80), 601)), range(64, 80))],
    ),
    "AnnouncementDeadLetterAlarm": (
        [waits(VISIBLE, "AnnouncementDeadLetterQueue", (range(0, HOURS, 7), 0))],
        [(waits(VISIBLE, "AnnouncementDeadLetterQueue", (range(60, 100), 1)), range(60, 104))],
    ),
    "AnnouncementAgeAlarm": (
        [reads_late(range(10, HOURS), 600_000)],
        [(reads_late(range(60, 80, 4), 600_001), range(60, 81))],
    ),
}
OF_A_FUNCTION = "ErrorsAlarm"


def days_of(alarm: str) -> tuple[list[Happens], list[BadDay]]:
    if alarm in DAYS:
        return DAYS[alarm]
    assert alarm.endswith(OF_A_FUNCTION), f"{alarm} has no days here"
    function = f"{alarm.removesuffix(OF_A_FUNCTION)}Function"
    return [fails_at(function, *TEN_IN_FIVE_MINUTES)], [(fails_at(function, *MORE_THAN_TEN), [64])]


OF_THE_LOG = ("DeadExecutionsAlarm", "FastTimeoutsAlarm")
"""Those of which ExecutionLog says that with OFF they never go off."""
FUNCTIONS = ("CacheResponse", "ChargePayment", "PlaceOrder", "BuildReport")
ALARMS = (*DAYS, *(f"{each}{OF_A_FUNCTION}" for each in FUNCTIONS))


@functools.cache
def heard(alarm: str, stack: Stack) -> list[tuple[list[int], list[int]]] | None:
    """For each day of an alarm the minutes in which it rings, and those in which it has to; None if it has none."""
    good, bad = days_of(alarm)
    found = []
    for happens, rings in [*((each, ()) for each in good), *bad]:
        day = Day(stack)
        try:
            happens(day)
        except NotThere:
            return None
        found.append((day.rings(alarm, HOURS), list(rings)))
    return found


@every_switch
def test_an_alarm_rings_on_a_bad_day_and_is_ok_on_a_good_one(given: dict[str, str]) -> None:
    """One for what is not in the stack is not there either; each other one is."""
    stack = stack_with(**given)
    days = {alarm: found for alarm in ALARMS if (found := heard(alarm, stack)) is not None}
    for alarm, found in days.items():
        is_deaf = given.get("ExecutionLog") == "OFF" and alarm in OF_THE_LOG
        for rings, has_to in found:
            assert rings == ([] if is_deaf else has_to), alarm
    own = {name for name, _ in Day(stack).all(ALARM) if name in ALARMS or not was_added(name, all_resources())}
    assert own == set(days)


@every_switch
def test_an_alarm_that_rings_or_ends_tells_whoever_subscribed(given: dict[str, str]) -> None:
    made = deployed(**given)
    topic = made[TOPIC]
    for name, each in made.items():
        if each.type == ALARM:
            assert each.properties["AlarmActions"] == each.properties["OKActions"] == [topic.ref], name
            assert each.properties.get("ActionsEnabled", True) is True, name
    # CloudWatch may not use the key that AWS manages for SNS.
    assert topic.properties.get("KmsMasterKeyId") == given.get("EncryptionKeyArn")
    told = [each.properties for each in made.values() if each.type == "AWS::SNS::Subscription"]
    address = given.get("AlarmEmail")
    assert told == ([{"TopicArn": topic.ref, "Protocol": "email", "Endpoint": address}] if address else [])


# ---- what is done elsewhere ----


def as_it_waits(cloud: LocalCloud, record: Mapping[str, Any]) -> Happens:
    """Many records as this one is now, and sweeps that do not get them on."""
    shard, left = record["openShard"].partition("#")[0], record["leaseExpiresAt"] - int(cloud.clock.now())
    return swept({range(HOURS): {shard: left}})


@pytest.mark.parametrize("lane", MACHINES)
def test_an_operation_that_waits_for_work_elsewhere_rings_nothing_until_it_has_run_out(
    cloud: LocalCloud, lane: Lane
) -> None:
    def pending(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state != BUSINESS:
            return proceed()
        event = json.loads(call.parameters["Payload"])
        said = {"replyToken": event["replyToken"], "oncePending": 90 * 86_400}
        return {"StatusCode": 200, "Payload": BytesIO(json.dumps(said).encode())}

    with cloud.intercept(pending):
        ended = cloud.run(charge(), lane=lane)
    record = cloud.record(id_of(charge())) or {}
    assert ended.status == "SUCCEEDED" and record["pendingSince"], "no alarm looks at what succeeds"
    assert ringing(as_it_waits(cloud, record)) == set()
    cloud.clock.advance(90 * 86_400 - 10)  # type: ignore[attr-defined]
    assert ringing(as_it_waits(cloud, record)) == set()
    cloud.clock.advance(20)  # type: ignore[attr-defined]
    assert ringing(as_it_waits(cloud, record)) == {"OverdueOperationsAlarm"}


def ringing(happens: Happens) -> set[str]:
    """The alarms that ring on a day, but for those on what happens elsewhere, of which it says nothing."""
    day = Day(stack_with())
    happens(day)
    return {name for name, _ in day.all(ALARM) if day.rings(name, HOURS)}


# ---- what rolls a deployment back ----

GRADUAL = pytest.mark.parametrize("rollout", ["Canary", "Linear"])


def rolled_back(rollout: str, happens: Happens) -> set[str]:
    """The machines and functions whose rollout goes back on a day."""
    made = deployed(Rollout=rollout)
    by_name = {each.ref: name for name, each in made.items() if each.type == ALARM}
    watched: dict[str, list[str]] = {}
    for name, each in made.items():
        if each.type == "AWS::StepFunctions::StateMachineAlias":
            preference = each.properties["DeploymentPreference"]
            assert preference["Type"] != "ALL_AT_ONCE"
            watched[name.removesuffix("Alias")] = preference["Alarms"]
        if each.type == "AWS::CodeDeploy::DeploymentGroup":
            stops, back = each.properties["AlarmConfiguration"], each.properties["AutoRollbackConfiguration"]
            assert stops["Enabled"] and back["Enabled"] and "DEPLOYMENT_STOP_ON_ALARM" in back["Events"]
            watched[name.removesuffix("DeploymentGroup")] = [alarm["Name"] for alarm in stops["Alarms"]]
    day = Day(stack_with(Rollout=rollout))
    happens(day)
    return {name for name, alarms in watched.items() if any(day.rings(by_name[each], HOURS) for each in alarms)}


def as_it_ended(execution: Execution, lane: Lane) -> Happens:
    """Many end like it."""
    return ends((60, MACHINES[lane], execution.status, execution.error, 50))


def of_business_logic(said: Any, **more: str) -> Interceptor:
    return answers({"StatusCode": 200, "Payload": BytesIO(json.dumps(said).encode()), **more}, state=BUSINESS)


def lost_lock(cloud: LocalCloud, lane: Lane) -> Execution:
    """Somebody releases the lock while the function runs."""

    def release() -> None:
        cloud.client("dynamodb").delete_item(TableName=cloud.outputs["TableName"], Key={"id": {"S": id_of(charge())}})

    with cloud.intercept(before(release, state="Finalize"), of_business_logic({"charged": True})):
        ended = cloud.run(charge(), lane=lane)
    assert ended.error == "LockLost"
    return ended


def refused(cloud: LocalCloud, lane: Lane) -> Execution:
    ended = cloud.run({**charge(), "surplus": 1}, lane=lane)
    assert ended.error == "InvalidRequest"
    return ended


def refused_as_another(cloud: LocalCloud, lane: Lane) -> Execution:
    with cloud.intercept(of_business_logic({"charged": True})):
        cloud.run(charge(), lane=lane)
    ended = cloud.run(charge(amount=1), lane=lane)
    assert ended.error == "PayloadMismatch"
    return ended


def failed_for_good(cloud: LocalCloud, lane: Lane) -> Execution:
    said = {"errorType": "PermanentError", "errorMessage": "the card was declined"}
    with cloud.intercept(of_business_logic(said, FunctionError="Unhandled")):
        ended = cloud.run(charge(), lane=lane)
    assert ended.error == "OperationFailed"
    return ended


def stopped(cloud: LocalCloud, lane: Lane) -> Execution:
    with cloud.intercept(dies(cloud, BUSINESS)):
        ended = cloud.run(charge(), lane=lane)
    assert ended.status == "ABORTED"
    return ended


@GRADUAL
@pytest.mark.parametrize(
    ("lane", "how"),
    [
        *itertools.product(MACHINES, (lost_lock, refused, refused_as_another, failed_for_good)),
        (FULL, stopped),  # nobody can stop an Express execution
    ],
)
def test_nothing_goes_back_for_what_requests_or_people_cause(
    cloud: LocalCloud, rollout: str, lane: Lane, how: Callable[[LocalCloud, Lane], Execution]
) -> None:
    assert rolled_back(rollout, as_it_ended(how(cloud, lane), lane)) == set()


@GRADUAL
@pytest.mark.parametrize("machine", MACHINES.values())
def test_nothing_goes_back_for_executions_whose_time_is_over(rollout: str, machine: str) -> None:
    assert rolled_back(rollout, ends((60, machine, "TIMED_OUT", None, 50))) == set()


@GRADUAL
def test_both_lanes_go_back_when_one_execution_dies(cloud: LocalCloud, rollout: str) -> None:
    died = cloud.run({**charge(), "payload": {"_jsonata_lambda": True}})
    assert died.error == "States.QueryEvaluationError"
    assert rolled_back(rollout, as_it_ended(died, FULL)) == set(MACHINES.values())


@GRADUAL
@pytest.mark.parametrize("machine", MACHINES.values())
@pytest.mark.parametrize(
    "error", ["States.Runtime", "DynamoDB.ResourceNotFoundException", "Lambda.Unknown", "InvalidEventError"]
)
def test_both_lanes_go_back_for_each_kind_of_death(rollout: str, machine: str, error: str) -> None:
    assert rolled_back(rollout, ends((60, machine, "FAILED", error, 1))) == set(MACHINES.values())


@GRADUAL
@pytest.mark.parametrize("function", FUNCTIONS)
def test_only_a_function_that_fails_again_and_again_goes_back(rollout: str, function: str) -> None:
    assert rolled_back(rollout, fails_at(f"{function}Function", *TEN_IN_FIVE_MINUTES)) == set()
    assert rolled_back(rollout, fails_at(f"{function}Function", *MORE_THAN_TEN)) == {f"{function}Function"}
