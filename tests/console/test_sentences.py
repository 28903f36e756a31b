"""What happened, in sentences: those of a row of the list, of an execution's page, and of `once run`."""

from __future__ import annotations

import dataclasses
import datetime
import getpass
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scenario import LANES, begun_again, charge, dead, dies, id_of
from tickets import end_by_ticket

from oncekit.cli.here.chosen_faults import fault_of
from oncekit.cli.here.console import LocalActions
from oncekit.console.here import run_here
from oncekit.console.parts import Part, part_of
from oncekit.console.starts import WORK
from oncekit.console.story import of_one
from oncekit.console.story import story as story_of
from oncekit.contract.lanes import MACHINES, Lane
from oncekit.local import Execution, LocalCloud, VirtualClock
from oncekit.local.engine.interceptors import answer_lost, before, fails, times_out
from oncekit.local.engine.service_calls import Call, Interceptor

LEASE_AND_SWEEP_S = 480
"""In either lane."""
ASKING = charge() | {"operation": "ask-somebody"}
ELSEWHERE = charge() | {"operation": "work-elsewhere"}


def story(cloud: LocalCloud, request: dict[str, object] = charge()) -> str:  # noqa: B008 never changed
    known = [each for output in MACHINES.values() for each in cloud.executions.of(cloud.outputs[output])]
    runs = sorted((run_here(cloud.describe(each.arn)) for each in known), key=lambda run: run.started_at)
    return told([part_of(run) for run in runs], cloud, request)


def told(parts: list[Part], cloud: LocalCloud, request: dict[str, object]) -> str:
    now = datetime.datetime.fromtimestamp(cloud.clock.now(), datetime.UTC)
    return story_of(parts, cloud.record(id_of(request)), now).told


def of_record(cloud: LocalCloud, request: dict[str, object]) -> str:
    """As of an owner in the fast lane, of which AWS keeps no history."""
    return told([], cloud, request)


def test_a_run_that_has_only_begun_is_told_too(cloud: LocalCloud) -> None:
    """The page looks at it before it has entered a state."""
    begun = dataclasses.replace(run_here(cloud.run(charge())), status="RUNNING", visits=(), details=())
    assert part_of(begun).role == "running" and part_of(begun).starts == ()


def itself(execution: Execution) -> str:
    return of_one(part_of(run_here(execution)), datetime.datetime.now(datetime.UTC))


@pytest.fixture
def actions(cloud: LocalCloud) -> LocalActions:
    return LocalActions(cloud, Path())


def dying(cloud: LocalCloud) -> None:
    with cloud.intercept(fault_of(cloud, "dies-after", "dying")):
        cloud.start(json.dumps(charge()), "dying")
        cloud.settle()


def recover(cloud: LocalCloud) -> None:
    assert isinstance(cloud.clock, VirtualClock)
    with cloud.delivering():
        cloud.clock.advance(LEASE_AND_SWEEP_S)
        cloud.settle()


@pytest.mark.parametrize("lane", ["full", "fast"])
def test_a_new_request_and_its_duplicates(cloud: LocalCloud, lane: str) -> None:
    first, *duplicates = (cloud.run(charge(), lane=lane) for _ in range(4))  # type: ignore[arg-type]
    assert itself(first) == ANSWERED
    assert {itself(each) for each in duplicates} == {
        "The operation was done: it got the stored answer. Your function did not run."
    }
    assert story(cloud) == f"{ANSWERED} 3 duplicates got the stored answer."


DIED = "Your function may have run (attempt 1), and its effect may have happened. Its owner was stopped (OwnerDied)."
STORED = "Its answer is stored: every duplicate gets it."
ANSWERED = f"Your function ran (attempt 1). {STORED}"
AGAIN = f"Your function ran (attempt 2). {STORED}"
"""Whether or not the first attempt came to run it, which nobody knows."""
RECOVERED = f"Recovery took over, in the full lane. {AGAIN}"


def test_an_owner_that_died_after_the_charge_and_recovery_that_ran_it_again(cloud: LocalCloud) -> None:
    dying(cloud)
    assert story(cloud) == f"{DIED} Waits until its lease is over: then a sweep starts it again."
    cloud.run(charge())
    recover(cloud)
    cloud.run(charge())
    assert (
        story(cloud)
        == f"{DIED} {RECOVERED} 1 duplicate came while it was in progress. 1 duplicate got the stored answer."
    )
    owner = cloud.describe((cloud.record(id_of(charge())) or {})["owner"])
    before_it = "Its owner before (dying) ended before it was done: your function may have run."
    assert itself(owner) == f"{before_it} {RECOVERED}"


@LANES
@pytest.mark.parametrize("fault", ["dies-before", "dies-after"])
def test_an_owner_that_dies_on_purpose_is_gone_and_its_lock_stays(cloud: LocalCloud, fault: str, lane: Lane) -> None:
    with cloud.intercept(fault_of(cloud, fault, "dying")):
        dead = cloud.wait(cloud.start(json.dumps(charge()), "dying", lane))
    record = cloud.record(id_of(charge())) or {}
    assert (dead.status, dead.error, record["status"]) == ("ABORTED", "OwnerDied", "IN_PROGRESS")
    assert record["owner"].startswith(dead.arn) and record["leaseExpiresAt"] > cloud.clock.now()
    assert len(cloud.invocations()) == (fault == "dies-after")
    assert story(cloud) == f"{DIED} Waits until its lease is over: then a sweep starts it again."
    recover(cloud)
    assert story(cloud) == f"{DIED} {RECOVERED}"
    assert len(cloud.invocations()) == 1 + (fault == "dies-after")


@LANES
def test_a_dead_owner_that_only_a_person_may_replace_is_said_to_be_quarantined_next(
    cloud: LocalCloud, lane: Lane
) -> None:
    with cloud.intercept(fault_of(cloud, "dies-after", "dying")):
        cloud.wait(cloud.start(json.dumps(charge(onCrash="quarantine")), "dying", lane))
    assert story(cloud).endswith("Waits until its lease is over: then a sweep quarantines it: onCrash is quarantine.")


def test_a_failure_for_good_that_duplicates_get_too(cloud: LocalCloud) -> None:
    first, duplicate = cloud.run(charge(amount=-5)), cloud.run(charge(amount=-5))
    assert itself(first).startswith("Your function failed (attempt 1, PermanentError). It failed for good (Permanent")
    assert itself(duplicate).startswith("The operation had failed for good: it got the same error.")
    assert story(cloud).endswith(": every duplicate gets that. 1 duplicate got the stored failure.")


def test_a_quarantined_operation_that_a_person_resolved(cloud: LocalCloud, actions: LocalActions) -> None:
    first, duplicate = cloud.run(ASKING), cloud.run(ASKING)
    quarantined = (
        "Your function failed (attempt 1, NeedsAttention). Quarantined (NeedsAttention: somebody has to look at it), "
        "since it asked for a person: its effect may have happened; a person decides."
    )
    assert itself(first) == quarantined and "a person decides" in itself(duplicate)
    assert story(cloud, ASKING) == f"{quarantined} 1 duplicate came while it was quarantined."
    actions.resolve(id_of(ASKING), '{"chargeId": "ch_1"}', None)
    cloud.run(ASKING)
    assert story(cloud, ASKING) == (
        f"{quarantined} {getpass.getuser()} gave its answer. {STORED} "
        "1 duplicate came while it was quarantined. 1 duplicate got the stored answer."
    )


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (
            lambda do, id: do.resolve(id, None, "not charged"),
            "said that it failed. It counts as failed (ResolvedByOperator: not charged)",
        ),
        (lambda do, id: do.release(id), "freed the key, so that the next request begins anew."),
    ],
)
def test_what_else_a_person_decided(cloud: LocalCloud, actions: LocalActions, act: object, said: str) -> None:
    cloud.run(ASKING)
    act(actions, id_of(ASKING))  # type: ignore[operator]
    assert said in story(cloud, ASKING)


def test_an_operation_that_a_person_had_started_again(cloud: LocalCloud, actions: LocalActions) -> None:
    cloud.run(ASKING)
    actions.retry(id_of(ASKING))
    cloud.settle()
    again = "had it run again. It was started again. Your function failed (attempt 2, NeedsAttention). Quarantined"
    assert again in story(cloud, ASKING)
    owner = cloud.describe((cloud.record(id_of(ASKING)) or {})["owner"])
    assert "(attempt 1 since it was run again, NeedsAttention)" in itself(owner)


def test_the_same_key_with_another_payload(cloud: LocalCloud) -> None:
    cloud.run(charge())
    refused = cloud.run(charge(amount=9900))
    assert itself(refused).startswith("It was refused (PayloadMismatch: another payload was sent before")
    assert story(cloud) == f"{ANSWERED} 1 request with another payload was refused."


def test_a_second_charge_after_a_release_says_why(cloud: LocalCloud) -> None:
    """Told only that an order was charged twice, one finds out why."""
    cloud.run(charge())
    cloud.clock.advance(40 * 86_400)  # type: ignore[attr-defined]
    cloud.run(charge())
    assert ", anew: its record had expired or was released, so an effect from before may have hap" in story(cloud)


def test_attempts_that_failed_are_told(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("Lambda.Unknown", state="ExecuteBusinessLogic", nth=range(1, 3))):
        cloud.run(charge())
    lost = "Your function gave no answer (attempts 1 to 2, Lambda.Unknown): their effects may have happened."
    assert story(cloud) == f"{lost} Your function ran (attempt 3). {STORED}"


def ends_with(error: str) -> Interceptor:
    """The function does its work, and Lambda says of its end that it was this one."""

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        answer = proceed()
        if call.state != WORK:
            return answer
        told = json.dumps({"errorType": error, "errorMessage": "as Lambda tells it"}).encode()
        return {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": io.BytesIO(told)}

    return strike


NO_ANSWER = {
    "States.Timeout": times_out(applied=True, state=WORK, nth=0),
    "the connection broke": answer_lost(state=WORK, nth=0),
    "it was killed": ends_with("Runtime.ExitError"),
    "its time was over": ends_with("Sandbox.Timedout"),
}


@LANES
@pytest.mark.parametrize("lost", NO_ANSWER)
def test_a_lost_answer_says_that_the_effect_may_have_happened_and_why_it_ended_there(
    cloud: LocalCloud, lost: str, lane: Lane
) -> None:
    with cloud.intercept(NO_ANSWER[lost]):
        quarantined = cloud.run(charge(onCrash="quarantine"), lane=lane)
    assert quarantined.error == "NeedsAttention"
    told = story(cloud)
    assert told.startswith("Your function gave no answer (attempt 1, ")
    assert "): its effect may have happened. Quarantined (" in told
    assert told.endswith("), since onCrash is quarantine: a person decides.")
    alone = of_record(cloud, charge())
    assert alone.startswith("Your function was started once. Quarantined (")
    assert alone.endswith("), since onCrash is quarantine: its effect may have happened; a person decides.")


@LANES
def test_an_answer_that_cannot_be_kept_says_why_its_function_is_not_started_again(
    cloud: LocalCloud, lane: Lane
) -> None:
    with cloud.intercept(ends_with("Runtime.MarshalError")):
        cloud.run(charge(), lane=lane)
    told = story(cloud)
    assert told.startswith("Your function gave no answer (attempt 1, ") and "its effect may have happened" in told
    assert "(ResultUnreadable: " in told and "return JSON: " in told
    assert told.endswith("), since it would give the same answer: a person decides.")


def test_attempts_that_are_used_up_say_so(cloud: LocalCloud) -> None:
    with cloud.intercept(NO_ANSWER["it was killed"]):
        cloud.run(charge())
    told = story(cloud)
    starts = len(cloud.invocations())
    assert f"(attempts 1 to {starts}, Runtime.ExitError): their effects may have happened." in told
    assert "), since its attempts are used up: a person decides." in told


def test_an_error_of_its_own_is_told_as_one_and_leaves_its_effect_open(cloud: LocalCloud) -> None:
    with cloud.intercept(ends_with("ValueError")):
        cloud.run(charge(onCrash="quarantine"))
    told = story(cloud)
    assert told.startswith("Your function failed (attempt 1, ValueError). Quarantined (ValueError: ")
    assert told.endswith("), since onCrash is quarantine: its effect may have happened; a person decides.")


TRIED = (
    "Your function gave no answer (attempt 1, States.Timeout): its effect may have happened. The fast lane tried once"
)
WENT_ON = f"{TRIED}, and handed it over. The full lane went on with it."


def of_last_owner(cloud: LocalCloud, request: dict[str, object]) -> str:
    """As `once show` tells it, which knows of no other execution."""
    record = cloud.record(id_of(request)) or {}
    return told([part_of(run_here(cloud.describe(record["owner"])))], cloud, request)


def test_a_request_that_failed_in_the_fast_lane_and_went_on_in_the_full_lane_is_one_story(cloud: LocalCloud) -> None:
    with cloud.intercept(times_out(applied=True, state=WORK, nth=1)):
        cloud.run(charge(), lane="fast")
        cloud.settle()
    cloud.run(charge())
    assert story(cloud) == f"{WENT_ON} {AGAIN} 1 duplicate got the stored answer."
    failed = "Your function failed (States.Timeout: the error came without a cause): its effect may have happened."
    assert of_last_owner(cloud, charge()) == f"{failed} The full lane went on with it. {AGAIN}"


def test_what_the_fast_lane_could_not_start_is_no_attempt_of_it(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("TooManyRequestsException", state=WORK)):
        cloud.run(charge(), lane="fast")
        cloud.settle()
    refused = "Lambda refused to start your function (Lambda.TooManyRequestsException). The fast lane tried once"
    went_on = f"The full lane went on with it. {ANSWERED}"
    assert story(cloud) == f"{refused}, and handed it over. {went_on}"
    assert re.fullmatch(
        r"Your function was not started( \(.*\))?\. " + re.escape(went_on), of_last_owner(cloud, charge())
    )


def test_what_the_fast_lane_could_hand_over_to_nobody_a_sweep_goes_on_with(cloud: LocalCloud) -> None:
    with (
        cloud.intercept(times_out(applied=True, state=WORK, nth=1)),
        cloud.intercept(fails("ServiceUnavailable", state="HandOver", nth=0)),
    ):
        cloud.run(charge(), lane="fast")
    assert story(cloud) == f"{TRIED}, and handed it over. Waits for the next sweep, which has it run."


def test_a_lock_that_the_fast_lane_could_not_release_goes_on_when_its_lease_is_over(cloud: LocalCloud) -> None:
    with (
        cloud.intercept(times_out(applied=True, state=WORK, nth=1)),
        cloud.intercept(fails("ServiceUnavailable", state="ReleaseLock", nth=0)),
    ):
        cloud.run(charge(), lane="fast")
    after = "the full lane goes on when its lease is over. Waits until its lease is over: then a sweep starts it again."
    assert story(cloud) == f"{TRIED}: {after}"


# ---- work elsewhere ----

STARTED = "Your function ran (attempt 1). Your function started work elsewhere."


@LANES
def test_a_pending_operation_says_what_it_waits_for_and_what_comes_then(cloud: LocalCloud, lane: Lane) -> None:
    started = cloud.run(ELSEWHERE, lane=lane)
    assert itself(started) == STARTED
    waits = "Waits for work elsewhere to end it, or for a person: else a sweep starts it again."
    assert story(cloud, ELSEWHERE) == f"{STARTED} {waits}"
    assert of_record(cloud, ELSEWHERE) == f"Your function was started once. {waits}"


@LANES
@pytest.mark.parametrize(
    ("end", "said"),
    [
        ({}, "."),
        ({"failed": "no"}, ", as failed for good (PermanentError: no): every duplicate gets that."),
    ],
)
def test_an_operation_that_its_ticket_ended_says_so(
    cloud: LocalCloud, lane: Lane, end: dict[str, Any], said: str
) -> None:
    cloud.run(ELSEWHERE, lane=lane)
    assert end_by_ticket(cloud, id_of(ELSEWHERE), **end)
    cloud.run(ELSEWHERE)
    ended = f"Work elsewhere ended it with its ticket{said}"
    got = "failure" if end else "answer"
    assert story(cloud, ELSEWHERE) == f"{STARTED} {ended} 1 duplicate got the stored {got}."
    assert of_record(cloud, ELSEWHERE) == f"Your function was started once. {ended}"


def test_a_ticket_that_was_faster_than_its_function_is_not_taken_for_another_owner(cloud: LocalCloud) -> None:
    def end() -> None:
        assert end_by_ticket(cloud, id_of(ELSEWHERE))

    with cloud.intercept(before(end, state="KeepOpen")):
        started = cloud.run(ELSEWHERE)
    found = "Its owner found that it was ended with its ticket: its own answer does not count."
    assert itself(started) == f"Your function ran (attempt 1). {found}"
    assert "Work elsewhere ended it with its ticket" in story(cloud, ELSEWHERE)


def test_work_elsewhere_that_is_not_done_in_time_is_started_again(cloud: LocalCloud) -> None:
    cloud.run(ELSEWHERE)
    cloud.clock.advance(601)  # type: ignore[attr-defined]
    late = "Work elsewhere has not ended it in time: the next sweep looks after it."
    assert story(cloud, ELSEWHERE) == f"{STARTED} {late}"
    recover(cloud)
    again = f"Waited for work elsewhere, which did not end it in time. {RECOVERED}"
    assert story(cloud, ELSEWHERE) == f"{STARTED} {again}"
    assert of_last_owner(cloud, ELSEWHERE) == f"Your function had started work elsewhere. {again}"


def test_work_elsewhere_that_is_not_done_in_time_is_quarantined_where_only_a_person_may_decide(
    cloud: LocalCloud,
) -> None:
    cloud.run(ELSEWHERE | {"onCrash": "quarantine"})
    recover(cloud)
    recover(cloud)
    told = story(cloud, ELSEWHERE)
    assert told.startswith(f"{STARTED} Waited for work elsewhere, which did not end it in time. Recovery took over")
    assert told.count("Quarantined (PendingTimedOut: it was pending until its lease ended") == 1


def test_what_lambda_refused_is_no_start(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("TooManyRequestsException", state=WORK, nth=range(1, 4))):
        cloud.run(charge())
    refused = "Lambda refused to start your function 3 times (Lambda.TooManyRequestsException)."
    assert story(cloud) == f"{refused} {ANSWERED}"


def test_a_function_that_is_not_there_was_not_started(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("ResourceNotFoundException", state=WORK, nth=0)):
        cloud.run(charge())
    refused = "Lambda refused to start your function (Lambda.ResourceNotFoundException). Quarantined ("
    assert story(cloud).startswith(refused) and "effect" not in story(cloud)
    alone = of_record(cloud, charge())
    assert alone.startswith("Your function was not started. Quarantined (") and "effect" not in alone


def test_a_failed_operation_that_was_tried_again(cloud: LocalCloud) -> None:
    cloud.run(charge(amount=-5))
    cloud.clock.advance(1)  # type: ignore[attr-defined]
    cloud.run(charge(amount=-5, onFailed="retry"))
    again = "Asked in the full lane, with onFailed retry: it had failed before. Your function failed (attempt 2, Perm"
    assert again in story(cloud)


def test_a_request_that_was_refused_alone_and_one_that_nobody_knows(cloud: LocalCloud) -> None:
    bad = charge(onConflict="perhaps")
    cloud.run(bad)
    assert story(cloud, bad).startswith("1 request was refused (InvalidRequest: onConflict must be")
    assert told([], cloud, charge(key="k-unknown")) == "Nothing is known of it any more."


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (charge(), f"Your function was started once. {STORED}"),
        (
            ASKING,
            "Your function was started once. Quarantined (NeedsAttention: somebody has to look at it), since it as",
        ),
    ],
)
def test_the_record_alone_says_what_it_knows(cloud: LocalCloud, request_: dict[str, object], said: str) -> None:
    """As of an owner in the fast lane, of which AWS keeps no history."""
    cloud.run(request_)
    assert of_record(cloud, request_).startswith(said)


def test_a_quarantine_by_recovery_is_told_also_where_only_the_dead_owner_is_known(cloud: LocalCloud) -> None:
    request = charge(onCrash="quarantine")
    with cloud.intercept(fault_of(cloud, "dies-after", "dying")):
        cloud.start(json.dumps(request), "dying")
        cloud.settle()
    recover(cloud)
    told = story(cloud, request)
    assert "(OwnerDied). Recovery took over, in the full lane. Quarantined (OwnerCrashed: " in told
    alone = of_last_owner(cloud, request)
    assert "(OwnerDied). Quarantined (OwnerCrashed: " in alone and alone.endswith("; a person decides.")


def test_an_owner_that_waits_before_its_next_attempt_is_alive(cloud: LocalCloud) -> None:
    seen: list[str] = []
    look = before(lambda: seen.append(story(cloud)), state="TakeNextFence")
    with cloud.intercept(fails("Lambda.Unknown", state="ExecuteBusinessLogic", nth=1)), cloud.intercept(look):
        cloud.run(charge())
    assert len(seen) == 1 and "sweep" not in seen[0]


def test_an_owner_that_was_overtaken_says_that_its_answer_is_not_stored(
    cloud: LocalCloud, actions: LocalActions
) -> None:
    def overtake() -> None:
        table = cloud.outputs["TableName"]
        cloud.client("dynamodb").update_item(
            TableName=table,
            Key={"id": {"S": id_of(charge())}},
            UpdateExpression="SET #owner = :other, fence = fence + :one, #status = :done, #result = :text",
            ExpressionAttributeNames={"#owner": "owner", "#status": "status", "#result": "result"},
            ExpressionAttributeValues={
                ":other": {"S": "other"},
                ":one": {"N": "1"},
                ":done": {"S": "COMPLETED"},
                ":text": {"S": "{}"},
            },
        )

    with cloud.intercept(before(overtake, state="Finalize")):
        late = cloud.run(charge())
    assert itself(late).endswith("another owner's, or released: its own answer does not count.")


def test_an_owner_that_is_at_work_says_so(cloud: LocalCloud) -> None:
    seen: list[str] = []
    with cloud.intercept(before(lambda: seen.append(story(cloud)), state="ExecuteBusinessLogic")):
        cloud.run(charge())
    assert seen == ["Your function is running (attempt 1)."]


def test_a_request_that_died_before_it_had_a_lock_is_no_duplicate_and_not_in_progress(cloud: LocalCloud) -> None:
    request = charge(payload={"amount": 4200, "_jsonata_lambda": True})
    ended = cloud.run(request)
    assert (ended.error, cloud.record(id_of(request))) == ("States.QueryEvaluationError", None)
    assert itself(ended).startswith("It ended in ReceiveRequest (") and "did not run" in itself(ended)
    assert "1 request ended in ReceiveRequest (" in story(cloud, request)


@pytest.mark.parametrize(
    "act",
    [
        lambda _cloud, do: do.release(id_of(charge())),
        lambda _cloud, do: do.resolve(id_of(charge()), None, "not charged"),
        lambda cloud, _do: begun_again(cloud, charge()),
    ],
    ids=["released", "failed", "to be started again"],
)
def test_a_persons_decision_does_not_hide_that_something_may_have_been_started(
    cloud: LocalCloud, actions: LocalActions, act: Callable[[LocalCloud, LocalActions], None]
) -> None:
    """Whoever asks anew then may charge twice."""
    with cloud.intercept(NO_ANSWER["States.Timeout"]):
        cloud.run(charge(onCrash="quarantine"), lane="fast")
    act(cloud, actions)
    assert re.match(rf"Your function may have been started( once)?\. {getpass.getuser()} ", of_record(cloud, charge()))


@LANES
def test_an_owner_that_finds_its_own_quarantine_lost_nothing(cloud: LocalCloud, lane: Lane) -> None:
    with cloud.intercept(answer_lost(state="RecordQuarantine")):
        late = cloud.run(ASKING, lane=lane)
    assert itself(late).endswith("its effect may have happened; a person decides.")
    assert "another owner" not in story(cloud, ASKING) and story(cloud, ASKING).count("Quarantined (") == 1


@pytest.mark.parametrize("state", ["TakeNextFence", "AcquireLock"])
def test_who_died_when_it_had_just_got_the_lock_had_something_to_do(cloud: LocalCloud, state: str) -> None:
    if state == "TakeNextFence":
        dying(cloud)
    with cloud.intercept(dies(cloud, state, after=True)):
        cloud.run(charge())
        recover(cloud)
    told = story(cloud)
    assert f"1 request ended in {state} (was stopped" in told and "nothing to do" not in told


def test_what_was_not_started_in_this_life_may_have_run_in_one_before(cloud: LocalCloud) -> None:
    cloud.run(charge(amount=-5), lane="fast")
    cloud.clock.advance(1)  # type: ignore[attr-defined]
    with (
        cloud.intercept(fails("TooManyRequestsException", state=WORK)),
        cloud.intercept(fails("ServiceUnavailable", state="HandOver", nth=0)),
    ):
        cloud.run(charge(amount=-5, onFailed="retry"), lane="fast")
    assert "): it may have run before. Waits for the next sweep" in of_record(cloud, charge())
    recover(cloud)
    assert "): it may have run before. The full lane went on with it." in of_last_owner(cloud, charge())


def test_a_failed_attempt_whose_owner_decided_nothing_leaves_its_effect_open(cloud: LocalCloud) -> None:
    dead(cloud, ASKING, "RecordQuarantine")
    assert "failed (attempt 1, NeedsAttention): its effect may have happened. Its owner" in story(cloud, ASKING)


def test_an_attempt_that_failed_before_lambda_refused_the_next_ones_leaves_its_effect_open(cloud: LocalCloud) -> None:
    refused = fails("TooManyRequestsException", state=WORK, nth=0)
    first: list[Call] = []

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == WORK and not first:
            first.append(call)
            return ends_with("ValueError")(call, proceed)
        return refused(call, proceed)

    with cloud.intercept(strike):
        cloud.run(charge())
    assert "since Lambda has refused it for a day: its effect may have happened; a person" in story(cloud)
