"""The request that an open record keeps, and what a record names that is not its own: a function can write into it."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError
from operating import ID, Operator, put

SMALL, LARGE = {"a": 1}, {"a": "x" * 5000, "number": 0.30000000000000004}
"""Payloads whose request is kept in the record, and in the bucket."""
VICTIM = {"operation": "told", "tenant": "victim", "idempotencyKey": "k", "payload": {"a": 1}}


def quarantined(operator: Operator, payload: dict[str, Any], lane: Any = "full") -> dict[str, Any]:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.cloud.run(operator.request() | {"payload": payload}, lane=lane)
    assert operator.record["status"] == "QUARANTINED"
    return operator.record


def shown(operator: Operator) -> dict[str, Any]:
    answer: dict[str, Any] = operator.once("show", ID, "--json").answer
    return answer


@pytest.mark.parametrize("lane", ["full", "fast"])
@pytest.mark.parametrize("payload", [SMALL, LARGE], ids=["in the record", "in the bucket"])
def test_kept_request_is_shown_with_its_place_and_started_unchanged(
    operator: Operator, payload: dict[str, Any], lane: str
) -> None:
    quarantined(operator, payload, lane)
    told = shown(operator)
    assert told["request"]["payload"] == payload and "onCrash" not in told["request"]
    assert f"  kept        {told['requestKept']}\n" in operator.once("show", ID).out
    if payload is SMALL:
        assert told["requestKept"].startswith("in the record")
    else:
        [until] = re.findall(r"in the bucket until (\S+): s3://\S+/requests/default/\S+\.json", told["requestKept"])
        assert datetime.date.fromisoformat(until) == as_the_rule_says(operator)
    started = operator.execution(operator.once("retry", ID, "--json"))
    assert json.loads(operator.input_of(started.arn)) == told["request"] and operator.record["result"] == "8"


def as_the_rule_says(operator: Operator) -> datetime.date:
    """When the bucket's own rule deletes what is kept now."""
    rules = operator.cloud.deployed.resources["ResponseBucket"].properties["LifecycleConfiguration"]["Rules"]
    [days] = [each["ExpirationInDays"] for each in rules if each.get("Prefix") == "requests/"]
    now = datetime.datetime.fromtimestamp(operator.cloud.clock.now(), datetime.UTC)
    return (now + datetime.timedelta(days=days)).date()


def test_request_that_is_gone_is_told_with_what_to_do(operator: Operator) -> None:
    before = quarantined(operator, LARGE)
    key = before["requestRef"]["key"]
    operator.cloud.client("s3").delete_object(Bucket=operator.cloud.outputs["ResponseBucketName"], Key=key)
    done = operator.once("retry", ID)
    assert done.code == 2 and f"not in the bucket ({key})" in done.err and len(done.err.splitlines()) == 1
    assert "once resolve" in done.err and "once release" in done.err and operator.record == before
    told = shown(operator)
    assert told["request"] is None and key in told["requestKept"]


def _denied() -> None:
    error: Any = {"Error": {"Code": "AccessDenied", "Message": "Access Denied"}, "ResponseMetadata": {}}
    raise ClientError({**error, "ResponseMetadata": {"HTTPStatusCode": 403}}, "GetObject")


def test_kept_request_that_one_may_not_see_is_told_with_the_permission_to_add(operator: Operator) -> None:
    quarantined(operator, LARGE)
    for command in ("retry", "show"):
        operator.before("GetObject", _denied)
        done = operator.once(command, ID)
        told = done.err + done.out
        assert "or you may not see it" in told and "s3:GetObject on requests/* is not allowed" in told
        assert "s3:ListBucket" in told and done.code == (2 if command == "retry" else 0)


# ---- what is not its own ----


@pytest.mark.parametrize(
    "change",
    [
        {"bucket": "company-backups"},
        {"key": "requests/victim/0/1.json"},
        {"key": "rejected/2026-01-01T00-00-00.000Z-1.json"},
        {"key": 5},
    ],
    ids=lambda change: str(*change.values()),
)
def test_an_object_of_somebody_else_is_neither_read_nor_started(operator: Operator, change: dict[str, Any]) -> None:
    reference = quarantined(operator, LARGE)["requestRef"] | change
    operator.change({"requestRef": reference})
    before, seen = operator.record, list[str]()
    for command in ("show", "retry"):
        operator.before("GetObject", lambda: seen.append("read"))
        done = operator.once(command, ID)
        assert "is not its own" in done.err + done.out
    assert (seen, operator.record) == ([], before)
    assert operator.once("resolve", ID, "--failed", "gone").code == 0


def test_kept_request_of_another_id_in_the_right_place_is_not_started(operator: Operator) -> None:
    operator.put_object(quarantined(operator, LARGE)["requestRef"]["key"], json.dumps(VICTIM).encode())
    done = operator.once("retry", ID)
    assert done.code == 2 and "another request: victim#told#k" in done.err
    assert operator.cloud.record("victim#told#k") is None and operator.record["status"] == "QUARANTINED"
    assert shown(operator)["request"] is None


def test_the_path_of_an_owner_with_another_request_is_not_shown(operator: Operator) -> None:
    quarantined(operator, SMALL)
    operator.change({"owner": operator.cloud.run(VICTIM).arn})
    assert shown(operator)["execution"] is None


@pytest.mark.parametrize("owner", ["arn:aws:states:us-east-1:999999999999:execution:Payroll:x", "no ARN"])
def test_an_owner_out_of_this_stack_is_not_even_asked_after(operator: Operator, owner: str) -> None:
    quarantined(operator, SMALL)
    operator.change({"owner": owner})
    asked: list[str] = []
    for call in ("DescribeExecution", "GetExecutionHistory"):
        operator.before(call, lambda call=call: asked.append(call))  # type: ignore[misc]
    assert shown(operator)["ownerStatus"] == "GONE"
    assert operator.once("release", ID, "--yes").code == 0
    assert asked == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("fence", {"S": "1"}), ("owner", {"NULL": True}), ("acquiredAt", {"M": {}})),
        *(
            ("leaseExpiresAt", {"N": "1e90"}),
            ("error", {"M": {"name": {"S": "E"}}}),
            ("steps", {"S": "none"}),
            ("expiresAt", {"S": "noon"}),
        ),
    ],
)
def test_a_record_that_once_did_not_write_is_refused_and_left_alone(
    operator: Operator, name: str, value: dict[str, Any]
) -> None:
    put(operator, ID, "QUARANTINED", 1, **{name: value})
    before = operator.item
    for command, *options in (("show",), ("retry",), ("resolve", "--failed", "gone"), ("release", "--yes")):
        done = operator.once(command, ID, *options)
        assert done.code == 2 and "not in the form that Once writes" in done.err and len(done.err.splitlines()) == 1
    assert operator.item == before
    listed = operator.once("ls", "--json")
    assert listed.answer["operations"] == [] and f"{ID}: its record is not in the form" in listed.err


@pytest.mark.parametrize(
    "odd",
    [
        *({name: {"S": "0001-01-01T00:00:00+14:00"}} for name in ("acquiredAt", "finishedAt")),
        {"decisions": {"L": [{"M": {"verb": {"S": "retry"}, "at": {"S": "9999-12-31T23:59:59-14:00"}}}]}},
        {"steps": {"M": {"a": {"M": {"result": {"B": b"1"}}}}}},
        {"own": {"SS": ["1"]}},
    ],
    ids=str,
)
def test_what_a_function_wrote_over_parts_of_its_record_is_shown(operator: Operator, odd: dict[str, Any]) -> None:
    put(operator, ID, "QUARANTINED", 1, **odd)
    shown(operator)
    for command, *options in (("show",), ("release", "--yes")):
        assert operator.once(command, ID, *options).code == 0
