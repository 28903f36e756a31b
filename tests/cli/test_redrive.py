"""`once redrive`: who may go on, what the record says meanwhile, and who comes in between."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from operating import ID, Operator, other_fence

from oncekit.local.faults import fails

CLAIM = 120
"""Seconds of the shortest lease that a state machine claims a redrive by."""


def longest_lease(operator: Operator) -> int:
    """Seconds that the state machine gives; whoever read such a lease cannot write after a redrive's claim."""
    names = ("BusinessTimeout", "LeaseMargin", "BackOffCap")
    business, margin, wait = (int(operator.cloud.parameters[f"{name}Seconds"]) for name in names)
    return max(CLAIM, business + 5 + margin + wait)


def say(operator: Operator, *more: str) -> Any:
    return operator.once("redrive", ID, *more)


def test_redrive_lets_an_owner_that_died_in_finalize_complete_without_business_logic(operator: Operator) -> None:
    dead = operator.died_in("Finalize")
    done = say(operator, "--json")
    assert done.answer == {"id": ID, "executionArn": dead.arn, "from": "Finalize", "requestDeleted": True}
    assert operator.cloud.wait(dead.arn).status == "SUCCEEDED"
    assert operator.record["result"] == "7" and operator.starts == 1


def test_redrive_of_a_quarantined_record_completes_it(operator: Operator) -> None:
    dead = operator.quarantined_by_another()
    assert say(operator, "--json").answer["executionArn"] == dead.arn
    assert operator.cloud.wait(dead.arn).status == "SUCCEEDED"
    assert (operator.record["status"], operator.starts, operator.kept()) == ("COMPLETED", 1, [])


def test_redrive_that_is_refused_leaves_the_record_quarantined_as_it_was(operator: Operator) -> None:
    operator.quarantined_by_another()
    operator.change({"recoveries": 2})
    before, kept = operator.record, operator.kept()
    operator.before("RedriveExecution", _refused)
    done = say(operator)
    assert done.code == 3 and "QUARANTINED as before" in done.err
    assert operator.record == before and operator.kept() == kept


def test_redrive_that_nobody_knows_of_is_left_to_recovery(operator: Operator) -> None:
    operator.quarantined_by_another()
    operator.before("RedriveExecution", lambda: _refused(500))
    assert say(operator).code == 2
    assert operator.record["status"] == "IN_PROGRESS"
    operator.lease_over()
    operator.cloud.run(operator.request())
    operator.cloud.settle()
    assert operator.record["status"] == "COMPLETED" and operator.starts == 1


def _refused(status: int = 400, code: str = "ExecutionNotRedrivable") -> None:
    error = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    raise ClientError(error, "RedriveExecution")  # type: ignore[arg-type]  # botocore's stubs want more metadata


def test_redrive_whose_answer_is_lost_leaves_the_owner_its_lock(operator: Operator) -> None:
    dead = operator.quarantined_by_another()

    def lost() -> None:
        raise ConnectionClosedError(endpoint_url="https://states")

    operator.after("RedriveExecution", lost)
    assert say(operator).code == 2
    assert operator.cloud.wait(dead.arn).status == "SUCCEEDED"
    assert operator.record["status"] == "COMPLETED"


def test_redrive_refuses_an_owner_that_would_start_business_logic_or_only_say_again_what_it_said(
    operator: Operator,
) -> None:
    operator.script({"exit": 1})
    before = operator.quarantined()
    done = say(operator)
    assert done.code == 3 and "NeedsAttention" in done.err
    assert operator.record == before


def test_redrive_refuses_an_owner_that_died_in_business_logic(operator: Operator) -> None:
    operator.died_in("ExecuteBusinessLogic")
    done = say(operator)
    assert done.code == 3 and "ExecuteBusinessLogic" in done.err
    assert operator.starts == 0


def test_redrive_claims_the_record_before_the_owner_goes_on_and_forgets_the_request_only_after(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    _least_spread(monkeypatch)
    operator.quarantined_by_another()
    operator.change({"recoveries": 2})
    before, seen = operator.record, []

    def look() -> None:
        seen.append((operator.record, operator.kept(), operator.cloud.clock.now()))

    operator.before("RedriveExecution", look)
    assert say(operator).code == 0
    [(claimed, kept, now)] = seen
    assert claimed["status"] == "IN_PROGRESS" and not {"requestRef", "finishedAt", "recoveries"} & set(claimed)
    assert claimed["leaseExpiresAt"] > now + longest_lease(operator)
    assert kept == [before["requestRef"]["key"]]


def test_redrive_of_a_record_in_progress_claims_it_by_a_lease_longer_than_the_one_that_others_read(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    _least_spread(monkeypatch)
    operator.died_in("Finalize")
    operator.change({"leaseExpiresAt": operator.record["leaseExpiresAt"] + 1000})
    before, seen = operator.record, []
    operator.before("RedriveExecution", lambda: seen.append(operator.record["leaseExpiresAt"]))
    assert say(operator).code == 0
    assert seen[0] > before["leaseExpiresAt"] + longest_lease(operator)


def _least_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oncekit.cli.deployed.redriving.random.randrange", lambda end: 0)


@pytest.mark.parametrize("business_seconds", [2, 30, 500])
def test_redrive_claims_by_a_longer_lease_than_any_state_machine_gives_whatever_its_parameters(
    operator: Operator, business_seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _least_spread(monkeypatch)
    with operator.cloud.deployed_with({"BusinessTimeoutSeconds": business_seconds}):
        operator.quarantined_by_another()
        operator.lease_over()
        seen: list[float] = []
        operator.before("RedriveExecution", lambda: seen.append(operator.record["leaseExpiresAt"]))
        now = operator.cloud.clock.now()
        assert say(operator).code == 0
        assert now + longest_lease(operator) < seen[0] <= operator.cloud.clock.now() + longest_lease(operator) + 1


@pytest.mark.parametrize("is_quarantined", [True, False])
def test_redrive_leaves_alone_what_changed_after_it_was_read(operator: Operator, is_quarantined: bool) -> None:
    dead = operator.quarantined_by_another() if is_quarantined else operator.died_in("Finalize")
    before, kept = operator.record, operator.kept()
    with other_fence(operator):
        done = say(operator)
    assert done.code == 3 and "changed meanwhile" in done.err
    assert operator.record == {**before, "fence": before["fence"] + 1} and operator.kept() == kept
    assert operator.cloud.describe(dead.arn).status == "ABORTED"


@pytest.mark.parametrize("is_quarantined", [True, False])
@pytest.mark.parametrize("change", [{"leaseExpiresAt": 9}, {"status": "FAILED"}, {"owner": "arn:another"}], ids=list)
def test_redrive_leaves_alone_what_another_changed_under_the_same_fence(
    operator: Operator, is_quarantined: bool, change: dict[str, Any]
) -> None:
    """Another who claims it gives it a new lease, for example."""
    dead = operator.quarantined_by_another() if is_quarantined else operator.died_in("Finalize")
    before = operator.record
    operator.before("UpdateItem", lambda: operator.change(change))
    assert say(operator).code == 3
    assert operator.record == {**before, **change}
    assert operator.cloud.describe(dead.arn).status == "ABORTED"


def test_duplicate_that_is_about_to_quarantine_comes_too_late_after_a_redrive(operator: Operator) -> None:
    """Another duplicate had quarantined the record; the operator redrives it; only then the late one writes."""
    dead = operator.died_in("Finalize")
    operator.lease_over()
    said: list[Any] = []

    def others(call: Any, proceed: Any) -> Any:
        if call.state == "RecordQuarantine" and not said:
            now = int(operator.cloud.clock.now())
            operator.change({"status": "QUARANTINED", "leaseExpiresAt": now, "error": {"name": "x", "message": "x"}})
            with operator.cloud.intercept(hold):
                said.append(say(operator))
                return proceed()
        return proceed()

    def hold(call: Any, proceed: Any) -> Any:
        if call.state == "Finalize":
            raise ConnectionClosedError(endpoint_url="dynamodb")  # the owner comes to it later
        return proceed()

    with operator.cloud.intercept(others, fails("ExecutionNotRedrivable", state="RedriveOwner", nth=0)):
        operator.cloud.start(operator.request())
        operator.cloud.settle()
    assert said[0].code == 0 and operator.cloud.wait(dead.arn).status == "SUCCEEDED"
    assert (operator.record["status"], operator.starts) == ("COMPLETED", 1)


def test_two_operators_who_redrive_at_once_have_one_answer_and_no_quarantine(operator: Operator) -> None:
    dead = operator.quarantined_by_another()
    other: list[Any] = []
    operator.before("UpdateItem", lambda: other.append(say(operator)))
    assert say(operator).code == 3
    assert other[0].code == 0
    assert operator.cloud.wait(dead.arn).status == "SUCCEEDED"
    assert (operator.record["status"], operator.starts, operator.kept()) == ("COMPLETED", 1, [])


def test_redrive_after_somebody_elses_redrive_leaves_the_owner_to_it(operator: Operator) -> None:
    """Somebody goes around the commands, between this one's write and its redrive; the refusal is no refusal then."""
    dead = operator.quarantined_by_another()
    operator.before("RedriveExecution", lambda: operator.redriven(dead.arn))
    assert say(operator).code == 0
    assert (operator.record["status"], operator.kept()) == ("COMPLETED", [])


def test_redrive_believes_the_history_where_a_description_is_stale(operator: Operator) -> None:
    dead = operator.quarantined_by_another()
    held = operator.holding("Finalize")
    with held:
        operator.cloud.client("stepfunctions").redrive_execution(executionArn=dead.arn)
        before = operator.record
        with operator.described_as("ABORTED"):
            done = say(operator)
        assert done.code == 3 and "redriven just now" in done.err and operator.record == before
    operator.cloud.wait(dead.arn)


def test_refusal_on_a_stale_description_of_an_owner_that_goes_on_quarantines_nothing(operator: Operator) -> None:
    dead = operator.quarantined_by_another()
    with operator.holding("Finalize"), operator.described_as("ABORTED"):

        def by_another() -> None:
            operator.cloud.client("stepfunctions").redrive_execution(executionArn=dead.arn)

        operator.before("RedriveExecution", by_another)
        assert say(operator).code == 0
        assert operator.record["status"] == "IN_PROGRESS"
    assert operator.cloud.wait(dead.arn).status == "SUCCEEDED"
    assert operator.record["status"] == "COMPLETED"


@pytest.mark.parametrize("code", ["ThrottlingException", "TooManyRequestsException", "InternalFailure"])
def test_redrive_that_is_throttled_or_unknown_says_what_is_true_and_keeps_the_request(
    operator: Operator, code: str
) -> None:
    operator.quarantined_by_another()
    kept = operator.kept()
    operator.before("RedriveExecution", lambda: _refused(500 if code == "InternalFailure" else 400, code))
    done = say(operator)
    assert done.code == 2 and "not known" in done.err and code in done.err and "recovery redrives" in done.err
    assert operator.record["status"] == "IN_PROGRESS" and operator.kept() == kept
    assert str(operator.record["leaseExpiresAt"] - int(operator.cloud.clock.now())) in done.err


def test_redrive_that_an_operator_may_not_do_puts_the_record_back_and_says_what_is_missing(operator: Operator) -> None:
    operator.quarantined_by_another()
    before, kept = operator.record, operator.kept()
    operator.before("RedriveExecution", lambda: _refused(400, "AccessDeniedException"))
    done = say(operator)
    assert done.code == 2 and "AccessDeniedException" in done.err and "--profile" in done.err
    assert operator.record == before and operator.kept() == kept


@pytest.mark.parametrize("field", ["fence", "leaseExpiresAt"])
def test_refused_redrive_puts_nothing_back_over_what_another_wrote(operator: Operator, field: str) -> None:
    operator.quarantined_by_another()

    def another_takes_it() -> None:
        operator.change({field: operator.record[field] + 1})
        _refused()

    operator.before("RedriveExecution", another_takes_it)
    done = say(operator)
    assert done.code == 3 and "not put back" in done.err
    assert operator.record["status"] == "IN_PROGRESS"


def test_refused_redrive_of_a_record_in_progress_leaves_it_as_it_was(operator: Operator) -> None:
    operator.died_in("Finalize")
    operator.change({"recoveries": 2})
    before = operator.record
    operator.before("RedriveExecution", _refused)
    done = say(operator)
    assert done.code == 3 and "IN_PROGRESS as before" in done.err
    assert operator.record == before


def test_redrive_counts_no_recovery_of_a_record_in_progress_away(operator: Operator) -> None:
    operator.died_in("Finalize")
    operator.change({"recoveries": 2})
    seen: list[Any] = []
    operator.before("RedriveExecution", lambda: seen.append(operator.record["recoveries"]))
    assert say(operator).code == 0
    assert seen == [2]


def test_kept_request_stays_when_the_record_is_quarantined_again_before_it_would_be_deleted(
    operator: Operator,
) -> None:
    operator.quarantined_by_another()
    before, kept = operator.record, operator.kept()
    with operator.holding("Finalize"):
        operator.after("RedriveExecution", lambda: operator.change({"status": "QUARANTINED"}))
        assert say(operator, "--json").answer["requestDeleted"] is False
        assert operator.kept() == kept
        operator.change({"status": "IN_PROGRESS", "leaseExpiresAt": before["leaseExpiresAt"] + 5000})
    operator.cloud.settle()


def test_kept_request_stays_when_the_claim_is_over_before_it_would_be_deleted(operator: Operator) -> None:
    """Whoever finds the lease over may quarantine the record, between this command's look at it and its deletion."""
    operator.quarantined_by_another()
    kept = operator.kept()
    with operator.holding("Finalize"):
        operator.after("RedriveExecution", operator.lease_over)
        assert say(operator, "--json").answer["requestDeleted"] is False
        assert operator.kept() == kept


def test_redrive_into_quarantine_leaves_it_its_request(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    dead = operator.died_in("RecordQuarantine")
    with operator.holding("RecordQuarantine"):
        done = say(operator, "--json").answer
    assert (done["from"], done["requestDeleted"]) == ("RecordQuarantine", False)
    assert operator.cloud.wait(dead.arn).error == "NeedsAttention"
    assert operator.record["status"] == "QUARANTINED" and operator.kept() == [operator.record["requestRef"]["key"]]


def test_claim_whose_answer_was_lost_and_that_is_repeated_knows_itself(operator: Operator) -> None:
    dead = operator.quarantined_by_another()
    with operator.every_write_sent_twice():
        assert say(operator).code == 0
    assert operator.cloud.wait(dead.arn).status == "SUCCEEDED"
    assert operator.record["status"] == "COMPLETED"


def test_redrive_takes_an_owner_whose_time_was_over_for_dead(operator: Operator) -> None:
    owner = operator.timed_out_in("Finalize")
    assert say(operator).code == 0
    assert operator.cloud.wait(owner.arn).status == "SUCCEEDED"
    assert operator.record["status"] == "COMPLETED"


def test_redrive_refuses_an_owner_that_died_too_long_ago_and_changes_nothing(operator: Operator) -> None:
    operator.died_in("Finalize")
    before = operator.record
    operator.cloud.clock.advance(15 * 86_400)  # type: ignore[attr-defined]
    written: list[bool] = []
    operator.before("UpdateItem", lambda: written.append(True))
    done = say(operator)
    assert done.code == 3 and "redrivable period exceeded" in done.err and operator.record == before and written == []
