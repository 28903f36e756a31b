"""Results of every size and shape come back as the bytes they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from latches import Latches
from odd import cases
from once.result_store import ResultStore
from scenario import BUSINESS, LANES, answer, cause, id_of, record_of, run, scripted

from oncekit.contract.lanes import Lane
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.service_calls import Call


@pytest.mark.parametrize("size", [20_000, 300_000], ids=["kept by CacheResponse", "offloaded by the library"])
def test_object_that_another_put_where_the_answer_goes_is_not_the_answer(cloud: LocalCloud, size: int) -> None:
    """Its key can be known before: who names its executions has a known owner, and the first fence of an id is 1."""
    request = {"operation": "build-report", "idempotencyKey": f"forged-{size}", "payload": {"bytes": size}}
    store = ResultStore(cloud.outputs["ResponseBucketName"], int(cloud.parameters["RetentionDays"]), cloud.client("s3"))

    def forge(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == BUSINESS:
            store.put(id=id_of(request), fence=1, owner=call.execution_arn, text='"forged"')
        return proceed()

    with cloud.intercept(forge):
        first, second = cloud.run(request), cloud.run(request)
    assert first.error == second.error == "NeedsAttention"
    assert "business logic succeeded" in cause(first)["message"]
    assert "responses/" in cause(second)["message"]
    assert len(cloud.invocations("build-report")) == 1


@pytest.mark.usefixtures("deceived")
def test_result_is_never_that_of_an_operation_whose_record_has_long_been_deleted(cloud: LocalCloud, plain: str) -> None:
    # Its object outlives the record, and the fences of the next operation under that key begin again.
    def request(text: str) -> dict[str, Any]:
        return {"operation": plain, "idempotencyKey": "again", "payload": {"return": text * 20_000}}

    cloud.run(request("a"))
    table = cloud.resources["IdempotencyTable"]
    cloud.client("dynamodb").delete_item(TableName=table, Key={"id": {"S": f"default#{plain}#again"}})
    new = cloud.run(request("b"))
    assert record_of(cloud, request("b"))["fence"] == 1
    assert json.loads(answer(cloud, new)) == "b" * 20_000


@pytest.mark.usefixtures("each_reading")
def test_plain_result_that_step_functions_cannot_carry_is_quarantined(cloud: LocalCloud, plain: str) -> None:
    request = {"operation": plain, "idempotencyKey": "big", "payload": {"bytes": 300_000}}
    first, second = cloud.run(request), cloud.run(request)
    assert first.error == second.error == "NeedsAttention"
    assert cause(first)["name"] == "ResultUnreadable"
    assert "business logic may have succeeded" in cause(first)["message"]
    assert len(cloud.invocations(plain)) == 1


@pytest.mark.usefixtures("each_reading")
@LANES
def test_a_plain_result_that_just_fits_is_answered_or_quarantined_at_once(
    cloud: LocalCloud, plain: str, recover: Callable[[], Execution], lane: Lane
) -> None:
    """Beside the ids, CacheResponse cannot be sent all of it; to start business logic again would not help."""
    payload = {"bytes": 262_144 - 1000}
    request = {"operation": plain, "idempotencyKey": "\U0001f600" * 250, "payload": payload}
    run(cloud, request, lane)
    for _ in range(2):
        cloud.clock.advance(3600)
        recover()
    assert record_of(cloud, request)["status"] in ("COMPLETED", "QUARANTINED")
    assert len(cloud.invocations(plain)) == 1


@LANES
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ({"no JSON": 1}, "Object of type datetime is not JSON serializable"),
        ({"repeat": "x", "times": 6_291_557}, "exceeded maximum allowed payload size"),
        ({"raise": "Runtime.JSONStringifyError", "message": "of Node.js"}, "of Node.js"),
        ({"raise": "Error", "message": "Unable to stringify response body"}, "Unable to stringify response body"),
    ],
    ids=["no JSON", "6 MB", "Node.js", "an older Node.js"],
)
def test_a_function_that_returned_what_lambda_cannot_send_is_not_started_again(
    cloud: LocalCloud, latches: Latches, recover: Callable[[], Execution], lane: Lane, script: dict[str, Any], told: str
) -> None:
    request = scripted(script)
    run(cloud, request, lane)
    cloud.clock.advance(3600)
    recover()
    record = record_of(cloud, request)
    assert (record["status"], record["error"]["name"], latches.starts()) == ("QUARANTINED", "ResultUnreadable", 1)
    assert told in record["error"]["message"] and "return JSON: text, numbers, lists" in record["error"]["message"]


def victims(cloud: LocalCloud) -> dict[str, Any]:
    """A reference to a large answer of another tenant."""
    secret = {"operation": "build-report", "tenant": "victim", "idempotencyKey": "s", "payload": {"bytes": 30_000}}
    ref: dict[str, Any] = cloud.run(secret).output["resultRef"]
    return ref


def test_producer_cannot_imitate_the_librarys_envelope_by_an_echo(cloud: LocalCloud, plain: str) -> None:
    """tests/states has every envelope that is none."""
    payload = {"onceResultRef": victims(cloud), "replyToken": "00000000-0000-4000-8000-000000000000"}
    request = {"operation": plain, "tenant": "mallory", "idempotencyKey": "k", "payload": payload}
    first = cloud.run({**request, "onCrash": "quarantine"})
    assert (first.status, len(cloud.invocations(plain))) == ("SUCCEEDED", 1), first.cause
    assert json.loads(answer(cloud, first)) == payload
    assert answer(cloud, cloud.run(request)) == answer(cloud, first)
    assert "victim" not in json.dumps(first.output.get("resultRef", {}))


def values(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    """JSON with such numbers in it."""
    return st.recursive(
        st.one_of(st.none(), st.booleans(), numbers, st.text(st.characters(codec="utf-8"), max_size=20)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4),
        ),
        max_leaves=20,
    )


_count = iter(range(1_000_000))


@given(value=values(st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))))
@example(value=5.23670726923449e16)
@cases(15)
def test_any_plain_result_comes_back_as_the_same_value_and_the_same_bytes(
    cloud: LocalCloud, plain: str, value: Any
) -> None:
    payload = {"json": json.dumps(value)}
    request = {"operation": plain, "idempotencyKey": f"plain-{next(_count)}", "payload": payload}
    first, second = cloud.run(request), cloud.run(request)
    assert answer(cloud, first) == answer(cloud, second)
    # A double may be written with an exponent or without: Python makes a float of the one, an integer of the other.
    assert json.loads(answer(cloud, first), parse_int=float) == json.loads(json.dumps(value), parse_int=float)


def test_text_that_looks_like_an_expression_is_only_text(cloud: LocalCloud, latches: Latches, plain: str) -> None:
    text = "{% $states.context %} \" ' \\ $uuid() ${TableName}"
    execution = cloud.run({"operation": plain, "idempotencyKey": text[:200], "payload": {"return": {text: text}}})
    assert json.loads(answer(cloud, execution)) == {text: text}
