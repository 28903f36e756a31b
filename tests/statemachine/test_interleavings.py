"""Interleavings that break a promise: each test says what ought to be."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from latches import Latches
from scenario import answer, dead, id_of, record_of, result, scripted

from oncekit.local import Execution, LocalCloud
from oncekit.local.faults import before

Recover = Callable[..., Execution]
TWICE = ({"return": "done"}, {"return": "done twice"})
FAILS = {"raise": "PermanentError", "message": "no money"}
AGAIN = {"onFailed": "retry"}
DAY = 86_400


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
