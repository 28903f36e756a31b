"""A sweep reaches what can be started behind what cannot, and publishes its counts, whatever hangs."""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from latches import Latches
from scenario import id_of, operations, record_of, scripted

from oncekit.gate.machine import Machine
from oncekit.local import Execution, LocalCloud
from oncekit.local.client_errors import client_error
from oncekit.local.deployment.deploy import rendered_definitions
from oncekit.local.engine.service_calls import Call, Interceptor

Recover = Callable[[], Execution]
Proceed = Callable[[], dict[str, Any]]
SHARD = "7"
MINUTE = 60


@pytest.fixture(autouse=True)
def invariants() -> None:
    """Not held here: records are written by hand, as a function with steps could write them."""


@pytest.fixture(scope="module")
def definition() -> dict[str, Any]:
    return rendered_definitions(Path(__file__).parents[2] / "template.yaml")["recovery"]


@pytest.fixture(scope="module")
def timeouts(definition: dict[str, Any]) -> dict[str, float]:
    """How long each call of a sweep may take."""
    return {task.name: task.raw["TimeoutSeconds"] for task in Machine("recovery", definition, "EXPRESS").tasks()}


_keys = (f"key-{n}" for n in itertools.count())


def in_shard() -> Iterator[dict[str, Any]]:
    """Requests whose records are in one shard of the index."""
    for key in _keys:
        request = scripted({"return": 1}, key=key)
        if hashlib.sha256(id_of(request).encode()).hexdigest()[0] == SHARD:
            yield request


def is_of_shard(call: Call) -> bool:
    return bool(call.parameters["ExpressionAttributeValues"][":shard"]["S"].endswith(f"#{SHARD}"))


def left_open(cloud: LocalCloud, asked: dict[str, Any], overdue: int, *, is_large: bool = False, **more: Any) -> None:
    """A record whose owner, in the fast lane, has died; its lease is over for so many seconds."""
    hashed = hashlib.sha256(id_of(asked).encode()).hexdigest()
    key = f"requests/default/{asked['operation']}/{hashed}/x.json"
    ref = {"bucket": {"S": cloud.outputs["ResponseBucketName"]}, "key": {"S": key}}
    kept = {"tenant": "default", **asked}
    item = {
        "id": {"S": id_of(asked)},
        "status": {"S": "IN_PROGRESS"},
        "owner": {"S": "arn:aws:states:eu-west-1:123456789012:express:once-FastStateMachine:x:x:n"},
        "fence": {"N": "1"},
        "attempts": {"N": "1"},
        "fingerprint": {"S": "0" * 64},
        "onCrash": {"S": "retry"},
        "acquiredAt": {"S": "2026-01-01T00:00:00.000Z"},
        "leaseExpiresAt": {"N": str(int(cloud.clock.now()) - overdue)},
        "openShard": {"S": f"IN_PROGRESS#{hashed[0]}"},
        **({"requestRef": {"M": ref}} if is_large else {"request": {"S": json.dumps(kept)}}),
        **more,
    }
    cloud.client("dynamodb").put_item(TableName=cloud.outputs["TableName"], Item=item)


class Sweeps:
    """What sweeps start and publish, while some of their calls go wrong."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud = cloud
        self.started: list[str] = []
        """Keys of requests."""
        self.published: list[dict[str, float]] = []

    def __call__(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.state == "StartRecovery":
            self.started.append(json.loads(call.parameters["input"])["idempotencyKey"])
            return {"executionArn": "started", "startDate": 0}
        if call.action == "put_metric_data":
            self.published.append({each["MetricName"]: each["Value"] for each in call.parameters["MetricData"]})
        return proceed()

    def slowly(self, seconds: Callable[[Call], float], error: Callable[[Call], Exception | None]) -> Interceptor:
        """Each call takes so many seconds, and may end in an error."""

        def strike(call: Call, proceed: Proceed) -> dict[str, Any]:
            self.cloud.clock.sleep(seconds(call))
            if failed := error(call):
                raise failed
            return proceed()

        return strike


@pytest.fixture
def sweeps(cloud: LocalCloud, latches: Latches) -> Sweeps:
    return Sweeps(cloud)


def at_minute(cloud: LocalCloud, parity: int) -> None:
    """Move on to the next even minute, or the next odd one."""
    now = cloud.clock.now()
    wanted = (now // MINUTE + 1) * MINUTE
    wanted += MINUTE if wanted // MINUTE % 2 != parity else 0
    cloud.clock.advance(wanted - now)  # type: ignore[attr-defined]  # the clock of tests is virtual


def refused(call: Call) -> Exception:
    return client_error("AccessDenied", "AccessDenied", call.action, 403)


# ---- behind what cannot be started ----


@pytest.mark.parametrize(("count", "seconds", "error"), [(20, 10, TimeoutError), (200, 0.05, None)])
def test_large_requests_that_cannot_be_read_hold_up_no_small_ones(
    cloud: LocalCloud, sweeps: Sweeps, recover: Recover, count: int, seconds: float, error: type[Exception] | None
) -> None:
    requests = in_shard()
    for n, request in enumerate(itertools.islice(requests, count)):
        left_open(cloud, request, 1000 - n, is_large=True)
    left_open(cloud, small := next(requests), 5)
    at_minute(cloud, 0)
    slow = sweeps.slowly(
        lambda call: seconds if call.state == "ReadKeptRequest" else 0,
        lambda call: (error() if error else refused(call)) if call.state == "ReadKeptRequest" else None,
    )
    with cloud.intercept(slow, sweeps):
        recover()
    assert sweeps.started == [small["idempotencyKey"]] and len(sweeps.published) == 1


@pytest.mark.usefixtures("each_reading")
@pytest.mark.parametrize("text", ["x" * 270_000, '"' * 200_000], ids=["as a result", "as an argument"])
def test_a_record_that_no_state_can_hold_ends_no_sweep(
    cloud: LocalCloud, sweeps: Sweeps, recover: Recover, text: str
) -> None:
    requests = in_shard()
    left_open(cloud, next(requests), 1000, request={"S": text})
    left_open(cloud, good := next(requests), 5)
    with cloud.intercept(sweeps):
        recover()
    assert sweeps.started == [good["idempotencyKey"]] and len(sweeps.published) == 1


@pytest.mark.parametrize("is_oldest", [False, True])
def test_more_bad_records_than_a_sweep_can_try_hold_up_a_request_for_one_sweep_only(
    cloud: LocalCloud, sweeps: Sweeps, recover: Recover, timeouts: dict[str, float], *, is_oldest: bool
) -> None:
    """Each is as slow as a call may be, so that few are more than a sweep has time for."""
    requests = in_shard()
    bad = {request["idempotencyKey"] for request in itertools.islice(requests, 41) if not left_open(cloud, request, 90)}
    left_open(cloud, good := next(requests), 1000 if is_oldest else 5)

    def is_bad(call: Call) -> bool:
        return call.state == "StartRecovery" and json.loads(call.parameters["input"])["idempotencyKey"] in bad

    slow = sweeps.slowly(
        lambda call: timeouts[call.state] if is_bad(call) else 0, lambda call: refused(call) if is_bad(call) else None
    )
    with cloud.intercept(slow, sweeps):
        for parity in (0, 1):
            at_minute(cloud, parity)
            recover()
    assert sweeps.started == [good["idempotencyKey"]]


def test_small_requests_that_cannot_be_started_leave_time_for_large_ones(
    cloud: LocalCloud, sweeps: Sweeps, recover: Recover, timeouts: dict[str, float]
) -> None:
    requests = in_shard()
    small = {
        request["idempotencyKey"] for request in itertools.islice(requests, 41) if not left_open(cloud, request, 90)
    }
    left_open(cloud, large := next(requests), 5, is_large=True)
    body = json.dumps({**large, "tenant": "default"})
    key = record_of(cloud, large)["requestRef"]["key"]
    cloud.client("s3").put_object(Bucket=cloud.outputs["ResponseBucketName"], Key=key, Body=body)

    def is_small(call: Call) -> bool:
        return call.state == "StartRecovery" and json.loads(call.parameters["input"])["idempotencyKey"] in small

    slow = sweeps.slowly(
        lambda call: timeouts[call.state] if is_small(call) else 0,
        lambda call: TimeoutError() if is_small(call) else None,
    )
    at_minute(cloud, 0)
    with cloud.intercept(slow, sweeps):
        recover()
    assert sweeps.started == [large["idempotencyKey"]]


@pytest.mark.parametrize("fence", ["", "-1", "1.5"])
def test_a_record_that_a_function_forged_starts_no_request_as_a_new_one(
    cloud: LocalCloud, latches: Latches, recover: Recover, fence: str
) -> None:
    """A name that is not a recovery's would let it take a free lock: of any operation, for any tenant."""
    forged, another = itertools.islice(in_shard(), 2)
    left_open(cloud, forged, 5)
    table, key = cloud.outputs["TableName"], {"id": {"S": id_of(forged)}}
    item = cloud.client("dynamodb").get_item(TableName=table, Key=key)["Item"]
    item["request"] = {"S": json.dumps({**another, "tenant": "another"})}
    item["fence"] = {"N": fence}
    if not fence:
        del item["fence"]
    cloud.client("dynamodb").put_item(TableName=table, Item=item)
    swept = recover()
    assert (latches.starts(), cloud.record(f"another#scripted#{another['idempotencyKey']}")) == (0, None)
    assert swept.error == "RecoveryIncomplete"


# ---- within its time ----


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("hangs", [True, False])
def test_a_sweep_publishes_and_ends_in_its_time_whatever_hangs(
    cloud: LocalCloud,
    sweeps: Sweeps,
    recover: Recover,
    definition: dict[str, Any],
    timeouts: dict[str, float],
    *,
    hangs: bool,
    is_large: bool,
) -> None:
    """Or each call answers only just in time, and refused requests come in pages without an end."""
    for n, request in enumerate(itertools.islice(in_shard(), 61)):
        left_open(cloud, request, 1000 - n, is_large=is_large)

    def endless(call: Call, proceed: Proceed) -> dict[str, Any]:
        answer = proceed()
        is_page = call.state == "CountRejected"
        return answer | {"IsTruncated": True, "NextContinuationToken": "more"} if is_page else answer

    def hanging(call: Call) -> Exception | None:
        # Else nothing would be found that hangs behind it.
        is_found = call.state in ("FindOverdue", "ReadOpenRecord", "PublishMetrics")
        return TimeoutError() if hangs and not is_found else None

    slow = sweeps.slowly(
        lambda call: 0 if call.state == "PublishMetrics" else timeouts[call.state] - 0.1,
        hanging,
    )
    began = cloud.clock.now()
    with cloud.intercept(slow, sweeps, endless):
        recover()
    assert len(sweeps.published) == 1
    assert cloud.clock.now() - began < definition["TimeoutSeconds"]


@pytest.mark.parametrize(
    ("state", "shard", "unknown"),
    [
        ("CountShard", "", {"OpenOperations", "OverdueOperations", "QuarantinedOperations"}),
        ("CountShard", f"QUARANTINED#{SHARD}", {"QuarantinedOperations"}),
        ("CountRejected", "", {"RejectedRequests"}),
    ],
)
def test_a_number_that_could_not_be_counted_is_not_published_and_all_others_are(
    cloud: LocalCloud, sweeps: Sweeps, recover: Recover, state: str, shard: str, unknown: set[str]
) -> None:
    """0 would end an alarm."""

    def is_bad(call: Call) -> bool:
        return call.state == state and shard in json.dumps(call.parameters)

    with cloud.intercept(sweeps):
        recover()
    with cloud.intercept(sweeps.slowly(lambda _: 0, lambda call: refused(call) if is_bad(call) else None), sweeps):
        swept = recover()
    before, after = sweeps.published
    assert set(before) - set(after) == unknown
    assert swept.error == "RecoveryIncomplete"


@pytest.mark.parametrize("endless", ["FindOverdue", "CountRejected"])
def test_pages_that_never_end_end_a_sweep_no_later_than_its_time(
    cloud: LocalCloud, sweeps: Sweeps, recover: Recover, definition: dict[str, Any], endless: str
) -> None:
    """What is on the first one is started all the same, and all numbers are published."""
    left_open(cloud, overdue := next(in_shard()), 5)
    key = {"id": {"S": "x"}, "openShard": {"S": "x"}, "leaseExpiresAt": {"N": "1"}}
    pages = 0

    def more(call: Call, proceed: Proceed) -> dict[str, Any]:
        nonlocal pages
        if call.state != endless or (endless == "FindOverdue" and not is_of_shard(call)):
            return proceed()
        pages += 1
        if endless == "CountRejected":
            return {"KeyCount": 200, "IsTruncated": True, "NextContinuationToken": "more"}
        cloud.clock.sleep(3)
        return ({"Items": []} if "ExclusiveStartKey" in call.parameters else proceed()) | {"LastEvaluatedKey": key}

    began = cloud.clock.now()
    with cloud.intercept(more, sweeps):
        assert recover().status == "SUCCEEDED"
    [published] = sweeps.published
    assert (sweeps.started, len(published)) == ([overdue["idempotencyKey"]], 5)
    assert cloud.clock.now() - began < definition["TimeoutSeconds"]
    assert endless != "CountRejected" or (published["RejectedRequests"], pages) == (10_000, 50)


# ---- each shard ----

SHARDS = "0123456789abcdef"


def one_in_each_shard() -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    while len(found) < len(SHARDS):
        request = scripted({"return": 1}, key=next(_keys))
        found.setdefault(hashlib.sha256(id_of(request).encode()).hexdigest()[0], request)
    return [found[each] for each in SHARDS]


def test_one_operation_in_each_shard_is_counted_and_recovered(
    cloud: LocalCloud, sweeps: Sweeps, recover: Recover
) -> None:
    """A lease that ends in this second is not over."""
    overdue, live, quarantined = (one_in_each_shard() for _ in range(3))
    for request in (*overdue, *live):
        left_open(cloud, request, 5 if request in overdue else 0)
    for shard, request in zip(SHARDS, quarantined, strict=True):
        status = {"status": {"S": "QUARANTINED"}, "openShard": {"S": f"QUARANTINED#{shard}"}}
        left_open(cloud, request, 5, **status)
    with cloud.intercept(sweeps):
        assert recover().output["recovered"] == 16
    assert set(sweeps.started) == {each["idempotencyKey"] for each in overdue}
    assert sweeps.published == [
        {
            "OpenOperations": 32,
            "OverdueOperations": 16,
            "QuarantinedOperations": 16,
            "RecoveredOperations": 16,
            "RejectedRequests": 0,
        }
    ]


def test_what_ended_or_went_on_since_the_index_was_written_is_left_alone(
    cloud: LocalCloud, sweeps: Sweeps, recover: Recover
) -> None:
    """An index may be out of date by as long as it likes; here it is a minute older than the table."""
    gone, completed, quarantined, goes_on, overdue = itertools.islice(in_shard(), 5)
    for request in (gone, completed, quarantined, goes_on, overdue):
        left_open(cloud, request, 5)
    client, table = cloud.client("dynamodb"), cloud.outputs["TableName"]
    old: list[dict[str, Any]] = []

    def a_minute_older(call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.state != "FindOverdue" or not is_of_shard(call):
            return proceed()
        if not old:
            old.append(proceed())
            cloud.clock.sleep(MINUTE)
            ended = {"expiresAt": {"N": str(int(cloud.clock.now()) + 900)}, "status": {"S": "COMPLETED"}}
            status = {"status": {"S": "QUARANTINED"}, "openShard": {"S": f"QUARANTINED#{SHARD}"}}
            client.delete_item(TableName=table, Key={"id": {"S": id_of(gone)}})
            left_open(cloud, completed, 5, **ended)
            left_open(cloud, quarantined, 5, **status)
            left_open(cloud, goes_on, 0)
        return old[0]

    with cloud.intercept(a_minute_older, sweeps):
        swept = recover()
    assert (swept.status, swept.output["recovered"]) == ("SUCCEEDED", 1)
    assert sweeps.started == [overdue["idempotencyKey"]]


@pytest.mark.parametrize("state", ["ReadOpenRecord", "StartRecovery"])
def test_a_record_or_a_start_that_is_refused_is_told_and_stops_no_other(
    cloud: LocalCloud, sweeps: Sweeps, recover: Recover, state: str
) -> None:
    good, bad, last = itertools.islice(in_shard(), 3)
    for request in (good, bad, last):
        left_open(cloud, request, 5)

    def is_bad(call: Call) -> bool:
        return call.state == state and bad["idempotencyKey"] in json.dumps(call.parameters)

    refusing = sweeps.slowly(lambda _: 0, lambda call: refused(call) if is_bad(call) else None)
    with cloud.intercept(refusing, sweeps):
        swept = recover()
    assert set(sweeps.started) == {good["idempotencyKey"], last["idempotencyKey"]}
    assert (swept.error, json.loads(swept.cause or "{}")["failed"]) == ("RecoveryIncomplete", 1)
    [published] = sweeps.published
    assert published["RecoveredOperations"] == 2


# ---- many deaths at once ----


class Describing:
    """DescribeExecution of owners that have died, throttled as AWS does it: so many at once, so many a second."""

    def __init__(self, cloud: LocalCloud, burst: float, rate: float) -> None:
        self._cloud, self._left, self._burst, self._rate = cloud, burst, burst, rate
        self._at, self._lock = cloud.clock.now(), threading.Lock()

    def __call__(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.state != "CheckOwner":
            return proceed()
        with self._lock:
            now = self._cloud.clock.now()
            self._left, self._at = min(self._burst, self._left + (now - self._at) * self._rate), now
            if self._left < 1:
                raise client_error("ThrottlingException", "Rate exceeded", call.action, 400)
            self._left -= 1
        return {
            "executionArn": call.parameters["executionArn"],
            "status": "ABORTED",
            "stateMachineArn": "x",
            "startDate": 0,
        }


def test_many_deaths_in_the_full_lane_are_recovered_about_as_fast_as_aws_tells_of_them(
    cloud: LocalCloud,
    latches: Latches,
    recover: Recover,
) -> None:
    """A tenth of AWS's quota, and deaths that take it 80 seconds, asked by executions that all start at once."""
    sample = scripted({"return": 1}, key="sample")
    owner = cloud.run(sample).arn.rpartition(":")[0]
    fingerprint = record_of(cloud, sample)["fingerprint"]
    requests = [scripted({"return": 1}, key=f"mass-{n}") for n in range(150)]
    for n, request in enumerate(requests):
        left_open(cloud, request, 100, owner={"S": f"{owner}:dead-{n}"}, fingerprint={"S": fingerprint})
    began = cloud.clock.now()
    with cloud.intercept(Describing(cloud, 30, 1.5)):
        for minute in range(1, 30):
            recover()
            for each in operations(cloud):
                cloud.wait(each.arn)
            if all(record_of(cloud, request)["status"] == "COMPLETED" for request in requests):
                break
            cloud.clock.advance(max(0.0, began + minute * MINUTE - cloud.clock.now()))  # type: ignore[attr-defined]
    assert cloud.clock.now() - began <= 3 * (150 - 30) / 1.5
