"""What a record names is not followed where it is not its own: a function with fenced steps can write any record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from operating import ID, Operator, put

BUCKET = "company-backups"
VICTIM = {
    "operation": "charge-payment",
    "tenant": "victim",
    "idempotencyKey": "forged",
    "payload": {"orderId": "1", "amount": 99, "currency": "EUR"},
}
VICTIMS_ID = "victim#charge-payment#forged"
OWN = f"requests/default/{hashlib.sha256(ID.encode()).hexdigest()}/"
COMMANDS = {
    "retry": ("retry", ID),
    "resolve": ("resolve", ID, "--failed", "gone"),
    "release": ("release", ID, "--yes"),
}


@pytest.fixture
def backups(operator: Operator) -> Iterator[Any]:
    """A bucket of somebody else, with the victim's request in it."""
    s3 = operator.cloud.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="2026/db.json", Body=json.dumps(VICTIM))
    yield s3
    for bucket in (BUCKET, operator.cloud.outputs["ResponseBucketName"]):
        for each in s3.list_objects_v2(Bucket=bucket).get("Contents", ()):
            s3.delete_object(Bucket=bucket, Key=each["Key"])
    s3.delete_bucket(Bucket=BUCKET)


def objects(operator: Operator, bucket: str) -> dict[str, str]:
    """What each object was last written as."""
    listed = operator.cloud.client("s3").list_objects_v2(Bucket=bucket).get("Contents", ())
    return {each["Key"]: each["ETag"] for each in listed}


def places(operator: Operator) -> dict[str, dict[str, Any]]:
    ours = operator.cloud.outputs["ResponseBucketName"]
    return {
        "another bucket": {"bucket": BUCKET, "key": f"{OWN}1.json"},
        "another tenant": {"bucket": ours, "key": OWN.replace("default", "victim") + "1.json"},
        "a way out": {"bucket": ours, "key": f"{OWN}../../victim/1.json"},
        "no key": {"bucket": ours},
    }


def forge(operator: Operator, place: dict[str, Any]) -> dict[str, dict[str, str]]:
    """A quarantined record that names an object of somebody else; that object, and all others that are not its own."""
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()
    if isinstance(place.get("key"), str) and "bucket" in place:
        operator.cloud.client("s3").put_object(Bucket=place["bucket"], Key=place["key"], Body=json.dumps(VICTIM))
    operator.change({"requestRef": place})
    return others(operator)


def others(operator: Operator) -> dict[str, dict[str, str]]:
    buckets = (BUCKET, operator.cloud.outputs["ResponseBucketName"])
    found = {bucket: objects(operator, bucket) for bucket in buckets}
    own = (f"{OWN}1.json", OWN.replace("requests/", "inflight/"))  # the second is where a retry keeps it for recovery
    found[buckets[1]] = {key: each for key, each in found[buckets[1]].items() if not key.startswith(own)}
    return found


@pytest.mark.parametrize("place", ["another bucket", "another tenant", "a way out", "no key"])
def test_an_object_of_somebody_else_is_neither_started_nor_deleted(
    operator: Operator, backups: Any, place: str
) -> None:
    before = forge(operator, places(operator)[place])
    operator.execution(operator.once(*COMMANDS["retry"], "--json"))
    assert others(operator) == before
    assert operator.cloud.record(VICTIMS_ID) is None
    assert (operator.record["status"], operator.starts) == ("COMPLETED", 2)


def test_show_reads_nothing_of_somebody_elses_and_shows_its_own_request(operator: Operator, backups: Any) -> None:
    forge(operator, {"bucket": BUCKET, "key": "2026/db.json"})
    seen: list[str] = []
    operator.before("GetObject", lambda: seen.append("read"))
    shown = operator.once("show", ID, "--json").answer
    assert shown["request"] == operator.request() and seen == []
    operator.change({"owner": operator.record["owner"] + "-gone"})
    missing = operator.once("show", ID, "--json").answer
    assert missing["request"] is None and "none of its own" in missing["requestMissing"]
    assert "victim" not in json.dumps(missing)


def test_kept_request_of_another_id_in_the_right_place_is_not_started(operator: Operator, backups: Any) -> None:
    forge(operator, {"bucket": operator.cloud.outputs["ResponseBucketName"], "key": f"{OWN}7.json"})
    operator.change({"owner": operator.record["owner"] + "-gone"})
    done = operator.once("retry", ID)
    assert done.code == 2 and f"another request: {VICTIMS_ID}" in done.err
    assert operator.cloud.record(VICTIMS_ID) is None and operator.record["status"] == "QUARANTINED"


def test_an_owner_that_works_for_another_id_is_neither_started_again_nor_waited_for(operator: Operator) -> None:
    operator.quarantined_by_another()
    operator.forget_kept()
    operator.script({"await": "go", "return": 1})
    running = operator.cloud.start({**operator.request(), "idempotencyKey": "other"})
    operator.change({"owner": running})
    record = operator.record
    done = operator.once("retry", ID)
    assert done.code == 2 and "its request is" in done.err and operator.record == record
    shown = operator.once("show", ID, "--json").answer
    assert (shown["ownerStatus"], shown["execution"], shown["request"]) == ("GONE", None, None)
    done = operator.once("release", ID, "--yes")
    operator.open("go")
    assert done.code == 0, done.err
    assert operator.cloud.wait(running).status == "SUCCEEDED"


@pytest.mark.parametrize("owner", ["arn:aws:states:us-east-1:999999999999:execution:Payroll:x", "no ARN"])
def test_an_owner_out_of_this_stack_is_not_even_asked_after(operator: Operator, owner: str) -> None:
    put(operator, ID, "QUARANTINED", 5, owner={"S": owner}, error=operator.unreadable())
    asked: list[str] = []
    for call in ("DescribeExecution", "GetExecutionHistory"):
        operator.before(call, lambda call=call: asked.append(call))  # type: ignore[misc]
    for command in (("show", ID), ("retry", ID), ("release", ID, "--yes")):
        operator.once(*command)
    assert asked == []
    assert operator.record["error"]["name"] == "ReleasedByOperator"


@pytest.mark.parametrize(
    ("name", "value"), [("fence", {"S": "1"}), ("owner", {"NULL": True}), ("acquiredAt", {"M": {}})]
)
def test_a_record_that_once_did_not_write_is_refused_listed_as_odd_and_left_alone(
    operator: Operator, name: str, value: dict[str, Any]
) -> None:
    put(operator, ID, "QUARANTINED", 1, **{name: value})
    before = operator.item
    for command, *options in (("show",), *((each[0], *each[2:]) for each in COMMANDS.values())):
        done = operator.once(command, ID, *options)
        assert done.code == 2 and "not in the form that Once writes" in done.err and len(done.err.splitlines()) == 1
    assert operator.item == before
    [row] = operator.once("ls", "--json").answer["operations"]
    assert (row["id"], row["status"], row["error"]["name"]) == (ID, "QUARANTINED", "OddRecord")
