"""The timeline of an operation: who owned it, what it waited for and how long, and who decided what."""

from __future__ import annotations

import dataclasses
import datetime
import getpass
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from invoking import A_LEASE, DIRECT, Direct, ask
from scenario import LANES, begun_again, by_recovery, charge, dead, dies, id_of
from tickets import end_by_ticket

from oncekit.cli.here.chosen_faults import fault_of
from oncekit.cli.here.console import LocalActions
from oncekit.console.here import run_here
from oncekit.console.parts import Part, part_of
from oncekit.console.starts import WORK
from oncekit.console.story import Logged, Story, story
from oncekit.console.words import iso
from oncekit.contract.lanes import MACHINES, Lane
from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import before, fails, times_out
from oncekit.local.engine.service_calls import Call

LEASE_AND_SWEEP_S = 480
ASKING = charge() | {"operation": "ask-somebody"}
ELSEWHERE = charge() | {"operation": "work-elsewhere"}


def parts_of(cloud: LocalCloud) -> list[Part]:
    known = [each for output in MACHINES.values() for each in cloud.executions.of(cloud.outputs[output])]
    runs = sorted((run_here(cloud.describe(each.arn)) for each in known), key=lambda run: run.started_at)
    return [part_of(run) for run in runs]


def told(cloud: LocalCloud, id: str = id_of(charge()), parts: Sequence[Part] | None = None, **more: Any) -> Story:
    now = datetime.datetime.fromtimestamp(cloud.clock.now(), datetime.UTC)
    return story(parts_of(cloud) if parts is None else parts, cloud.record(id), now, **more)


def kinds(found: Story) -> list[str]:
    return [each.kind for each in found.moments]


def total(found: Story) -> str:
    """With minutes since it was asked."""
    return found.total(lambda at: f"{round((at - (found.asked or at)).total_seconds() / 60)} min")


def later(cloud: LocalCloud, seconds: float) -> None:
    with cloud.delivering():
        cloud.clock.advance(seconds)  # type: ignore[attr-defined]
        cloud.settle()


def dying(cloud: LocalCloud, lane: Lane = "full") -> None:
    with cloud.intercept(fault_of(cloud, "dies-after", "dying")):
        cloud.wait(cloud.start(json.dumps(charge()), "dying", lane))


@LANES
def test_a_request_is_asked_owned_run_and_answered(cloud: LocalCloud, lane: Lane) -> None:
    owner = cloud.run(charge(), lane=lane)
    found = told(cloud)
    assert kinds(found) == ["asked", "owner", "ran", "answer"]
    assert found.moments[1].executions == (owner.arn,) and f"{owner.name} got the lock" == found.moments[1].what
    assert found.moments[0].what == f"Asked in the {lane} lane" and total(found).startswith(
        "asked 0 min, answered 0 min: "
    )


@LANES
def test_a_crash_says_how_long_it_waited_for_the_lease_and_who_took_over(cloud: LocalCloud, lane: Lane) -> None:
    dying(cloud, lane)
    assert kinds(told(cloud)) == ["asked", "owner", "failed", "died", "waited"]
    later(cloud, LEASE_AND_SWEEP_S)
    found = told(cloud)
    assert kinds(found) == ["asked", "owner", "failed", "died", "waited", "owner", "ran", "answer"]
    crash, wait, recovery = found.moments[3:6]
    assert (wait.at, wait.until) == (crash.at, recovery.at) and "Recovery took over" in recovery.what
    waited = 2 if lane == "full" else 7
    assert (
        total(found) == f"asked 0 min, answered {waited} min: {waited} min, of which {waited} min waiting for the lease"
    )


def test_of_an_owner_without_a_history_the_wait_is_at_most_what_nobody_saw(cloud: LocalCloud) -> None:
    """As `once show` knows it, after a crash in the fast lane."""
    dying(cloud, "fast")
    later(cloud, LEASE_AND_SWEEP_S)
    parts = [each for each in parts_of(cloud) if each.by_recovery]
    found = told(cloud, parts=parts)
    assert kinds(found) == ["asked", "owner", "died", "waited", "owner", "ran", "answer"]
    assert found.moments[2].at is None and "of which at most 7 min waiting for the lease" in total(found)
    at = datetime.datetime.fromtimestamp(cloud.clock.now() - LEASE_AND_SWEEP_S, datetime.UTC)
    logged = [Logged(1, at, at + datetime.timedelta(seconds=2))]
    assert "The log has something of attempt 1" in [
        each.what for each in told(cloud, parts=parts, logged=logged).moments
    ]


def test_a_log_that_is_written_after_the_end_stands_above_it(cloud: LocalCloud) -> None:
    cloud.run(charge(), lane="fast")
    end = datetime.datetime.fromisoformat((cloud.record(id_of(charge())) or {})["finishedAt"])
    late = end + datetime.timedelta(milliseconds=15)
    found = told(cloud, parts=[], logged=[Logged(1, late, late)])
    assert kinds(found)[-1] == "answer"


def test_duplicates_are_one_line_and_their_owner_stays(cloud: LocalCloud) -> None:
    dying(cloud)
    for _ in range(99):
        cloud.run(charge())
    later(cloud, LEASE_AND_SWEEP_S)
    cloud.run(charge())
    cloud.run(charge(amount=1))
    found = told(cloud)
    assert [(each.what, len(each.executions)) for each in found.moments if each.kind == "others"] == [
        ("99 duplicates came while it was in progress", 99),
        ("1 duplicate got the stored answer", 1),
        ("1 request with another payload was refused", 1),
    ]
    assert kinds(found).count("owner") == 2


def test_attempts_that_failed_alike_are_one_line_with_the_waits_between_them(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("Lambda.Unknown", state=WORK, nth=range(1, 8))):
        owner = run_here(cloud.run(charge()))
    found = told(cloud)
    assert found.moments[2].lasted == "", "the waits are not of the function"
    assert kinds(found) == ["asked", "owner", "failed", "paused", "ran", "answer"]
    assert "attempts 1 to 7, Lambda.Unknown" in found.moments[2].what and "(attempt 8)" in found.moments[4].what
    assert "waiting for another attempt" in found.lasts
    waits = [n for n, each in enumerate(owner.visits) if each.state == "BackOff"][-1]
    then = dataclasses.replace(owner, status="RUNNING", ended_at=None, visits=owner.visits[: waits + 1])
    now = then.visits[-1].entered_at + datetime.timedelta(hours=1)
    goes_on = story([part_of(then)], None, now)
    assert goes_on.moments[-1].what.startswith("Waits before attempt ") and goes_on.moments[-1].lasted == "1 h"
    assert f"of which {goes_on.lasts.split(' so far')[0]} waiting for another attempt" in goes_on.lasts


@LANES
def test_who_came_together_with_the_owner_stands_below_it(cloud: LocalCloud, lane: Lane) -> None:
    others: list[str] = []
    come = before(lambda: others.append(cloud.run(charge(), lane=lane).arn), state="AcquireLock", nth=1)
    with cloud.intercept(come):
        cloud.run(charge(), lane=lane)
    assert kinds(told(cloud)) == ["asked", "owner", "ran", "answer", "others"]


def test_a_duplicate_came_when_it_did_also_where_its_owner_is_not_known(cloud: LocalCloud) -> None:
    dying(cloud, "fast")
    came = cloud.clock.now()
    cloud.run(charge())
    later(cloud, LEASE_AND_SWEEP_S)
    found = told(cloud, parts=[each for each in parts_of(cloud) if "dying" not in each.arn])
    [others] = [each for each in found.moments if each.kind == "others"]
    assert others.at is not None and abs(others.at.timestamp() - came) < 1


def test_what_a_person_had_run_again_had_waited_for_work_elsewhere(cloud: LocalCloud) -> None:
    cloud.run(ELSEWHERE)
    later(cloud, 300)
    LocalActions(cloud, Path()).retry(id_of(ELSEWHERE))
    cloud.settle()
    assert "of which 5 min waiting for work elsewhere" in total(told(cloud, id_of(ELSEWHERE)))


def test_the_wait_for_work_elsewhere_stands_below_its_start(cloud: LocalCloud) -> None:
    """The record is pending some milliseconds before the execution that says so has ended."""
    cloud.run(ELSEWHERE)
    [part] = parts_of(cloud)
    ended = (part.ended or part.began) + datetime.timedelta(milliseconds=5)
    found = told(cloud, id_of(ELSEWHERE), parts=[dataclasses.replace(part, ended=ended)])
    assert [each.what[:24] for each in found.moments[-2:]] == ["Your function started wo", "Waits for work elsewhere"]


def test_the_wait_for_a_sweep_that_quarantined_is_told_where_only_the_dead_owner_is_known(cloud: LocalCloud) -> None:
    """As `once show` knows it: the record keeps its owner."""
    with cloud.intercept(fault_of(cloud, "dies-after", "dying")):
        cloud.wait(cloud.start(json.dumps(charge(onCrash="quarantine")), "dying"))
    parts = parts_of(cloud)
    later(cloud, LEASE_AND_SWEEP_S)
    found = told(cloud, parts=parts)
    assert kinds(found)[-2:] == ["waited", "quarantined"] and "waiting for the lease" in total(found)
    LocalActions(cloud, Path()).retry(id_of(charge()))
    kept_no_more = "What happened until a person decided is not kept"
    assert kept_no_more in [each.what for each in told(cloud, parts=parts).moments]


def test_what_the_fast_lane_hands_over_is_one_story(cloud: LocalCloud) -> None:
    with cloud.intercept(times_out(applied=True, state=WORK, nth=1)):
        cloud.run(charge(), lane="fast")
        cloud.settle()
    assert kinds(told(cloud)) == ["asked", "owner", "failed", "owner", "owner", "ran", "answer"]
    of_last = told(cloud, parts=[each for each in parts_of(cloud) if each.by_recovery])
    assert kinds(of_last) == ["asked", "owner", "failed", "owner", "ran", "answer"]
    assert "States.Timeout" in of_last.moments[2].what


def test_a_request_that_was_handed_over_was_asked_when_it_came_to_the_fast_lane(cloud: LocalCloud) -> None:
    with cloud.deployed_with({"FullLaneOperations": "charge-payment"}):
        cloud.run(charge(), lane="fast")
        cloud.settle()
    [first] = [each for each in parts_of(cloud) if each.role == "owner"]
    found = told(cloud, parts=[first])
    assert found.moments[0].what == "Asked in the fast lane, which handed it over", kinds(found)
    assert found.asked is not None and found.asked <= first.began


def test_who_decided_what_is_told_and_how_long_it_waited_for_that(cloud: LocalCloud) -> None:
    do, id = LocalActions(cloud, Path()), id_of(ASKING)
    cloud.run(ASKING)
    later(cloud, 3600)
    do.retry(id, "no such charge")
    cloud.settle()
    later(cloud, 600)
    assert told(cloud, id).total(str).endswith(" so far, of which 1 h 10 min waiting for a person")
    do.resolve(id, '{"chargeId": "ch_1"}', None)
    later(cloud, 60)
    found = told(cloud, id)
    me = getpass.getuser()
    said = [each.what for each in found.moments if each.kind == "person"]
    assert said == [f"{me} had it run again: no such charge", f"{me} gave its answer"]
    assert [each.lasted for each in found.moments if each.kind == "quarantined"] == ["1 h", "10 min"]
    assert kinds(found)[-2:] == ["person", "answer"] and "of which 1 h 10 min waiting for a person" in total(found)


def test_a_released_key_begins_anew_and_the_decision_is_still_told(cloud: LocalCloud) -> None:
    do, id = LocalActions(cloud, Path()), id_of(ASKING)
    cloud.run(ASKING)
    later(cloud, 60)
    do.release(id)
    assert total(told(cloud, id)) == "asked 0 min, released 1 min: 1 min, of which 1 min waiting for a person"
    later(cloud, 60)
    cloud.run(ASKING)
    found = told(cloud, id)
    assert kinds(found).count("asked") == 2 and "person" in kinds(found)
    assert total(found).startswith("asked 0 min, quarantined since 0 min")
    anew = [each.what for each in found.moments if each.kind == "asked"][1]
    assert "an effect from before may have happened twice" in anew


def test_an_operator_whose_clock_is_behind_ends_an_operation_after_it_was_quarantined(cloud: LocalCloud) -> None:
    id = id_of(ASKING)
    cloud.run(ASKING)
    later(cloud, 3600)
    LocalActions(cloud, Path()).resolve(id, "1", None)
    record = cloud.record(id) or {}
    behind = datetime.datetime.fromtimestamp(cloud.clock.now() - 7200, datetime.UTC).isoformat()
    record |= {"finishedAt": behind, "decisions": [{**each, "at": behind} for each in record["decisions"]]}
    now = datetime.datetime.fromtimestamp(cloud.clock.now(), datetime.UTC)
    found = story(parts_of(cloud), record, now)
    assert kinds(found)[-3:] == ["quarantined", "person", "answer"]
    assert total(found).startswith("asked 0 min, answered 0 min: ")


@LANES
def test_an_owner_of_a_later_life_that_left_no_history_took_nothing_over(cloud: LocalCloud, lane: Lane) -> None:
    cloud.run(ASKING)
    LocalActions(cloud, Path()).release(id_of(ASKING))
    later(cloud, 60)
    known = parts_of(cloud)
    cloud.run(ASKING, lane=lane)
    said = [each.what for each in told(cloud, id_of(ASKING), parts=known).moments]
    assert said.count(f"Asked in the {lane} lane") == 1 + (lane == "full")
    assert not [each for each in said if "took over" in each]


def test_an_execution_whose_name_begins_as_the_owner_does_is_not_the_owner(cloud: LocalCloud) -> None:
    for name, request in (("u-1", charge(key="other")), ("u-10", charge())):
        cloud.wait(cloud.start(json.dumps(request), name))
    [other] = [each for each in parts_of(cloud) if each.arn.endswith(":u-1")]
    assert "u-10 took over" in [each.what for each in told(cloud, parts=[other]).moments]


def test_a_decision_that_is_no_longer_kept_lets_nothing_wait_twice(cloud: LocalCloud) -> None:
    do, id = LocalActions(cloud, Path()), id_of(ASKING)
    cloud.run(ASKING)
    for _ in range(4):
        later(cloud, 3600)
        do.retry(id, "x" * 200)
        cloud.settle()
    later(cloud, 3600)
    do.resolve(id, "1", None)
    assert kinds(told(cloud, id)).count("person") < 5, "the oldest are not kept"
    assert total(told(cloud, id)).endswith(": 5 h, of which 5 h waiting for a person")


def test_the_owner_of_a_later_life_is_not_the_one_of_the_life_before(cloud: LocalCloud) -> None:
    function = Direct(cloud)
    function.invoke(ask("k", {"die": "after"}, {}, on_crash="quarantine"))
    first = f"request {function.request} of {function.name}"
    later(cloud, A_LEASE)
    LocalActions(cloud, Path()).release(DIRECT)
    later(cloud, 60)
    function.invoke(ask("k", {}))
    second = f"request {function.request} of {function.name}"
    found = told(cloud, DIRECT)
    asked = max(n for n, each in enumerate(found.moments) if each.kind == "asked")
    assert second in found.moments[asked + 1].what and first not in found.moments[asked + 1].what


def test_work_elsewhere_is_waited_for_until_its_ticket_ends_it(cloud: LocalCloud) -> None:
    cloud.run(ELSEWHERE)
    later(cloud, 300)
    assert "so far, of which 5 min waiting for work elsewhere" in total(told(cloud, id_of(ELSEWHERE)))
    assert end_by_ticket(cloud, id_of(ELSEWHERE))
    found = told(cloud, id_of(ELSEWHERE))
    assert kinds(found)[-3:] == ["elsewhere", "elsewhere", "answer"]
    assert "answered 5 min: " in total(found) and "waiting for work elsewhere" in total(found)


def test_an_owner_in_the_direct_lane_is_told_by_its_record(cloud: LocalCloud) -> None:
    function = Direct(cloud)
    function.invoke(ask("k", {"die": "after"}, {}))
    name = f"request {function.request} of {function.name}"
    assert f"{name} got the lock" in [each.what for each in told(cloud, DIRECT).moments]
    later(cloud, A_LEASE)
    found = told(cloud, DIRECT)
    assert kinds(found) == ["asked", "owner", "died", "waited", "owner", "ran", "answer"]
    assert found.moments[0].what == "Asked in the direct lane" and name in found.moments[1].what


def test_a_record_without_executions_is_told_as_far_as_it_says(cloud: LocalCloud) -> None:
    cloud.run(charge())
    assert kinds(told(cloud, parts=[])) == ["asked", "owner", "unknown", "answer"]
    assert story([], None, datetime.datetime.now(datetime.UTC)).moments == []


def test_what_a_function_wrote_over_its_record_is_no_decision(cloud: LocalCloud) -> None:
    cloud.run(charge())
    record = {**(cloud.record(id_of(charge())) or {}), "decisions": ["x", {"verb": "y"}], "acquiredAt": "noon"}
    now = datetime.datetime.fromtimestamp(cloud.clock.now(), datetime.UTC)
    assert "person" not in kinds(story([], record, now))


@pytest.mark.parametrize(
    ("state", "request_", "end"),
    [("Finalize", charge(), "answered"), ("RecordFailure", charge(amount=-5), "failed for good")],
)
def test_an_owner_that_was_stopped_after_its_last_write_has_ended_it(
    cloud: LocalCloud, state: str, request_: dict[str, Any], end: str
) -> None:
    dead(cloud, request_, state, after=True)
    found = told(cloud)
    assert found.end == end and "so far" not in found.lasts and "every duplicate gets" in found.told


def test_a_waiting_request_that_takes_over_comes_behind_the_recovery_that_did_so_before(cloud: LocalCloud) -> None:
    dying(cloud)
    cloud.clock.advance(95)  # type: ignore[attr-defined]

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == "CheckOwner" and call.execution_arn.endswith(":waiting") and not by_recovery(cloud):
            cloud.wait(cloud.start_machine(cloud.outputs["RecoveryStateMachineArn"], "{}", "sweep"))
            cloud.wait(by_recovery(cloud)[0].arn)
        return proceed()

    with cloud.intercept(strike), cloud.intercept(dies(cloud, WORK, after=True)):
        cloud.wait(cloud.start(json.dumps(charge(onConflict="wait")), "waiting"))
    found = told(cloud)
    said = [each.what for each in found.moments if each.kind in ("failed", "ran")]
    assert [f"(attempt {number})" in each for number, each in enumerate(said, 1)] == [True] * 3, said
    assert kinds(found).count("waited") == 2 and "ended before it was done" not in found.told
    assert total(found).startswith("asked 0 min, answered 3 min: 3 min") and "waiting for the lease" in found.lasts
    assert "at most" not in found.lasts


def test_what_a_life_before_came_to_is_told_before_the_next_one(cloud: LocalCloud) -> None:
    function = Direct(cloud)
    function.invoke(ask("k", {"die": "after"}, {}, on_crash="quarantine"))
    later(cloud, A_LEASE)
    LocalActions(cloud, Path()).release(DIRECT)
    later(cloud, 60)
    function.invoke(ask("k", {"raise": "NeedsAttention"}))
    found = told(cloud, DIRECT)
    assert kinds(found)[:6] == ["died", "waited", "owner", "quarantined", "person", "asked"]
    assert "waiting for the lease" not in found.lasts


def test_the_start_of_a_later_life_without_a_history_is_told_also_after_its_end(cloud: LocalCloud) -> None:
    do, id = LocalActions(cloud, Path()), id_of(ASKING)
    cloud.run(ASKING)
    do.release(id)
    later(cloud, 60)
    known = parts_of(cloud)
    cloud.run(ASKING, lane="fast")
    later(cloud, 60)
    do.release(id)
    found = told(cloud, id, parts=known)
    assert kinds(found)[-3:] == ["asked", "unknown", "person"] and "may have been started" in found.moments[-2].what


def test_an_operator_whose_clock_is_ahead_had_it_run_again_before_it_ran(cloud: LocalCloud) -> None:
    id = id_of(ASKING)
    cloud.run(ASKING)
    LocalActions(cloud, Path()).retry(id)
    cloud.settle()
    record = cloud.record(id) or {}
    ahead = datetime.datetime.fromtimestamp(cloud.clock.now() + 120, datetime.UTC).isoformat()
    record |= {"decisions": [{**each, "at": ahead} for each in record["decisions"]]}
    found = story(parts_of(cloud), record, datetime.datetime.fromtimestamp(cloud.clock.now(), datetime.UTC))
    assert kinds(found)[-4:] == ["person", "owner", "failed", "quarantined"]


def test_an_operator_whose_clock_is_behind_decides_after_a_sweep_that_quarantined_it(cloud: LocalCloud) -> None:
    with cloud.intercept(fault_of(cloud, "dies-after", "dying")):
        cloud.wait(cloud.start(json.dumps(charge(onCrash="quarantine")), "dying"))
    later(cloud, LEASE_AND_SWEEP_S)
    LocalActions(cloud, Path()).release(id_of(charge()))
    record = cloud.record(id_of(charge())) or {}
    behind = datetime.datetime.fromtimestamp(cloud.clock.now() - LEASE_AND_SWEEP_S, datetime.UTC).isoformat()
    record |= {"decisions": [{**each, "at": behind} for each in record["decisions"]]}
    found = story(parts_of(cloud), record, datetime.datetime.fromtimestamp(cloud.clock.now(), datetime.UTC))
    assert kinds(found)[-2:] == ["quarantined", "person"]


def test_a_record_alone_does_not_say_in_which_lane_was_asked_what_another_one_finished(cloud: LocalCloud) -> None:
    dying(cloud, "fast")
    later(cloud, LEASE_AND_SWEEP_S)
    found = told(cloud, parts=[])
    assert found.moments[0].what == "Asked" and found.moments[1].what.endswith("has the lock, or had it last")


def test_an_answer_that_has_expired_is_given_to_nobody(cloud: LocalCloud) -> None:
    cloud.run(charge())
    assert "anew" not in told(cloud).told
    cloud.clock.advance(40 * 86_400)  # type: ignore[attr-defined]
    found = told(cloud)
    assert found.told.endswith("Its record has expired: the next request begins anew.")
    assert total(found).startswith("asked 0 min, answered 0 min: ")


def test_without_a_record_duplicates_do_not_say_that_it_goes_on(cloud: LocalCloud) -> None:
    cloud.run(charge())
    cloud.run(charge())
    assert story(parts_of(cloud), None, datetime.datetime.now(datetime.UTC)).end == "answered"


def test_who_took_over_is_who_was_waited_for(cloud: LocalCloud) -> None:
    dying(cloud)
    cloud.clock.advance(LEASE_AND_SWEEP_S)  # type: ignore[attr-defined]
    cloud.run(charge())
    assert "and for another request" in next(each.what for each in told(cloud).moments if each.kind == "waited")


@pytest.mark.parametrize("status", ["IN_PROGRESS", "COMPLETED", "FAILED", "QUARANTINED", None])
@pytest.mark.parametrize("odd", ["", None, [], {}, 10**38, -(10**38), "0001-01-01T00:00:00+14:00", "9999-12-31"])
def test_a_record_that_a_function_wrote_over_is_told_as_far_as_it_says(status: str | None, odd: object) -> None:
    """A function with steps may write any attribute."""
    now = datetime.datetime.now(datetime.UTC)
    names = ("owner", "fence", "attempts", "acquiredAt", "leaseExpiresAt", "pendingSince", "finishedAt", "expiresAt")
    for name in (*names, "error", "onCrash", "decisions"):
        for record in ({"status": status, name: odd}, {"status": status, **dict.fromkeys(names, odd)}):
            found = story([], record, now)
            found.total(lambda at: str(iso(at)))
            assert all(each.at is None or iso(each.at) for each in found.moments)


def test_what_a_person_had_run_again_waits_for_the_sweep_since_then(cloud: LocalCloud) -> None:
    cloud.run(ASKING)
    later(cloud, 3600)
    begun_again(cloud, ASKING)
    cloud.clock.advance(600)  # type: ignore[attr-defined]
    assert total(told(cloud, id_of(ASKING))).endswith(
        "of which 10 min waiting for the lease and 1 h waiting for a person"
    )


def test_a_failed_try_that_left_no_history_is_not_passed_over_by_the_next_one(cloud: LocalCloud) -> None:
    script = {"payload": {"amount": 1, "script": [{"raise": "PermanentError"}]}, "onFailed": "retry"}
    request = {"operation": "direct", "idempotencyKey": "k", **script}
    function = Direct(cloud)
    for again in (False, True, False):
        later(cloud, 2)
        function.invoke(ask("k", *script["payload"]["script"], on_failed="retry")) if again else cloud.run(request)
    assert "it had failed before, and your function may have run before" in told(cloud, DIRECT).told


def test_what_could_not_start_is_not_counted_before_a_person_had_it_run_again(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("TooManyRequestsException", state=WORK)):
        cloud.run(ASKING, lane="fast")
        cloud.settle()
    LocalActions(cloud, Path()).retry(id_of(ASKING))
    cloud.settle()
    found = told(cloud, id_of(ASKING), parts=[each for each in parts_of(cloud) if each.by_recovery])
    assert [each.what for each in found.moments if "(attempt 2, NeedsAttention)" in each.what]
