"""Interventions on the local cloud: what they do, what they refuse, and what becomes of those who come late."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import ExitStack
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError
from operating import ID, Operator
from story_pictures import CHOICES, Choice

WORDS = {"retry": [], "resolve": ["--failed", "no"], "release": ["--yes"]}
LANES = pytest.mark.parametrize("lane", ["full", "fast"])


def say(operator: Operator, command: str, *more: str) -> Any:
    return operator.once(command, ID, *WORDS[command], *more)


def died(operator: Operator, lane: str, state: str = "Finalize") -> None:
    (operator.died_in if lane == "full" else operator.died_fast_in)(state)


@pytest.mark.parametrize("command", WORDS)
def test_a_record_that_is_not_open_is_left_alone_with_exit_3(operator: Operator, command: str) -> None:
    operator.cloud.run(operator.request())
    before = operator.record
    assert say(operator, command).code == 3
    assert operator.record == before


@pytest.mark.parametrize(
    ("command", "change"),
    [
        *((command, {"fence": 9}) for command in WORDS),
        ("retry", {"leaseExpiresAt": 1}),
        ("resolve", {"status": "FAILED"}),
        ("release", {"owner": "arn:another"}),
    ],
)
def test_a_record_of_which_one_thing_changes_between_read_and_write_is_left_alone(
    operator: Operator, command: str, change: dict[str, Any]
) -> None:
    operator.script({"raise": "NeedsAttention"})
    before = operator.quarantined()
    operator.before("UpdateItem", lambda: operator.change(change))
    done = say(operator, command)
    assert done.code == 3 and ID in done.err
    assert operator.record == {**before, **change}


@pytest.mark.parametrize("command", WORDS)
def test_write_whose_answer_was_lost_and_that_is_repeated_knows_itself(operator: Operator, command: str) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    before = operator.quarantined()
    with operator.every_write_sent_twice():
        assert say(operator, command).code == 0
    operator.cloud.settle()
    after = operator.record
    assert after["status"] == ("COMPLETED" if command == "retry" else "FAILED")
    assert after["fence"] == before["fence"] + (2 if command == "retry" else 1)


# ---- retry ----


def test_retry_keeps_the_policy_so_that_a_second_crash_quarantines_again(operator: Operator) -> None:
    operator.script({"exit": 1})
    before = operator.quarantined()
    assert operator.execution(say(operator, "retry", "--json")).error == "NeedsAttention"
    after = operator.record
    assert (after["status"], after["onCrash"], after["attempts"]) == ("QUARANTINED", "quarantine", 1)
    assert after["fence"] > before["fence"] and operator.starts == 2 and after["request"] == before["request"]


def test_retry_makes_the_start_of_the_sweep_and_leaves_nothing_of_the_quarantine(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"await": "go", "return": 8})
    before = operator.quarantined()
    started = say(operator, "retry", "--json").answer
    operator.sweep(settles=False)
    operator.open("go")
    assert operator.cloud.wait(started["executionArn"]).output is not None
    after = operator.record
    assert (after["status"], after["result"], after["attempts"]) == ("COMPLETED", "8", 1)
    assert after["fence"] > before["fence"] and "error" not in after
    about = hashlib.sha256(f"{ID} {before['fingerprint']}".encode()).hexdigest()[:32]
    name = rf"recover-{about}-{before['fence'] + 1}-\d+"
    [again] = [each for each in operator.executions() if ":recover-" in each]
    assert again == started["executionArn"] and re.fullmatch(name, again.rpartition(":")[2])


def half_done(operator: Operator) -> None:
    """A retry whose start never arrived."""
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()
    operator.before("StartExecution", _connection_lost)
    done = say(operator, "retry")
    assert done.code == 2 and ID in done.err


def _connection_lost() -> None:
    raise EndpointConnectionError(endpoint_url="https://states")


@LANES
@pytest.mark.parametrize("on_crash", ["retry", "quarantine"])
def test_what_is_under_way_when_its_operation_leaves_payload_only_operations_is_retried(
    operator: Operator, on_crash: str, lane: Any
) -> None:
    """It gives the code the payload alone, as its definition says; the fast lane hands over what may run again."""
    now, before = ({"PayloadOnlyOperations": name} for name in ("", "told"))
    with operator.cloud.deployed_with(before), ExitStack() as held:
        reached = held.enter_context(operator.holding("ExecuteBusinessLogic"))
        operator.cloud.start(operator.request(on_crash), lane=lane)
        assert reached.wait(20)
        with operator.cloud.deployed_with(now):
            held.close()
            if (on_crash, lane) != ("retry", "fast"):
                assert (operator.record["status"], operator.starts) == ("QUARANTINED", 0)
                assert operator.record["error"]["name"] == "InvalidEventError"
                operator.execution(say(operator, "retry", "--json"))
            assert (operator.record["status"], operator.starts) == ("COMPLETED", 1)


@pytest.mark.parametrize("by", ["the sweep", "another retry"])
def test_retry_that_ended_before_its_start_is_finished(operator: Operator, by: str) -> None:
    half_done(operator)
    if by == "the sweep":
        operator.sweep()
    else:
        operator.execution(say(operator, "retry", "--json"))
    assert (operator.record["result"], operator.starts) == ("8", 2)


def test_retry_whose_answer_was_lost_starts_nothing_more_when_it_is_repeated(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()

    def lost() -> None:
        raise ConnectionClosedError(endpoint_url="https://states")

    operator.after("StartExecution", lost)
    assert say(operator, "retry").code == 2
    operator.cloud.settle()
    assert operator.record["status"] == "COMPLETED"
    assert say(operator, "retry").code == 3
    assert operator.starts == 2


def test_a_retry_starts_nothing_once_its_lock_was_released(operator: Operator) -> None:
    """Another operator releases between the write of a retry and its start; nobody sends the request again."""
    operator.script({"raise": "NeedsAttention"}, {"return": "nobody asked for it"})
    operator.quarantined()
    released: list[int] = []
    operator.before("StartExecution", lambda: released.append(say(operator, "release").code))
    say(operator, "retry")
    operator.cloud.settle()
    assert (released, operator.starts) == ([0], 1)


@LANES
def test_retry_starts_an_overdue_operation_whose_owner_has_ended(operator: Operator, lane: str) -> None:
    operator.script({"return": 7}, {"return": 8})
    died(operator, lane)
    early = say(operator, "retry")
    assert early.code == 3 and "its lease is not over" in early.err
    operator.lease_over()
    operator.execution(say(operator, "retry", "--json"))
    assert (operator.record["result"], operator.starts) == ("8", 2), "also with onCrash quarantine"


# ---- owners that are alive, or may be ----


@pytest.mark.parametrize("command", ["retry", "release"])
def test_a_living_owner_keeps_its_lock_however_long_it_takes(operator: Operator, command: str) -> None:
    with operator.holding("Finalize") as reached:
        arn = operator.cloud.start(operator.request())
        assert reached.wait(20)
        operator.lease_over()
        before = operator.record
        done = say(operator, command)
        assert done.code == 3 and f"its owner is RUNNING: {arn}" in done.err
        assert operator.record == before
    assert operator.cloud.wait(arn).output is not None


def test_release_waits_for_the_lease_of_a_fast_owner_who_cannot_be_asked(operator: Operator) -> None:
    operator.died_fast_in("Finalize")
    before = operator.record
    done = say(operator, "release")
    assert done.code == 3 and "its owner is in the fast lane, and may run until its lease is over" in done.err
    assert operator.record == before
    now = int(operator.cloud.clock.now())
    operator.change({"leaseExpiresAt": now - 290})
    done = say(operator, "release")
    assert done.code == 3 and "by the clock of this machine" in done.err and operator.record["status"] == "IN_PROGRESS"
    operator.change({"leaseExpiresAt": now - 302})
    assert say(operator, "release").code == 0


@pytest.mark.parametrize("command", ["retry", "release"])
def test_a_fast_owner_that_comes_late_cannot_change_what_an_operator_did(operator: Operator, command: str) -> None:
    operator.script({"return": 7}, {"await": "go", "return": 8})
    with operator.holding("Finalize") as reached:
        operator.cloud.start(operator.request(), lane="fast")
        assert reached.wait(20)
        operator.lease_over()
        assert say(operator, command).code == 0
        if command == "retry":
            operator.open("go")
    assert operator.record.get("result") == ("8" if command == "retry" else None)
    assert operator.record["status"] == ("COMPLETED" if command == "retry" else "FAILED")


# ---- resolve ----


@pytest.mark.parametrize(
    ("given", "kept"),
    [('{"a": 1}', '{"a":1}'), (json.dumps("x" * 9000), json.dumps("x" * 9000)), ("[" + "1," * 200_000 + "1]", None)],
    ids=["small", "large", "larger than Step Functions takes"],
)
def test_resolve_gives_every_duplicate_the_result(operator: Operator, given: str, kept: str | None) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    assert operator.once("resolve", ID, "--result", operator.file(given)).code == 0
    again = operator.cloud.run(operator.request())
    assert again.output is not None and again.output["disposition"] == "REPLAYED"
    if "resultRef" in again.output:
        ref = again.output["resultRef"]
        stored = operator.cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read().decode()
    else:
        stored = again.output["result"]
    assert stored == (kept or given)
    assert not {"error", "steps", "request", "requestRef", "leaseExpiresAt", "openShard"} & set(operator.record)
    assert operator.once("ls", "--json").answer == {"operations": [], "isComplete": True}


def test_resolve_as_failed_gives_every_duplicate_that_failure(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()
    assert operator.once("resolve", ID, "--failed", "refunded by hand").code == 0
    again = operator.cloud.run(operator.request())
    assert again.error == "OperationFailed" and "refunded by hand" in str(again.cause)
    kept_for = operator.record["expiresAt"] - operator.cloud.clock.now()
    assert abs(kept_for - int(operator.cloud.parameters["RetentionDays"]) * 86_400) < 3600
    operator.cloud.clock.advance(1)  # type: ignore[attr-defined]
    assert operator.cloud.run(operator.request() | {"onFailed": "retry"}).error is None


@pytest.mark.parametrize(("letter", "most"), [("x", 3000), ("é", 750), ("😀", 375)])
def test_a_failure_that_would_make_the_record_large_is_refused(operator: Operator, letter: str, most: int) -> None:
    """Each duplicate reads the record, and is answered with it. A character counts as the state machine counts it."""
    operator.script({"raise": "NeedsAttention"})
    before = operator.quarantined()
    refused = operator.once("resolve", ID, "--failed", letter * (most + 100))
    assert (refused.code, operator.record) == (2, before) and "room for" in refused.err and ID in refused.err
    assert operator.once("resolve", ID, "--failed", letter * (most - 100)).code == 0


# ---- what waits for work elsewhere ----


@LANES
@pytest.mark.parametrize(
    ("how", "status"), [(["--result", "-"], "COMPLETED"), (["--failed", "the provider refused"], "FAILED")]
)
def test_a_pending_operation_is_resolved_before_it_runs_out(
    operator: Operator, how: list[str], status: str, lane: str
) -> None:
    before = operator.pending(lane=lane)
    assert operator.once("resolve", ID, *how, stdin="5").code == 0
    after = operator.record
    assert (after["status"], after["fence"]) == (status, before["fence"] + 1)
    assert not {"pendingSince", "leaseExpiresAt", "request"} & set(after)
    assert not operator.end_by_ticket(9), "the first end wins"
    assert operator.once("show", ID, "--json").answer["ownerStatus"] == "OPERATOR"


@pytest.mark.parametrize("command", ["resolve", "retry"])
@pytest.mark.parametrize("is_over", [False, True])
def test_who_decides_is_told_of_work_that_may_go_on_elsewhere(operator: Operator, command: str, is_over: bool) -> None:
    operator.pending(60)
    if is_over:
        operator.lease_over()
        operator.sweep()
        assert operator.record["error"]["name"] == "PendingTimedOut"
    assert "It was pending: work elsewhere that has begun " in say(operator, command).out


@LANES
def test_an_operation_in_progress_that_is_not_pending_is_not_resolved(operator: Operator, lane: str) -> None:
    died(operator, lane)
    before = operator.record
    done = say(operator, "resolve")
    assert (done.code, operator.record) == (3, before) and "not pending" in done.err


@LANES
def test_a_pending_operation_is_released_before_it_runs_out_and_its_ticket_is_over(
    operator: Operator, lane: str
) -> None:
    before = operator.pending(lane=lane)
    done = say(operator, "release")
    assert done.code == 0 and "its ticket ends nothing any more" in " ".join(done.err.split())
    assert "pendingSince" not in operator.record
    operator.cloud.clock.advance(1)  # type: ignore[attr-defined]
    again = operator.cloud.run(operator.request())
    assert again.output is not None and again.output["result"] == "8"
    assert operator.record["acquiredAt"] != before["acquiredAt"]


@LANES
def test_a_pending_operation_is_started_again_before_it_runs_out(operator: Operator, lane: str) -> None:
    operator.pending(lane=lane)
    done = say(operator, "retry")
    assert done.code == 0 and "its ticket, the same as before, still ends the operation" in " ".join(done.out.split())
    operator.cloud.settle()
    assert (operator.record["result"], operator.starts) == ("8", 2)
    assert "pendingSince" not in operator.record


def test_the_ticket_of_an_operation_that_is_started_again_still_ends_it(operator: Operator) -> None:
    operator.pending()
    operator.before("StartExecution", _connection_lost)
    say(operator, "retry")
    assert operator.end_by_ticket(9)
    operator.lease_over()
    operator.sweep()
    assert (operator.record["result"], operator.starts) == ("9", 1)


@pytest.mark.parametrize("command", ["retry", "resolve"])
def test_what_its_ticket_ends_meanwhile_no_operator_ends_again(operator: Operator, command: str) -> None:
    operator.pending()
    operator.before("UpdateItem", lambda: operator.end_by_ticket(9))
    assert say(operator, command).code == 3
    assert operator.record["result"] == "9"


def test_nothing_is_left_of_a_pending_operation_that_is_forgotten(operator: Operator) -> None:
    operator.pending(lane="fast")
    assert say(operator, "release", "--forget").code == 0
    assert not {"pendingSince", "request"} & set(operator.record)


# ---- release ----


def test_release_asks_and_the_next_request_starts_afresh_under_a_higher_fence(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 2})
    before = operator.quarantined()
    refused = operator.once("release", ID)
    assert refused.code == 2 and "--yes" in refused.err and operator.record == before
    assert say(operator, "release").code == 0
    released = operator.record
    assert (released["status"], released["error"]["name"]) == ("FAILED", "ReleasedByOperator")
    assert released["expiresAt"] < operator.cloud.clock.now() and "request" not in released
    again = operator.cloud.run({**operator.request(), "payload": {"another": True}})
    assert again.output is not None and again.output["disposition"] == "EXECUTED"
    assert operator.record["fence"] > before["fence"] + 1


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.command)
def test_each_choice_does_what_the_picture_of_the_runbook_says(operator: Operator, choice: Choice) -> None:
    operator.script({"raise": "NeedsAttention"}, {"await": "go", "return": 8})
    operator.quarantined()
    given = {"ID": ID, "FILE": operator.file("9"), "TEXT": "no"}
    _, *words = [given.get(each, each) for each in choice.command.split()]
    answer = operator.once(*words, *(["--yes"] if words[0] == "release" else []), "--json").answer
    status = answer.get("status", operator.record["status"])
    operator.open("go")
    operator.cloud.settle()
    starts = operator.starts
    ended = operator.cloud.run(operator.request())
    got = json.loads(ended.cause)["message"] if ended.output is None else ended.output["result"]
    runs = {(1, 1): "Nothing runs.", (2, 2): "It runs again.", (1, 2): "The next request runs."}[
        starts, operator.starts
    ]
    answers = {"9": "FILE", "no": "TEXT", "8": "its answer"}[got]
    assert (status, [runs, f"Duplicates get {answers}."]) == (choice.then.title, choice.then.below.split("\n")[:2])
