"""A request that is not in the bucket, or that one may not see there: `once retry`, `show` and the others go on."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from operating import ID, Operator, put

TODAY = {"operation": "told", "idempotencyKey": "k", "payload": {"note": "日" * 38_000}, "onCrash": "quarantine"}
SMALL = {**TODAY, "payload": {"a": 1}}
ESCAPED = json.dumps(TODAY)
INDENTED = json.dumps(SMALL, indent=1).replace("\n ", "\n" + " " * 40_000)


@pytest.mark.parametrize("text", [ESCAPED, INDENTED], ids=["escapes", "indentation"])
def test_retry_without_a_kept_request_starts_with_the_owners_input(operator: Operator, text: str) -> None:
    assert 225_000 < len(text) < 262_144
    owner = operator.quarantined_by_recovery(text)
    shown = operator.once("show", ID, "--json").answer
    assert shown["request"] == json.loads(text) and shown["requestMissing"] is None
    started = operator.execution(operator.once("retry", ID, "--json"))
    assert operator.input_of(started.arn) == text
    assert operator.record["status"] == "COMPLETED" and operator.record["owner"] == started.arn != owner.arn
    assert operator.kept() == [] and operator.starts == 1


def test_object_of_an_earlier_life_is_not_started_where_the_record_names_none(operator: Operator) -> None:
    """Fences begin again once a record has expired and is gone, and the keys of kept requests with them."""
    earlier = json.dumps({**SMALL, "payload": {"a": "of an earlier life"}})
    operator.quarantined_by_recovery(json.dumps(SMALL))
    key = f"requests/default/{hashlib.sha256(ID.encode()).hexdigest()}/1.json"
    place = {"Bucket": operator.cloud.outputs["ResponseBucketName"], "Key": key}
    operator.cloud.client("s3").put_object(**place, Body=earlier.encode())
    assert operator.once("show", ID, "--json").answer["request"] == SMALL
    started = operator.execution(operator.once("retry", ID, "--json"))
    assert operator.input_of(started.arn) == json.dumps(SMALL)


def test_request_that_is_nowhere_is_told_with_what_to_do(operator: Operator) -> None:
    gone = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":none"
    put(operator, ID, "QUARANTINED", 5, owner={"S": gone}, error=operator.unreadable())
    before = operator.record
    done = operator.once("retry", ID)
    assert done.code == 2 and gone in done.err and "(it is gone)" in done.err
    assert "once resolve" in done.err and "once release" in done.err and len(done.err.splitlines()) == 1
    assert operator.record == before and operator.kept() == []
    shown = operator.once("show", ID, "--json").answer
    assert shown["request"] is None and gone in shown["requestMissing"]
    assert gone in operator.once("show", ID).out


def test_another_operations_request_is_not_started(operator: Operator) -> None:
    other = operator.cloud.run({**SMALL, "tenant": "acme"})
    put(operator, ID, "QUARANTINED", 5, owner={"S": other.arn}, error=operator.unreadable())
    before = operator.record
    done = operator.once("retry", ID)
    assert done.code == 2 and "another request" in done.err
    assert operator.record == before and operator.once("show", ID, "--json").answer["request"] is None


def test_request_in_a_pipes_envelope_is_started_unchanged_and_shown_without_it(operator: Operator) -> None:
    text = json.dumps([{"body": SMALL}], indent=3)
    with operator.cloud.delivering(False):
        owner = operator.cloud.run(text)
        put(operator, ID, "QUARANTINED", 5, owner={"S": owner.arn}, error=operator.unreadable())
        assert operator.once("show", ID, "--json").answer["request"] == SMALL
        started = operator.execution(operator.once("retry", ID, "--json"))
    assert operator.input_of(started.arn) == text


# ---- who may not see it ----


def _denied() -> None:
    metadata = {"HTTPStatusCode": 403}
    error: Any = {"Error": {"Code": "AccessDenied", "Message": "Access Denied"}, "ResponseMetadata": metadata}
    raise ClientError(error, "GetObject")


def test_kept_request_that_one_may_not_see_is_told_with_the_permission_to_add(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    gone = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":none"
    operator.change({"owner": gone})
    bucket = f"arn:aws:s3:::{operator.cloud.outputs['ResponseBucketName']}"
    for command in ("retry", "show"):
        operator.before("GetObject", _denied)
        done = operator.once(command, ID)
        told = done.err + done.out
        assert "or you may not see it" in told and f"s3:GetObject on {bucket}/requests/*" in told
        assert f"s3:ListBucket on {bucket}" in told and done.code == (2 if command == "retry" else 0)


def test_kept_request_that_could_not_be_deleted_is_told(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    operator.before("DeleteObject", _denied)
    done = operator.once("resolve", ID, "--failed", "no", "--json")
    assert done.code == 0 and done.answer["requestLeft"] in done.err
    assert "s3:DeleteObject" in done.err and len(operator.kept()) == 1
