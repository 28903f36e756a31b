"""Interleavings that break a promise: each test says what ought to be."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from latches import Latches
from scenario import A_LEASE, answer, by_recovery, dead, dies, id_of, record_of, result, scripted

from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.service_calls import Call
from oncekit.local.faults import arrives_late, before, before_call, fails, never_arrives

Recover = Callable[..., Execution]
TWICE = ({"return": "done"}, {"return": "done twice"})
FAILS = {"raise": "PermanentError", "message": "no money"}
AGAIN = {"onFailed": "retry"}
DAY = 86_400

_runs = itertools.count(1)


def died_in_finalize(cloud: LocalCloud, request: dict[str, Any]) -> Execution:
    with cloud.intercept(never_arrives(state="Finalize", nth=0)):
        return cloud.run(request)


def recovery_runs(cloud: LocalCloud, owner: Execution) -> Execution:
    """The event of a death comes (once more); what was started by others is not waited for."""
    before_it = {each.arn for each in by_recovery(cloud)}
    arn = cloud.client("stepfunctions").start_execution(
        stateMachineArn=cloud.outputs["RecoveryStateMachineArn"],
        name=f"attack-{next(_runs)}",
        input=json.dumps({"executionArn": owner.arn, "status": owner.status}),
    )["executionArn"]
    ended = cloud.wait(arn)
    for each in by_recovery(cloud):
        if each.arn not in before_it:
            cloud.wait(each.arn)
    return ended


def test_a_permanent_failure_is_not_tried_again_by_the_next_sweep(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    """One request, one crash: its owner dies with the lock, before business logic; its heir fails for good.

    The owner never entered ExecuteBusinessLogic, so the sweep takes it for one that never had the lock, and starts
    its request again (`again-...`); with onFailed `retry` that one takes the FAILED record and runs business logic,
    though no sender asked for another try since the failure.
    """
    request = scripted(*[FAILS] * 3) | AGAIN
    recover(dead(cloud, request, "AcquireLock", after=True))
    assert (record_of(cloud, request)["status"], latches.starts()) == ("FAILED", 1)
    cloud.clock.advance(300)
    recover()
    assert (record_of(cloud, request)["fence"], latches.starts()) == (2, 1)


def test_owner_that_waited_long_for_its_lock_is_known_to_have_had_it(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    """A sender that waits more than a hundred events, takes over, dies; its heir fails for good.

    The sweep reads the oldest hundred events only, finds no start of business logic in them, and starts the request
    again.
    """
    request = scripted(*[FAILS] * 4) | AGAIN
    with cloud.intercept(dies(cloud, "ExecuteBusinessLogic", only=2)):
        cloud.run(request)
        waited = cloud.run(request | {"onConflict": "wait"})
    assert (waited.status, "TakeOverLock" in waited.states) == ("ABORTED", True)
    recover(waited)
    assert (record_of(cloud, request)["status"], latches.starts()) == ("FAILED", 1)
    cloud.clock.advance(300)
    recover()
    assert latches.starts() == 1


def test_revived_owner_is_not_quarantined_by_a_second_run_of_the_same_recovery(
    cloud: LocalCloud, latches: Latches
) -> None:
    """The event of a death is delivered twice, as EventBridge and Express may; MaxRecoveries is at its minimum.

    The second run comes between ClaimRedrive and RedriveOwner. It ends the claimed lease and counts a recovery once
    more,
    and the heir that it starts finds recoveries used up before it looks at anything else.
    """
    with cloud.deployed_with({**cloud.parameters, "MaxRecoveries": "1"}):
        request = scripted(*TWICE)
        owner = died_in_finalize(cloud, request)
        with cloud.intercept(before(lambda: recovery_runs(cloud, owner), state="RedriveOwner")):
            recovery_runs(cloud, owner)
        cloud.wait(owner.arn)
        record = record_of(cloud, request)
        assert (record["status"], latches.starts()) == ("COMPLETED", 1), record.get("error")


def test_a_refused_redrive_is_forgotten_by_who_waits_for_another_claim(cloud: LocalCloud, latches: Latches) -> None:
    """Refused once, a waiting duplicate is about to quarantine, but another has claimed and redriven the owner.

    It waits by way of ExistingStatus, where nothing forgets the refusal; the next death is quarantined undriven.
    """
    request = scripted(*TWICE)
    owner = died_in_finalize(cloud, request)

    def another() -> None:  # claims and redrives; the owner dies once more, on the way to Finalize
        cloud.clock.advance(130)
        with cloud.intercept(dies(cloud, "Finalize")):
            cloud.run(request)
            assert cloud.wait(owner.arn).status == "ABORTED"

    with cloud.intercept(
        fails("ExecutionNotRedrivable", state="RedriveOwner", nth=1), before(another, state="RecordQuarantine")
    ):
        waiting = cloud.run(request | {"onConflict": "wait"})
    assert waiting.states.count("WaitForOwner") > 3
    cloud.wait(owner.arn)
    record = record_of(cloud, request)
    assert (record["status"], latches.starts()) == ("COMPLETED", 1), record.get("error")


@pytest.mark.usefixtures("deceived")
def test_another_try_takes_the_failed_record_that_it_read_and_no_other(cloud: LocalCloud, latches: Latches) -> None:
    """RetryFailed names the fence, and not the owner. Fences begin again once a record has expired and is deleted.

    A sender dies before its RetryFailed; the record expires; another payload fails under the same key, under the same
    fence; the first is redriven. It takes that record, and its result is the answer to the other payload.
    """
    request = scripted({"unless": "paid up", "then": FAILS, "else": {"return": "for the first payload"}})
    assert cloud.run(request).error == "OperationFailed"
    sender = dead(cloud, request | AGAIN, "RetryFailed")
    cloud.client("dynamodb").delete_item(  # RetentionDays may be 1, and a redrive is possible for 14
        TableName=cloud.resources["IdempotencyTable"], Key={"id": {"S": id_of(request)}}
    )
    other = scripted(FAILS, key=request["idempotencyKey"])
    assert cloud.run(other).error == "OperationFailed"
    latches.open("paid up")
    cloud.client("stepfunctions").redrive_execution(executionArn=sender.arn)
    cloud.wait(sender.arn)
    again = cloud.run(other)
    assert again.error == "OperationFailed", again.output


def test_answer_is_kept_for_as_long_as_its_own_record_promises(cloud: LocalCloud, latches: Latches) -> None:
    """RetentionDays falls from 365 to 1 while an execution is between its business logic and CacheResponse.

    It goes on with the definition that it began with and promises 365 days; the function is new and puts 1d into
    the key.
    A gradual rollout mixes the two for all of its time.
    """
    with cloud.deployed_with({**cloud.parameters, "RetentionDays": "365"}):
        request = scripted({"return": "x" * 9_000})
        with cloud.intercept(
            before(lambda: cloud.redeploy({**cloud.parameters, "RetentionDays": "1"}), state="CacheResponse")
        ):
            first = answer(cloud, cloud.run(request))
        assert record_of(cloud, request)["expiresAt"] - cloud.clock.now() > 364 * DAY
        cloud.clock.advance(100 * DAY)
        assert answer(cloud, cloud.run(request)) == first


@pytest.mark.parametrize("name", ["recover-order-7", "recover-"])
def test_name_that_a_sender_gives_its_execution_does_not_undo_its_wish(
    cloud: LocalCloud, latches: Latches, name: str
) -> None:
    """Recovery's own names are `recover-<32 hex>-<8 hex>-<fence>-<n>`.

    The state machine takes any `recover-` for one.
    """
    request = scripted({"unless": "paid up", "then": FAILS, "else": {"return": "paid"}})
    cloud.run(request)
    latches.open("paid up")
    assert result(cloud, cloud.run(request | AGAIN, name=name)) == "paid"


def test_owner_that_never_started_business_logic_has_used_up_no_attempt(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    """`attempts` are starts of business logic. Quarantined as "was started 1 times", which is not so."""
    with cloud.deployed_with({**cloud.parameters, "MaxAttempts": "1"}):
        request = scripted({"return": "once"}, {"return": "once"})
        recover(dead(cloud, request, "AcquireLock", after=True))
        record = record_of(cloud, request)
        assert (record["status"], latches.starts()) == ("COMPLETED", 1), record.get("error")


def test_recovery_s_end_of_a_lease_that_comes_late_leaves_a_claim_alone(cloud: LocalCloud, latches: Latches) -> None:
    """EndLease names no lease.

    Its first send arrives after an heir has claimed the redrive, and takes the claim away.
    """
    request = scripted(*TWICE)
    owner = died_in_finalize(cloud, request)
    leases: list[float] = []

    def look() -> None:
        leases.append(record_of(cloud, request)["leaseExpiresAt"] - cloud.clock.now())

    with cloud.intercept(
        arrives_late(before_call(state="RedriveOwner"), state="EndLease"), before(look, state="Finalize")
    ):
        recovery_runs(cloud, owner)
        cloud.wait(owner.arn)
    assert leases and leases[0] > 30


def test_business_logic_of_a_careful_request_is_not_started_by_a_second_redrive(
    cloud: LocalCloud, latches: Latches
) -> None:
    """An owner whose newest known state is RecordQuarantine may have come by its lock after that.

    A careful sender tried to quarantine another's lock, was refused, found FAILED, took it by RetryFailed and died
    there.
    RetryFailed, AcquireLock and TakeOverLock are no states that its history is asked for, so it is redriven as one
    that can only
    finish. It starts business logic and dies; the redrive's answer was lost, so it is sent again, and starts it again.
    """
    request = scripted({"unless": "paid up", "then": FAILS, "else": {"return": "paid"}}, onCrash="quarantine")
    first = dead(cloud, request, "RecordFailure")

    def finish_by_hand() -> None:
        cloud.client("stepfunctions").redrive_execution(executionArn=first.arn)
        cloud.wait(first.arn)
        latches.open("paid up")

    cloud.clock.advance(A_LEASE)
    with cloud.intercept(
        fails("ExecutionNotRedrivable", state="RedriveOwner", nth=1),
        before(finish_by_hand, state="RecordQuarantine"),
        dies(cloud, "RetryFailed", after=True),
    ):
        sender = cloud.run(request | AGAIN)
    assert record_of(cloud, request)["owner"] == sender.arn
    began = latches.starts()
    struck: list[str] = []

    def answer_lost_while_it_dies(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state != "RedriveOwner" or struck:
            return proceed()
        struck.append(call.execution_arn)
        proceed()
        cloud.wait(sender.arn)
        raise ConnectionError

    with cloud.intercept(answer_lost_while_it_dies, dies(cloud, "ExecuteBusinessLogic", after=True)):
        recovery_runs(cloud, sender)
        cloud.wait(sender.arn)
    assert latches.starts() - began == 1


def test_unreadable_executions_do_not_keep_records_from_recovery(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    """Forty requests were refused lately, and asking after them is throttled: the sweep is over before it comes to
    a record.

    Looking at dead executions comes first and has no bound in time; the 180 seconds of a sweep count from its start, so
    no page of records is read, and the run may time out.
    """
    request = scripted(*TWICE)
    dead(cloud, request, "ExecuteBusinessLogic")
    cloud.clock.advance(A_LEASE)
    for n in range(40):
        cloud.run({"operation": "x"}, name=f"refused-{n}")
    with cloud.intercept(fails("ThrottlingException", state="DescribeDeadExecution", nth=0)):
        recover()
    assert record_of(cloud, request)["status"] == "COMPLETED"


def test_a_refused_request_with_an_odd_key_is_kept_though_its_execution_died(
    cloud: LocalCloud, recover: Recover
) -> None:
    """Recovery asks for the record of whatever looks like a request, before anything has checked it.

    DynamoDB takes keys of at most 2,048 bytes. The execution died while it refused the request, so that it is nowhere;
    recovery cannot look at the record that cannot be, fails, and forgets the request after three periods.
    """
    request = {"operation": "scripted", "idempotencyKey": "k" * 3_000, "payload": {}}
    owner = dead(cloud, request, "RefuseRequest")
    # what DynamoDB says; moto does not
    with cloud.intercept(fails("ValidationException", state="ReadItsRecord", nth=0)):
        recover(owner)
    assert [each["error"] for each in cloud.rejected()] in (["InvalidRequest"], ["ExecutionDied"])
