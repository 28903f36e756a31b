"""Commands and owners in the fast lane, who cannot be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from operating import ID, Operator, put

from oncekit.cli.deployed.executions.owners import no_history
from oncekit.cli.deployed.stack import Stack
from oncekit.local.faults import fails, never_arrives, runs_twice

SMALL, LARGE = {"a": 1}, {"a": "x" * 5000}
"""Payloads whose request is kept in the record, and in the bucket."""
RETRY, RELEASE = ["retry", ID], ["release", ID, "--yes"]


def request(operator: Operator, payload: dict[str, Any]) -> dict[str, Any]:
    return operator.request() | {"payload": payload}


def shown(operator: Operator) -> dict[str, Any]:
    answer: dict[str, Any] = operator.once("show", ID, "--json").answer
    return answer


# ---- looking ----


def test_show_tells_what_the_record_says_of_an_owner_that_cannot_be_asked(operator: Operator) -> None:
    dead = operator.died_fast_in("Finalize")
    before = shown(operator)
    assert (before["lane"], before["ownerStatus"], before["execution"]) == ("fast", "MAY_RUN", None)
    lines = operator.once("show", ID).out.splitlines()
    assert "  lane        fast: its owner cannot be asked, but has ended when its lease is over" in lines
    [log] = [line for line in lines if line.startswith("the owner in the fast lane: its log has ")]
    assert "--log-group-name /aws/vendedlogs/states/once-fast " in log and f'"{dead.arn}"' in log
    assert any(line.startswith("console: https://") and line.endswith("once-fast") for line in lines)
    operator.lease_over()
    assert shown(operator)["ownerStatus"] == "LEASE_OVER"


def test_ls_says_the_lane_of_each_owner(operator: Operator) -> None:
    operator.died_fast_in("Finalize")
    put(operator, "acme#told#other", "IN_PROGRESS", 4_000_000_000)
    told = operator.once("ls", "--json").answer["operations"]
    assert {each["id"]: each["lane"] for each in told} == {ID: "fast", "acme#told#other": "full"}
    _, *rows = (line.split() for line in operator.once("ls").out.splitlines())
    assert {(row[-1], row[2]) for row in rows} == {(ID, "fast"), ("acme#told#other", "full")}


def test_fast_execution_has_no_picture_but_a_reason_and_where_to_look(operator: Operator) -> None:
    ended = operator.cloud.run(operator.request(), lane="fast")
    for about in (ID, ended.arn):
        done = operator.once("show", about, "--draw", "-")
        assert done.code == 2 and done.out == "" and len(done.err.splitlines()) == 1
        assert "Express executions keep no history" in done.err
        assert ended.arn in done.err and "`once show ID`" in done.err


FAST_ARN = "arn:aws:states:eu-west-1:1:express:FastStateMachine-x:name:run"


def test_in_once_up_the_terminal_shows_the_path_of_what_has_ended() -> None:
    said = no_history(Stack("once", {}, {"ExecutionLog": "ALL"}, None, endpoint_url="http://127.0.0.1:1"), FAST_ARN)
    assert "`once up` prints the path of each execution when it ends" in said and "aws logs" not in said
    assert "whether one with this ARN existed" in said, "this one was never started"


# ---- intervening ----


def test_release_waits_for_the_lease_of_a_fast_owner_who_cannot_be_asked(operator: Operator) -> None:
    operator.died_fast_in("Finalize")
    before = operator.record
    done = operator.once(*RELEASE)
    assert done.code == 3 and "its owner is in the fast lane, it may run until its lease is over" in done.err
    assert operator.record == before
    operator.lease_over()
    assert operator.once(*RELEASE).code == 0
    assert not {"request", "requestRef", "mayStartAgain"} & set(operator.record)
    operator.script({"return": 9})
    again = operator.cloud.run(operator.request() | {"payload": {"another": True}})
    assert again.output["result"] == "9" and operator.record["fence"] > before["fence"] + 1


def test_release_does_not_trust_a_clock_that_may_be_ahead_of_the_owners(operator: Operator) -> None:
    operator.died_fast_in("Finalize")
    now = int(operator.cloud.clock.now())
    operator.change({"leaseExpiresAt": now - 290})
    done = operator.once(*RELEASE)
    assert done.code == 3 and "by the clock of this machine" in done.err and operator.record["status"] == "IN_PROGRESS"
    operator.change({"leaseExpiresAt": now - 302})
    assert operator.once(*RELEASE).code == 0


@pytest.mark.parametrize("state", ["StartRecovery", "AcquireLock"])
@pytest.mark.parametrize("lane", ["fast", "full"])
def test_release_while_recovery_is_at_work_leaves_business_logic_to_the_next_request(
    operator: Operator, lane: str, state: str
) -> None:
    (operator.died_fast_in if lane == "fast" else operator.died_in)("ExecuteBusinessLogic")
    starts, released = operator.starts, []
    operator.lease_over()

    def release_first(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == state and not released:
            released.append(operator.once(*RELEASE).code)
        return proceed()

    with operator.cloud.intercept(release_first):
        operator.sweep()
    assert (released, operator.starts) == ([0], starts)


@pytest.mark.parametrize("on_crash", ["retry", "quarantine"])
def test_release_before_the_full_lane_goes_on_leaves_business_logic_to_the_next_request(
    operator: Operator, on_crash: str
) -> None:
    """The fast lane has handed its lock over; until the full lane takes it, it is anybody's to release."""
    released = []

    def release_first(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == "AcquireLock" and ":handover-" in call.execution_arn:
            released.append(operator.once(*RELEASE).code)
        return proceed()

    throttled = fails("TooManyRequestsException", status=429, state="ExecuteBusinessLogic", nth=1)
    with operator.cloud.intercept(throttled, never_arrives(state="RenewLock", nth=0), release_first):
        operator.cloud.run(operator.request(on_crash), lane="fast")
        operator.cloud.settle()
    assert (released, operator.starts) == ([0], 0)


@pytest.mark.parametrize("payload", [SMALL, LARGE], ids=["in the record", "in the bucket"])
def test_retry_finds_the_request_where_the_fast_owner_kept_it(operator: Operator, payload: dict[str, Any]) -> None:
    operator.script({"return": 7}, {"return": 8})
    operator.died_fast_in("Finalize", request(operator, payload))
    operator.found_unreadable()
    assert shown(operator)["request"] == request(operator, payload)
    ended = operator.execution(operator.once("retry", ID, "--json"))
    assert ended.input == request(operator, payload) and operator.record["result"] == "8"
    assert operator.kept() == []


def test_retry_whose_request_in_flight_is_gone_says_where_it_looked(operator: Operator) -> None:
    operator.died_fast_in("Finalize", request(operator, LARGE))
    operator.found_unreadable()
    key = operator.record["requestRef"]["key"]
    operator.cloud.client("s3").delete_object(Bucket=operator.cloud.outputs["ResponseBucketName"], Key=key)
    done = operator.once("retry", ID)
    assert done.code == 2 and f"not in the bucket ({key})" in done.err
    assert "it ran in the fast lane, which keeps none" in done.err and "`once resolve`" in done.err
    assert shown(operator)["requestMissing"]


def test_large_request_is_gone_once_it_was_decided(operator: Operator) -> None:
    operator.died_fast_in("Finalize", request(operator, LARGE))
    operator.found_unreadable()
    assert len(operator.kept("inflight/")) == 1
    assert operator.once("resolve", ID, "--failed", "no").code == 0
    assert operator.kept("inflight/") == []


@pytest.mark.parametrize("how", [["--failed", "no"], ["--result", "{file}"]])
def test_resolve_ends_what_a_fast_owner_left_and_its_request_goes(operator: Operator, how: list[str]) -> None:
    operator.died_fast_in("Finalize")
    operator.found_unreadable()
    done = operator.once("resolve", ID, *(each.format(file=operator.file("5")) for each in how))
    assert done.code == 0 and not {"request", "requestRef", "leaseExpiresAt", "openShard"} & set(operator.record)
    again = operator.cloud.run(operator.request(), lane="fast")
    assert again.error == "OperationFailed" if "--failed" in how else again.output["result"] == "5"


# ---- AWS runs the execution once more, after an operator decided ----


def quarantined_in(lane: str, operator: Operator) -> None:
    """Of a request of the fast lane, whose execution AWS will run once more: by itself, or by what went on for it."""
    asked = operator.request() | {"onFailed": "retry"}
    operator.script({"raise": "NeedsAttention"})
    if lane == "fast":
        operator.cloud.run(asked, lane="fast")
    elif lane == "released":
        operator.died_fast_in("ExecuteBusinessLogic", asked)
        operator.change({"leaseExpiresAt": 0, "mayStartAgain": True})
        operator.cloud.run(asked, lane="fast")
        operator.cloud.settle()
    else:
        with operator.cloud.intercept(never_arrives(state="AcquireLock", nth=range(1, 6))):
            operator.cloud.run(asked, lane="fast")
        operator.cloud.settle()
    assert operator.record["status"] == "QUARANTINED"


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("lane", ["fast", "released", "handed over"])
def test_a_second_run_does_not_try_again_what_ended_by_an_operators_decision(
    operator: Operator, lane: str, retries: int
) -> None:
    crashes = [{"exit": 1}] * (retries - 1)

    with operator.cloud.repeating(runs_twice(machine="FastStateMachine", later=50_000)):
        quarantined_in(lane, operator)
        operator.script(*crashes, *[{"raise": "PermanentError"}] * min(retries, 1), {"return": 8})
        for decision in [["retry", ID]] * retries or [["resolve", ID, "--failed", "no"]]:
            assert operator.once(*decision).code == 0
            operator.cloud.settle()
        failed = operator.record
        operator.cloud.clock.advance(60_000)  # type: ignore[attr-defined]
        operator.cloud.settle()
    assert (failed["status"], operator.record) == ("FAILED", failed)
    assert operator.cloud.run(operator.request() | {"onFailed": "retry"}, lane="fast").error is None
    assert operator.record["fence"] > failed["fence"], "another request of the sender does"
