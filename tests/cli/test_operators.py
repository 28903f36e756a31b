"""Interventions on the local cloud: what they do, what they refuse, and what becomes of those who come late."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError
from operating import ID, Operator, other_fence, put
from scenario import by_recovery

from oncekit.local.faults import before, never_arrives

WORDS = {"retry": [], "resolve": ["--failed", "no"], "release": ["--yes"]}


def say(operator: Operator, command: str, *more: str) -> Any:
    return operator.once(command, ID, *WORDS[command], *more)


@pytest.mark.parametrize("command", WORDS)
def test_a_record_that_is_not_open_is_left_alone_with_exit_3(operator: Operator, command: str) -> None:
    operator.cloud.run(operator.request())
    before = operator.record
    assert say(operator, command).code == 3
    assert operator.record == before


@pytest.mark.parametrize("command", ["retry", "resolve", "release"])
def test_a_record_that_changes_between_read_and_write_is_left_alone(operator: Operator, command: str) -> None:
    operator.script({"exit": 1})
    before = operator.quarantined()
    with other_fence(operator):
        done = say(operator, command)
    assert done.code == 3 and ID in done.err
    assert operator.record == {**before, "fence": before["fence"] + 1}
    assert len(operator.kept()) == 1


def test_retry_keeps_the_policy_so_that_a_second_crash_quarantines_again(operator: Operator) -> None:
    operator.script({"exit": 1})
    before = operator.quarantined()
    assert operator.execution(say(operator, "retry", "--json")).error == "NeedsAttention"
    after = operator.record
    assert (after["status"], after["onCrash"], after["attempts"]) == ("QUARANTINED", "quarantine", 1)
    assert after["fence"] > before["fence"] and operator.starts == 2
    assert operator.kept() == [after["requestRef"]["key"]]


def test_retry_takes_the_lock_and_leaves_nothing_of_the_quarantine(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"await": "go", "return": 8})
    before = operator.quarantined()
    started = say(operator, "retry", "--json").answer
    operator.open("go")
    assert operator.cloud.wait(started["executionArn"]).output is not None
    after = operator.record
    assert (after["status"], after["result"], after["attempts"]) == ("COMPLETED", "8", 1)
    assert after["fence"] > before["fence"]
    assert not {"error", "requestRef", "recoveries"} & set(after)
    assert operator.kept() == []


def half_done(operator: Operator) -> None:
    """A retry whose start never arrived."""
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()
    operator.before("StartExecution", _connection_lost)
    done = say(operator, "retry")
    assert done.code == 2 and ID in done.err


def _connection_lost() -> None:
    raise EndpointConnectionError(endpoint_url="https://states")


def test_retry_that_ended_before_its_start_is_finished_by_recovery(operator: Operator) -> None:
    half_done(operator)
    assert say(operator, "retry").code == 3
    operator.sweep()
    assert (operator.record["result"], operator.starts) == ("8", 2)


def test_a_retry_whose_executions_took_no_lock_is_finished_by_recovery(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()
    with operator.cloud.intercept(never_arrives(state="TakeOverLock", nth=0)):
        assert operator.execution(say(operator, "retry", "--json")).status == "FAILED"
        operator.sweep()
    operator.sweep()
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


def wait_for_lock(operator: Operator) -> None:
    import time

    end = time.monotonic() + 20
    while operator.cloud.record(ID) is None or operator.starts == 0:
        assert time.monotonic() < end
        time.sleep(0.005)


def test_finished_steps_survive_a_retry(operator: Operator) -> None:
    operator.script({"step": "first", "exit": 1}, {"step": "second", "return": 8})
    before = operator.quarantined()
    assert "note" in before["steps"]
    operator.execution(say(operator, "retry", "--json"))
    assert operator.record["status"] == "COMPLETED"
    orders = operator.cloud.client("dynamodb").scan(TableName=operator.cloud.outputs["OrdersTableName"])["Items"]
    assert [each["orderId"]["S"] for each in orders] == ["first"]


@pytest.mark.parametrize("command", ["retry", "resolve", "release"])
def test_an_old_owner_that_is_redriven_into_finalize_cannot_change_the_record(operator: Operator, command: str) -> None:
    operator.script({"return": 7}, {"await": "go", "return": 8})
    zombie = operator.quarantined_by_another()
    started = json.loads(say(operator, command, "--json").out).get("executionArn")
    if started:
        while operator.starts < 2:
            pass
    before = operator.record
    ended = operator.redriven(zombie.arn)
    assert operator.record == before
    assert ended.output is None or "7" not in str(ended.output.get("result"))
    if started:
        operator.open("go")
        operator.cloud.wait(started)
        assert operator.record["result"] == "8"


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
    assert not {"error", "steps", "requestRef", "leaseExpiresAt", "openShard"} & set(operator.record)
    assert operator.once("ls", "--json").answer == {"operations": [], "isComplete": True}
    assert operator.kept() == [] and operator.starts == 1


def test_resolve_as_failed_gives_every_duplicate_that_failure(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    assert operator.once("resolve", ID, "--failed", "refunded by hand").code == 0
    again = operator.cloud.run(operator.request())
    assert again.error == "OperationFailed" and "refunded by hand" in str(again.cause)
    kept_for = operator.record["expiresAt"] - operator.cloud.clock.now()
    assert abs(kept_for - int(operator.cloud.parameters["RetentionDays"]) * 86_400) < 3600


def test_release_asks_and_the_next_request_starts_afresh_under_a_higher_fence(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 2})
    before = operator.quarantined()
    refused = operator.once("release", ID)
    assert refused.code == 2 and "--yes" in refused.err and operator.record == before
    assert say(operator, "release").code == 0
    released = operator.record
    assert (released["status"], released["error"]["name"]) == ("FAILED", "ReleasedByOperator")
    assert released["expiresAt"] < operator.cloud.clock.now() and operator.kept() == []
    again = operator.cloud.run({**operator.request(), "payload": {"another": True}})
    assert again.output is not None and again.output["disposition"] == "EXECUTED"
    assert operator.record["fence"] > before["fence"] + 1


def test_release_refuses_a_living_owner_whatever_is_said(operator: Operator) -> None:
    operator.script({"await": "go", "return": 1})
    arn = operator.cloud.start(operator.request())
    wait_for_lock(operator)
    before = operator.record
    for done in (say(operator, "release"), operator.once("release", ID)):
        assert done.code == 3 and "RUNNING" in done.err
    assert operator.record == before
    operator.open("go")
    operator.cloud.wait(arn)


@pytest.mark.parametrize("command", ["retry", "resolve", "release"])
def test_write_whose_answer_was_lost_and_that_is_repeated_knows_itself(operator: Operator, command: str) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    before = operator.quarantined()
    with operator.every_write_sent_twice():
        done = say(operator, command)
    assert done.code == 0 and operator.kept() == []
    operator.cloud.settle()
    after = operator.record
    assert after["status"] == ("COMPLETED" if command == "retry" else "FAILED")
    assert after["fence"] == before["fence"] + (2 if command == "retry" else 1)


@pytest.mark.parametrize(
    ("command", "change"),
    [("retry", {"leaseExpiresAt": 1}), ("resolve", {"status": "FAILED"}), ("release", {"owner": "arn:another"})],
)
def test_record_of_which_one_thing_changed_under_the_same_fence_is_left_alone(
    operator: Operator, command: str, change: dict[str, Any]
) -> None:
    """An owner that is revived has a new lease, for example."""
    operator.script({"raise": "NeedsAttention"})
    before = operator.quarantined()
    operator.before("UpdateItem", lambda: operator.change(change))
    assert say(operator, command).code == 3
    assert operator.record == {**before, **change} and len(operator.kept()) == 1


def test_release_refuses_while_a_retrys_execution_may_take_the_lock(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()
    with operator.holding("TakeOverLock"):
        started = say(operator, "retry", "--json").answer["executionArn"]
        before = operator.record
        done = say(operator, "release")
        assert done.code == 3 and started in done.err and "RUNNING" in done.err
        assert operator.record == before
    assert operator.record["result"] == "8"


def test_a_retry_starts_nothing_once_its_lock_was_released(operator: Operator) -> None:
    """Another operator releases between the write of a retry and its start; nobody sends the request again."""
    operator.script({"raise": "NeedsAttention"}, {"return": "nobody asked for it"})
    operator.quarantined()
    released: list[int] = []
    operator.before("StartExecution", lambda: released.append(say(operator, "release").code))
    say(operator, "retry")
    operator.cloud.settle()
    assert (released, operator.starts) == ([0], 1)


def test_a_retry_does_not_try_a_decided_failure_again(operator: Operator) -> None:
    """A sweep is faster than the execution of the retry, and the operation fails for good."""
    operator.script({"raise": "NeedsAttention"}, {"raise": "PermanentError"}, {"return": "nobody asked for it"})
    operator.cloud.run({**operator.request(), "onFailed": "retry"})
    ended: list[str | None] = []

    def sweep_first(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == "AcquireLock" and ":retry-" in call.execution_arn and not ended:
            machine = operator.cloud.outputs["RecoveryStateMachineArn"]
            run = operator.cloud.client("stepfunctions").start_execution(stateMachineArn=machine, input="{}")
            operator.cloud.wait(run["executionArn"])
            ended.extend(operator.cloud.wait(each.arn).error for each in by_recovery(operator.cloud))
        return proceed()

    with operator.cloud.intercept(sweep_first):
        say(operator, "retry")
        operator.cloud.settle()
    assert (ended, operator.record["status"], operator.starts) == (["OperationFailed"], "FAILED", 2)


def test_release_refuses_an_owner_that_was_revived_though_its_description_is_old(operator: Operator) -> None:
    """A duplicate has redriven the dead owner, which is about to keep its answer; the operator reads that it is dead.

    Were the lock released, the answer would be thrown away, and the next request have the effect a second time.
    """
    owner = operator.died_in("Finalize")
    operator.lease_over()
    codes: list[int] = []

    def release() -> None:
        with operator.cloud.stale():
            codes.append(say(operator, "release").code)

    with operator.cloud.intercept(before(release, state="Finalize")):
        operator.cloud.run(operator.request())
        operator.cloud.wait(owner.arn)
    operator.cloud.run(operator.request())
    assert (codes, operator.starts) == ([3], 1)


def test_release_frees_the_lock_of_an_owner_that_ended_however_it_did(operator: Operator) -> None:
    timed_out = operator.timed_out_in("Finalize")
    assert say(operator, "release").code == 0
    succeeded = operator.cloud.run(operator.request())
    for owner in (timed_out, succeeded):
        put(operator, ID, "QUARANTINED", 5, owner={"S": owner.arn})
        assert say(operator, "release", "--json").answer["status"] == "RELEASED"
