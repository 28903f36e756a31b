"""Whatever stands in a record, only that record is touched, only its request is started, and an end has a name."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import odd
from hypothesis import example, given
from hypothesis import strategies as st
from odd import BUSINESS, ENDS, FUNCTION, OPERATION, REQUEST, cases, replying
from scenario import A_LEASE, dies, operations

from oncekit.contract.lanes import Lane
from oncekit.local import Execution, LocalCloud
from oncekit.local.account import ACCOUNT, REGION

LAWLESS = {"States.QueryEvaluationError", "States.DataLimitExceeded", "DynamoDB.AmazonDynamoDBException"}
LAWLESS |= {"DynamoDB.ConditionalCheckFailedException"}
"""What an execution may die of over a record that nobody of Once wrote."""
MINE, THEIRS = (hashlib.sha256(id.encode()).hexdigest() for id in (odd.id_of(REQUEST), f"other#{OPERATION}#theirs"))
KEPT = f"requests/{{}}/{OPERATION}/{{}}/1.json"
EXECUTIONS = f"arn:aws:states:{REGION}:{ACCOUNT}:execution"


def texts(*known: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(known).map(lambda text: {"S": text})


def digits(*known: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(known).map(lambda text: {"N": text})


anything = st.recursive(
    st.one_of(st.text(max_size=9).map(lambda text: {"S": text}), digits("0", "-1", "1", "0.5", "9007199254740993")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda items: {"L": items}),
        st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=3).map(lambda members: {"M": members}),
        st.sampled_from(({"NULL": True}, {"BOOL": True}, {"B": b"\xff"}, {"SS": ["a", "\x1b"]}, {"NS": ["1", "2"]})),
    ),
    max_leaves=4,
)
references = st.builds(
    lambda bucket, key: {"M": {"bucket": {"S": bucket}, "key": {"S": key}, "sha256": {"S": "0"}, "bytes": {"N": "1"}}},
    st.sampled_from(("once-responsebucket", "another-bucket")),
    st.sampled_from((KEPT.format("acme", MINE), KEPT.format("other", THEIRS), f"responses/acme/{MINE}/1", "")),
)
likely: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "status": texts("IN_PROGRESS", "COMPLETED", "FAILED", "QUARANTINED", "GONE"),
    "owner": texts(f"{EXECUTIONS}:Other:theirs", "operator-x", f"{EXECUTIONS}:none:none"),
    "leaseExpiresAt": digits("0", "1767225599", "99999999999"),
    "openShard": texts("IN_PROGRESS#0", "QUARANTINED#f"),
    **dict.fromkeys(("fence", "attempts", "recoveries"), digits("0", "1", "2", "6", "100", "-1")),
    **dict.fromkeys(("resultRef", "requestRef"), references),
    **dict.fromkeys(("expiresAt", "acquiredAt", "finishedAt", "fingerprint", "result", "error"), anything),
    **dict.fromkeys(("onCrash", "steps", "request"), anything),
}
"""Of the right type and somebody else's, or anything; by attribute."""
INDEXED = ("openShard", "leaseExpiresAt")
"""DynamoDB takes no other type in a key of an index."""


@st.composite
def spoilt(draw: st.DrawFn) -> dict[str, Any]:
    """What stands there afterwards, by attribute; None where nothing does."""
    found = draw(st.lists(st.sampled_from(sorted(likely)), min_size=1, max_size=3, unique=True))
    ways = {name: [likely[name], st.none(), *([] if name in INDEXED else [anything])] for name in found}
    return {name: draw(st.one_of(ways[name])) for name in found}


ended = {
    "completed": replying(lambda _event: {"paid": 1}),
    "failed": replying(lambda _event: {"errorType": "PermanentError"}, failed=True),
    "quarantined": replying(lambda _event: {"errorType": "NeedsAttention"}, failed=True),
}


@cases(30)
@given(
    status=st.sampled_from((*ended, "dead")),
    odd_ones=spoilt(),
    lane=st.sampled_from(("full", "fast")),
    wait=st.booleans(),
)
@example(status="dead", odd_ones={"owner": {"S": "operator-x"}, "fence": {"S": "1"}}, lane="full", wait=True)
@example(status="quarantined", odd_ones={"requestRef": {"M": {}}, "status": {"S": "GONE"}}, lane="fast", wait=False)
def test_odd_record_harms_its_own_request_alone(
    cloud: LocalCloud, status: str, odd_ones: dict[str, Any], lane: Lane, wait: bool
) -> None:
    cloud.reset()
    cloud.add_function(OPERATION, FUNCTION)
    with cloud.intercept(ended.get(status) or dies(cloud, BUSINESS)):
        cloud.run(REQUEST)
    theirs = {"tenant": "other", "operation": OPERATION, "idempotencyKey": "theirs", "payload": {}}
    bucket = cloud.resources["ResponseBucket"]
    cloud.client("s3").put_object(Bucket=bucket, Key=KEPT.format("other", THEIRS), Body=json.dumps(theirs))
    spoil(cloud, odd_ones)
    if wait:
        cloud.clock.advance(A_LEASE)
    ends = [cloud.run({**REQUEST, "onFailed": "retry"}, lane=lane), sweep(cloud), cloud.run(REQUEST, lane=lane)]
    for each in (ends[0], ends[2]):
        assert each.status != "RUNNING" and each.error in ENDS | LAWLESS, (each.error, each.cause)
    odd.assert_touched_only(cloud, REQUEST)


def spoil(cloud: LocalCloud, odd_ones: dict[str, Any]) -> None:
    table = cloud.resources["IdempotencyTable"]
    [item] = cloud.client("dynamodb").scan(TableName=table)["Items"]
    left = {name: value for name, value in {**item, **odd_ones}.items() if value is not None}
    cloud.client("dynamodb").put_item(TableName=table, Item=left)


def sweep(cloud: LocalCloud) -> Execution:
    """A sweep, and what it started, to their ends."""
    machine = cloud.outputs["RecoveryStateMachineArn"]
    ended = cloud.wait(cloud.start_machine(machine, "{}", "sweep"))
    for each in operations(cloud):
        cloud.wait(each.arn)
    return ended
