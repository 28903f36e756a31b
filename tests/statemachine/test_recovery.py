"""The sweep finds what dead owners left, and starts it once in the full lane, which decides what to do."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import pytest
from latches import Latches
from scenario import (
    A_LEASE,
    BUSINESS,
    LANES,
    begun_again,
    by_recovery,
    cause,
    charge,
    dead,
    died,
    dies,
    ends_in,
    fails_until_the_end,
    id_of,
    operations,
    record_of,
    released,
    result,
    rows,
    run,
    scripted,
)

from oncekit.contract.lanes import Lane
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.interceptors import answer_lost, before, fails, never_arrives
from oncekit.local.engine.service_calls import Call, Interceptor

Recover = Callable[[], Execution]
FIVE_MINUTES = 300
QUARANTINE = {"onCrash": "quarantine"}


def in_one_shard(count: int, request: Callable[..., dict[str, Any]] = charge) -> list[str]:
    """So many keys of requests whose records are in the same shard of the index."""
    keys = (f"key-{n}" for n in itertools.count())
    in_shard = (key for key in keys if hashlib.sha256(id_of(request(key=key)).encode()).hexdigest()[0] == "7")
    return list(itertools.islice(in_shard, count))


def in_pages_of(size: int, limit: str) -> Interceptor:
    """The calls that have this limit get so many rows at a time."""

    def fewer(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if limit in call.parameters:
            cast(dict[str, Any], call.parameters)[limit] = size
        return proceed()

    return fewer


# ---- what it starts ----


@LANES
@pytest.mark.parametrize("more", [{"n": 0.30000000000000004}, {"text": "x" * 5000}], ids=["small", "large"])
def test_a_dead_owners_request_goes_on_in_the_full_lane_exactly_as_it_was(
    cloud: LocalCloud, latches: Latches, recover: Recover, lane: Lane, more: dict[str, Any]
) -> None:
    request = scripted({"return": "done"}, {"return": "done"})
    request["payload"] |= more
    ends_in(cloud, request, BUSINESS) if lane == "fast" else dead(cloud, request, BUSINESS)
    assert recover().output["recovered"] == 0, "not before its lease is over"
    cloud.clock.advance(A_LEASE)
    assert recover().output["recovered"] == 1
    [heir] = by_recovery(cloud)
    assert re.fullmatch(r"recover-[0-9a-f]{32}-1-[0-9]+", heir.name)
    assert heir.input == request | {"tenant": "default"}
    record = record_of(cloud, request)
    assert (record["status"], record["fence"], record["attempts"], result(cloud, heir)) == ("COMPLETED", 2, 2, "done")
    assert recover().output["recovered"] == 0


def test_a_dead_owner_is_followed_within_70_seconds_of_its_lease(cloud: LocalCloud) -> None:
    with cloud.delivering():
        dead(cloud, charge(), BUSINESS)
        left = record_of(cloud, charge())["leaseExpiresAt"] - cloud.clock.now()
        for seconds in (left, 70):
            assert record_of(cloud, charge())["status"] == "IN_PROGRESS"
            cloud.clock.advance(seconds)
            cloud.settle()
    assert record_of(cloud, charge())["status"] == "COMPLETED"
    assert rows(cloud, "ProviderLedgerTable") == 1


def test_time_that_is_moved_far_leaves_out_sweeps_that_would_find_nothing_and_no_other(cloud: LocalCloud) -> None:
    """A test of what expires moves it by months, which are ten thousands of sweeps."""
    sweeps = functools.partial(cloud.executions.of, cloud.outputs["RecoveryStateMachineArn"])
    with cloud.delivering():
        cloud.clock.advance(90 * 86_400)
        assert len(sweeps()) == 1
        dead(cloud, charge(), BUSINESS)
        lease_over = record_of(cloud, charge())["leaseExpiresAt"]
        cloud.clock.advance(86_400)
    record = record_of(cloud, charge())
    assert record["status"] == "COMPLETED"
    assert datetime.fromisoformat(record["finishedAt"]).timestamp() - lease_over < 70


def test_what_was_done_before_the_owner_died_is_not_done_twice(cloud: LocalCloud, recover: Recover) -> None:
    """Business logic is started once more, and its provider knows the key."""
    fails_until_the_end(cloud, charge(), "Finalize")
    cloud.clock.advance(A_LEASE)
    recover()
    record = record_of(cloud, charge())
    assert (record["status"], record["attempts"], rows(cloud, "ProviderLedgerTable")) == ("COMPLETED", 2, 1)


def test_who_dies_before_its_lock_is_followed_by_nobody(cloud: LocalCloud, recover: Recover) -> None:
    """Whoever stopped it decides; AWS keeps its input."""
    with cloud.intercept(dies(cloud, "AcquireLock")):
        assert cloud.run(charge()).status == "ABORTED"
    cloud.clock.advance(A_LEASE)
    assert recover().output["recovered"] == 0
    assert cloud.record(id_of(charge())) is None


def test_an_operation_without_a_function_any_more_is_for_the_operator(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    request = scripted({"return": 1})
    died(cloud, request, "full")
    with cloud.deployed_with({"Operations": ""}):
        recover()
    record = record_of(cloud, request)
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "NoFunction")


# ---- what an execution of its does not do ----


def test_an_owner_that_cannot_be_asked_counts_as_alive(cloud: LocalCloud, recover: Recover) -> None:
    died(cloud, charge(), "full")
    with cloud.intercept(fails("ThrottlingException", state="CheckOwner", nth=0)):
        recover()
    assert [each.output["disposition"] for each in by_recovery(cloud)] == ["IN_PROGRESS"]
    cloud.clock.advance(FIVE_MINUTES)
    recover()
    assert record_of(cloud, charge())["status"] == "COMPLETED"


@LANES
@pytest.mark.parametrize(
    ("state", "on_crash"),
    [
        ("StartRecovery", "retry"),
        ("AcquireLock", "quarantine"),
        ("TakeNextFence", "retry"),
        ("RecordQuarantine", "quarantine"),
    ],
)
def test_nothing_begins_after_a_release_that_nobody_sends(
    cloud: LocalCloud, latches: Latches, recover: Recover, lane: Lane, on_crash: str, state: str
) -> None:
    """The sweep has found it; the operator releases it; only then the execution begins, or goes on."""
    request = scripted({"return": "once"}, {"return": "a second effect"}, onCrash=on_crash)
    died(cloud, request, lane)
    with cloud.intercept(before(lambda: released(cloud, request), state=state)):
        recover()
    [heir] = by_recovery(cloud)
    assert (heir.error, latches.starts()) == ("LockLost", 0)
    assert cloud.run(request).output["disposition"] == "EXECUTED"


def test_a_permanent_failure_is_not_tried_again_by_the_next_sweep(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    request = scripted(*[{"raise": "PermanentError"}] * 3, onFailed="retry")
    died(cloud, request, "full")
    for _ in range(3):
        recover()
        cloud.clock.advance(FIVE_MINUTES)
    assert (record_of(cloud, request)["status"], record_of(cloud, request)["fence"], latches.starts()) == (
        "FAILED",
        2,
        1,
    )


def test_another_requests_record_is_left_alone(cloud: LocalCloud, latches: Latches, recover: Recover) -> None:
    """Its own was released, and the key taken for another payload."""
    request = scripted({"return": 1})
    other = scripted({"return": 2}, key=request["idempotencyKey"])

    def taken() -> None:
        released(cloud, request)
        cloud.run(other)

    died(cloud, request, "full")
    with cloud.intercept(before(taken, state="StartRecovery")):
        recover()
    assert [each.error for each in by_recovery(cloud)] == ["LockLost"]
    assert not cloud.rejected(), "nobody sent it, so nobody was refused"


@pytest.mark.parametrize("name", ["recover-order-7", "recover-", f"recover-{'0' * 32}-1-1x"])
def test_a_name_that_a_sender_gives_its_execution_does_not_undo_its_wish(cloud: LocalCloud, name: str) -> None:
    assert cloud.run(charge(), name=name).output["disposition"] == "EXECUTED"


# ---- deaths, again and again ----


def test_attempts_are_bounded_over_all_owners(cloud: LocalCloud, latches: Latches, recover: Recover) -> None:
    request = scripted({"return": 1})
    with (
        cloud.deployed_with({"MaxAttempts": "3"}),
        cloud.intercept(dies(cloud, BUSINESS, only=99)),
    ):
        cloud.run(request)
        for _ in range(3):
            cloud.clock.advance(A_LEASE)
            recover()
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"], record["error"]["name"]) == ("QUARANTINED", 3, "AttemptsUsedUp")
    assert "request" in record


def test_one_that_dies_at_once_is_followed_by_another_after_five_minutes(cloud: LocalCloud, recover: Recover) -> None:
    died(cloud, charge(), "full")
    with cloud.intercept(dies(cloud, "AcquireLock")):
        assert recover().output["recovered"] == 1
    assert recover().output["recovered"] == 0, "its name is taken"
    cloud.clock.advance(FIVE_MINUTES)
    assert recover().output["recovered"] == 1
    assert record_of(cloud, charge())["status"] == "COMPLETED"


def test_what_an_operator_begins_again_goes_on_though_its_starts_die(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    request = scripted({"return": 8}, **QUARANTINE)
    died(cloud, request, "full")
    recover()
    begun_again(cloud, request)
    with cloud.intercept(dies(cloud, "TakeNextFence", only=2)):
        for _ in range(3):
            cloud.clock.advance(FIVE_MINUTES)
            recover()
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"], latches.starts()) == ("COMPLETED", 1, 1)


def test_what_an_operator_begins_again_and_dies_is_quarantined_again(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    """What the operator said is for one start."""
    request = scripted({"return": 8}, {"return": 9}, **QUARANTINE)
    died(cloud, request, "full")
    recover()
    begun_again(cloud, request)
    with cloud.intercept(dies(cloud, BUSINESS)):
        recover()
    cloud.clock.advance(A_LEASE)
    recover()
    assert (record_of(cloud, request)["status"], latches.starts()) == ("QUARANTINED", 0)


# ---- the sweep itself ----


def test_sweeps_side_by_side_start_one(cloud: LocalCloud, recover: Recover) -> None:
    died(cloud, charge(), "fast")
    with cloud.intercept(before(recover, state="StartRecovery")):
        recover()
    assert len(operations(cloud)) == 1
    assert record_of(cloud, charge())["fence"] == 2


@pytest.mark.parametrize("fault", [never_arrives, answer_lost])
def test_a_start_that_is_lost_is_made_by_the_next_sweep(
    cloud: LocalCloud, recover: Recover, fault: Callable[..., Interceptor]
) -> None:
    died(cloud, charge(), "full")
    with cloud.intercept(fault(state="StartRecovery", nth=0)):
        swept = recover()
    assert swept.error == "RecoveryIncomplete"
    recover()
    assert (record_of(cloud, charge())["status"], len(by_recovery(cloud))) == ("COMPLETED", 1)


@pytest.mark.usefixtures("latches")
def test_a_sweep_goes_through_the_pages_of_every_shard(cloud: LocalCloud, recover: Recover) -> None:
    made = functools.partial(scripted, {"return": "done"})  # recovered all at once, by functions that start quickly
    requests = [made(key=key) for key in [*in_one_shard(5, made), "another", "one more"]]
    with cloud.intercept(dies(cloud, BUSINESS, only=len(requests))):
        cloud.run_all(requests)
    cloud.clock.advance(A_LEASE)
    with cloud.intercept(in_pages_of(2, "Limit")):
        assert recover().output["recovered"] == 7
    assert {record_of(cloud, each)["status"] for each in requests} == {"COMPLETED"}


@pytest.mark.parametrize("body", [None, b'{"text":"' + b"x" * 300_000 + b'"}'], ids=["missing", "too large to read"])
def test_one_request_that_is_not_there_fails_the_run_and_keeps_no_other_from_it(
    cloud: LocalCloud, latches: Latches, recover: Recover, body: bytes | None
) -> None:
    requests = [scripted({"return": 1, "ignored": ["", "x" * 5000]}) for _ in range(3)]
    for each in requests:
        dead(cloud, each, BUSINESS)
    cloud.clock.advance(A_LEASE)
    ref = record_of(cloud, requests[1])["requestRef"]
    kept = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
    if body is None:
        cloud.client("s3").delete_object(Bucket=ref["bucket"], Key=ref["key"])
    else:
        cloud.client("s3").put_object(Bucket=ref["bucket"], Key=ref["key"], Body=body)
    swept = recover()
    assert (swept.error, cause(swept)["recovered"], cause(swept)["failed"]) == ("RecoveryIncomplete", 2, 1)
    assert [record_of(cloud, each)["status"] for each in requests] == ["COMPLETED", "IN_PROGRESS", "COMPLETED"]
    cloud.client("s3").put_object(Bucket=ref["bucket"], Key=ref["key"], Body=kept)
    assert recover().output["recovered"] == 1


def test_one_shard_that_cannot_be_read_does_not_keep_the_others_from_being_swept(
    cloud: LocalCloud, recover: Recover
) -> None:
    died(cloud, charge(), "full")
    shard = record_of(cloud, charge())["openShard"]

    def unlucky(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == "FindOverdue" and call.parameters["ExpressionAttributeValues"][":shard"]["S"] != shard:
            raise ConnectionError
        return proceed()

    with cloud.intercept(unlucky):
        swept = recover()
    assert (swept.error, cause(swept)["failed"]) == ("RecoveryIncomplete", 15)
    assert record_of(cloud, charge())["status"] == "COMPLETED"


# ---- what it counts ----


def published(cloud: LocalCloud, recover: Recover) -> dict[str, float]:
    """The metrics of one sweep, by name."""
    calls: list[Call] = []

    def listen(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.action == "put_metric_data":
            calls.append(call)
        return proceed()

    with cloud.intercept(listen):
        recover()
    [call] = calls
    assert call.parameters["Namespace"] == "Once"
    assert all(m["Dimensions"] == [{"Name": "Stack", "Value": "once"}] for m in call.parameters["MetricData"])
    return {each["MetricName"]: each["Value"] for each in call.parameters["MetricData"]}


def test_a_sweep_publishes_what_the_alarms_look_at(cloud: LocalCloud, latches: Latches, recover: Recover) -> None:
    none = {
        "OpenOperations": 0,
        "OverdueOperations": 0,
        "QuarantinedOperations": 0,
        "RecoveredOperations": 0,
        "RejectedRequests": 0,
    }
    assert published(cloud, recover) == none
    cloud.run(scripted({"raise": "NeedsAttention"}))
    died(cloud, charge(), "full")
    dead(cloud, charge("order-2"), BUSINESS)
    with cloud.intercept(never_arrives(state="StartRecovery", nth=0)):
        assert published(cloud, recover) == none | {
            "OpenOperations": 2,
            "OverdueOperations": 1,
            "QuarantinedOperations": 1,
        }
    assert published(cloud, recover)["RecoveredOperations"] == 1


def test_refused_requests_are_counted_over_several_pages(cloud: LocalCloud, recover: Recover) -> None:
    for lane in ("full", "fast"):
        cloud.run({"operation": "charge-payment"}, lane=lane)  # type: ignore[arg-type]
    bucket = cloud.outputs["ResponseBucketName"]
    for n in range(3):
        cloud.client("s3").put_object(Bucket=bucket, Key=f"rejected/2199-01-01T00-00-00Z-{n}.json", Body=b"{}")
    cloud.client("s3").put_object(Bucket=bucket, Key="rejected/")  # as the S3 console makes a folder
    with cloud.intercept(in_pages_of(2, "MaxKeys")):
        counted = published(cloud, recover)
    cloud.client("s3").delete_object(Bucket=bucket, Key="rejected/")
    assert counted["RejectedRequests"] == 5


def _largest(operation: str, what: str) -> dict[str, Any]:
    """The largest payload that is accepted, and no field that can be left out."""
    payload: dict[str, Any] = {"return": 1, "x": ""}
    text = json.dumps(payload, separators=(",", ":"))
    payload["x"] = {
        "bytes": "x" * (180_000 - len(text)),
        "quotes": '"' * ((220_000 - len(json.dumps([text]))) // 4),
        "values": [1] * 1_998,
    }[what]
    return {"operation": operation, "idempotencyKey": "k", "payload": payload}


@pytest.mark.parametrize("what", ["bytes", "quotes", "values"])
def test_what_was_accepted_at_a_limit_is_not_refused_by_its_recovery(
    cloud: LocalCloud, plain: str, recover: Recover, what: str
) -> None:
    """A kept request names its tenant, and one that is handed over its policies, too: neither counts."""
    request = _largest(plain, what)
    died(cloud, request, "fast")
    recover()
    assert (record_of(cloud, request)["status"], cloud.rejected()) == ("COMPLETED", [])
    other = request | {"idempotencyKey": "other"}
    with cloud.intercept(never_arrives(state="AcquireLock", nth=range(1, 6))):
        assert run(cloud, other, "fast").status == "SUCCEEDED"
    assert (record_of(cloud, other)["status"], cloud.rejected()) == ("COMPLETED", [])
