"""What a state machine cannot read back: inputs as they were sent, histories with parameters, services out of reach."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from latches import Latches
from scenario import A_LEASE, charge, dead, dies, record_of, scripted

from oncekit.local import Execution, LocalCloud

Recover = Callable[..., Execution]
LIMIT = 262_144


def escaped(request: dict[str, Any]) -> str:
    """The request as `json.dumps` writes it: 38,000 Japanese characters are 228,000 bytes, and more once quoted."""
    return json.dumps(request | {"payload": request["payload"] | {"note": "日" * 38_000}})


def indented(request: dict[str, Any]) -> str:
    """A small request with 255 KB of spaces and line breaks."""
    text = json.dumps(request, indent=2)
    return text.replace("\n", "\n" * 200_000, 1).replace("  ", " " * 6_000, 9)[:-1] + "}"


SENT = pytest.mark.parametrize("sent", [escaped, indented])


def start(cloud: LocalCloud, text: str, name: str = "large") -> str:
    arn: str = cloud.client("stepfunctions").start_execution(
        stateMachineArn=cloud.outputs["StateMachineArn"], name=name, input=text
    )["executionArn"]
    return arn


def dead_in(cloud: LocalCloud, text: str, state: str) -> Execution:
    assert len(text.encode()) <= LIMIT < len(json.dumps(text))
    with cloud.intercept(dies(cloud, state)):
        return cloud.wait(start(cloud, text))


@SENT
def test_request_whose_text_is_too_large_to_be_read_back_is_executed(
    cloud: LocalCloud, latches: Latches, sent: Callable[[dict[str, Any]], str]
) -> None:
    assert cloud.wait(start(cloud, sent(scripted({"return": 1})))).output["disposition"] == "EXECUTED"


@SENT
def test_dead_owner_whose_request_cannot_be_read_back_ends_in_quarantine(
    cloud: LocalCloud, recover: Recover, sent: Callable[[dict[str, Any]], str]
) -> None:
    owner = dead_in(cloud, sent(charge()), "ExecuteBusinessLogic")
    assert recover(owner).status == "SUCCEEDED"
    assert record_of(cloud, charge())["status"] == "IN_PROGRESS"  # who it was for is not known until the sweep
    cloud.clock.advance(A_LEASE)
    assert recover().status == "SUCCEEDED"
    record = record_of(cloud, charge())
    assert (record["status"], record["error"]["name"], record["owner"]) == (
        "QUARANTINED",
        "RequestUnreadable",
        owner.arn,
    )
    assert owner.arn in record["error"]["message"]
    assert recover().output["metrics"][2] == {"name": "QuarantinedOperations", "value": 1}
    assert cloud.rejected() == []


def test_one_shard_that_cannot_be_read_does_not_keep_the_others_from_being_swept(
    cloud: LocalCloud, recover: Recover
) -> None:
    dead(cloud, charge(), "ExecuteBusinessLogic")
    shard = record_of(cloud, charge())["openShard"]
    cloud.clock.advance(A_LEASE)

    def unlucky(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == "QueryShard" and call.parameters["ExpressionAttributeValues"][":shard"]["S"] != shard:
            raise ConnectionError
        return proceed()

    with cloud.intercept(unlucky):
        assert recover().error == "RecoveryIncomplete"
    assert record_of(cloud, charge())["status"] == "COMPLETED"


@pytest.mark.parametrize(
    "filling", ["\0" * 250, "\U0001f600" * 250, "é" * 980, "\0" * 1_960], ids=["NUL", "emoji", "other", "all there is"]
)
def test_sweep_carries_the_longest_keys_there_are(cloud: LocalCloud, recover: Recover, filling: str) -> None:
    """A byte of a key takes six once it is quoted; 160 records that nobody's request would have got today."""
    ids = ids_in_every_shard(10, filling)
    owner = f"{cloud.outputs['StateMachineArn'].replace(':stateMachine:', ':execution:')}:none"
    write(cloud, ({"PutRequest": {"Item": overdue(id, shard, owner)}} for id, shard in ids))
    swept = recover()
    assert swept.status == "SUCCEEDED", swept.cause
    assert (swept.output["left"], swept.output["isComplete"]) == (160, True)
    pages = 1 + 10 if filling == "\0" * 1_960 else 4
    assert swept.states.count("QueryShards") == pages, "too much for the Map is asked for again, one at a time"
    write(cloud, ({"DeleteRequest": {"Key": {"id": {"S": id}}}} for id, _ in ids))


def write(cloud: LocalCloud, requests: Iterable[dict[str, Any]]) -> None:
    """As many at a time as DynamoDB takes."""
    table, left = cloud.resources["IdempotencyTable"], list(requests)
    for first in range(0, len(left), 25):
        cloud.client("dynamodb").batch_write_item(RequestItems={table: left[first : first + 25]})


def ids_in_every_shard(count: int, filling: str) -> list[tuple[str, str]]:
    found: dict[str, list[str]] = {shard: [] for shard in "0123456789abcdef"}
    for n in itertools.count():
        id = f"{'t' * 40}#{'o' * 40}#{n:06}" + filling
        found[hashlib.sha256(id.encode()).hexdigest()[0]].append(id)
        if min(map(len, found.values())) >= count:
            return [(id, shard) for shard, ids in found.items() for id in ids[:count]]
    raise AssertionError


def overdue(id: str, shard: str, owner: str) -> dict[str, Any]:
    """A record of an owner that nobody knows any more."""
    texts = {
        "id": id,
        "status": "IN_PROGRESS",
        "owner": owner,
        "fingerprint": "f",
        "onCrash": "retry",
        "acquiredAt": "2026-01-01T00:00:00.000Z",
        "openShard": f"IN_PROGRESS#{shard}",
    }
    numbers = {"fence": "1", "attempts": "1", "leaseExpiresAt": "1"}
    return {name: {"S": each} for name, each in texts.items()} | {name: {"N": each} for name, each in numbers.items()}
