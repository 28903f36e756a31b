"""What a state machine cannot read back: inputs as they were sent, histories with parameters, services out of reach."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from latches import Latches
from scenario import A_LEASE, by_recovery, cause, charge, dead, dies, record_of, result, scripted

from oncekit.local import Execution, LocalCloud
from oncekit.local.faults import answers, fails

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


def test_live_owner_whose_request_cannot_be_read_back_is_left_alone(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    request = scripted({"await": "go", "then": {"return": "mine"}})
    text = escaped(request)
    owner = start(cloud, text)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)
    sweep = cloud.client("stepfunctions").start_execution(
        stateMachineArn=cloud.outputs["RecoveryStateMachineArn"], name="sweep-over-a-live-owner", input="{}"
    )["executionArn"]
    assert cloud.wait(sweep).output["left"] == 1
    duplicate = cloud.wait(start(cloud, text, "duplicate"))
    assert duplicate.output["disposition"] == "IN_PROGRESS"
    latches.open("go")
    assert result(cloud, cloud.wait(owner)) == "mine"


def test_duplicate_takes_over_from_a_dead_owner_whose_request_cannot_be_read_back(
    cloud: LocalCloud, latches: Latches
) -> None:
    text = indented(scripted({"return": 1}))
    dead_in(cloud, text, "ExecuteBusinessLogic")
    cloud.clock.advance(A_LEASE)
    heir = cloud.wait(start(cloud, text, "heir"))
    assert (heir.error, heir.cause) == (None, None)
    assert "TakeOverLock" in heir.states
    assert heir.output["disposition"] == "EXECUTED"


def test_a_too_large_request_that_died_without_a_record_is_named(cloud: LocalCloud, recover: Recover) -> None:
    ended = dead_in(cloud, escaped(charge()), "AcquireLock")
    assert recover(ended).status == "SUCCEEDED"
    [kept] = cloud.rejected()
    assert (kept["error"], kept["executionArn"], kept["inputOmitted"]) == (
        "ExecutionDied",
        ended.arn,
        "read it from the execution",
    )
    assert "ABORTED before the request was taken up" in kept["message"]


@pytest.mark.parametrize(("request_", "states"), [({}, []), (charge(), ["ExecutionDied"])], ids=["refused", "died"])
def test_input_that_is_no_json_to_the_state_machine_is_told_by_its_history(
    cloud: LocalCloud, recover: Recover, request_: dict[str, Any], states: list[str]
) -> None:
    """A name that is there twice: whether it can be started with is not documented, and $parse does not take it."""
    with cloud.intercept(dies(cloud, "AcquireLock")):
        ended = cloud.run(request_)
    described = cloud.client("stepfunctions").describe_execution(executionArn=ended.arn)
    spoilt = {k: v for k, v in described.items() if k != "ResponseMetadata"} | {"input": '{"a": 1'}
    refused = len(cloud.rejected())
    with cloud.intercept(answers(spoilt, state="DescribeDeadExecution", nth=0)):
        swept = recover(ended)
    assert (swept.status, swept.states.count("DescribeDeadExecution")) == ("SUCCEEDED", 1)
    assert [each["error"] for each in cloud.rejected()[refused:]] == states


def test_history_whose_pages_are_too_large_is_read_event_by_event(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    request = scripted(
        {"raise": "Exception"}, {"raise": "Exception"}, {"await": "go", "then": {"return": 1}}, {"return": 5}
    )
    request["payload"]["bulk"] = "x" * 150_000
    arn = cloud.start(request)
    latches.wait_for_starts(3)
    recover(cloud.stop(arn))
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"]) == ("COMPLETED", 4)


def test_history_with_an_event_that_is_too_large_ends_in_quarantine(
    cloud: LocalCloud, latches: Latches, recover: Recover
) -> None:
    """CacheResponse is called with 100,000 quotes, and its parameters are text within text."""
    request = scripted({"repeat": '"', "times": 100_000})
    recover(dead(cloud, request, "Finalize"))
    assert record_of(cloud, request)["status"] == "COMPLETED"  # what comes after it can be read
    other = scripted({"repeat": '"', "times": 100_000})
    recover(dead(cloud, other, "CacheResponse"))
    record = record_of(cloud, other)
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "HistoryUnreadable")
    assert latches.starts() == 2


@pytest.mark.parametrize("state", ["ReadOwnerHistory", "CheckOwner"])
def test_recoveries_come_to_an_end_also_when_nothing_can_be_learnt_about_the_owner(
    cloud: LocalCloud, recover: Recover, state: str
) -> None:
    owner = dead(cloud, charge(), "ExecuteBusinessLogic")
    with cloud.intercept(fails("AccessDeniedException", state=state, nth=0)):
        recover(owner)
        for _ in range(8):
            cloud.clock.advance(A_LEASE)
            recover()
    record = record_of(cloud, charge())
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "RecoveriesUsedUp")
    assert record["recoveries"] == {"ReadOwnerHistory": 6, "CheckOwner": 7}[state]
    assert len(by_recovery(cloud)) == record["recoveries"]


@pytest.mark.parametrize("state", ["ListExecutions", "DescribeDeadExecution"])
def test_records_are_recovered_though_executions_cannot_be_looked_at(
    cloud: LocalCloud, recover: Recover, state: str
) -> None:
    dead(cloud, charge(), "ExecuteBusinessLogic")
    cloud.clock.advance(100)  # its lease is over, and it died lately
    with cloud.intercept(fails("ThrottlingException", state=state, nth=0)):
        swept = recover()
    assert swept.error == "RecoveryIncomplete"
    assert cause(swept)["recovered"] == 1
    assert record_of(cloud, charge())["status"] == "COMPLETED"


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
