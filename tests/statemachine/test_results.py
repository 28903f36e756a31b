"""Results of every size and shape come back as the bytes they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gates import Gates
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scenario import answer, cause, record_of

from local import LocalCloud

FUNCTIONS = Path(__file__).parents[1] / "functions"


@pytest.mark.parametrize(
    ("size", "inline", "cached"),
    [(1_024, True, False), (20_000, False, True), (300_000, False, False), (2_000_000, False, False)],
)
def test_result_of_any_size_is_replayed_byte_for_byte(cloud: LocalCloud, size: int, inline: bool, cached: bool) -> None:
    request = {"operation": "build-report", "idempotencyKey": f"r{size}", "payload": {"bytes": size}}
    first, second = cloud.run(request), cloud.run(request)
    assert first.output["disposition"] == "EXECUTED"
    assert second.output["disposition"] == "REPLAYED"
    assert answer(cloud, first) == answer(cloud, second)
    assert len(answer(cloud, first)) >= size * 0.9
    assert ("result" in first.output) == inline
    assert ("CacheResponse" in first.states) == cached
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


def test_plain_result_that_step_functions_cannot_carry_is_quarantined(cloud: LocalCloud, plain: str) -> None:
    request = {"operation": plain, "idempotencyKey": "big", "payload": {"bytes": 300_000}}
    first, second = cloud.run(request), cloud.run(request)
    assert first.error == second.error == "NeedsAttention"
    assert cause(first)["name"] == "States.DataLimitExceeded"
    assert "business logic may have succeeded" in cause(first)["message"]
    assert len(cloud.invocations(plain)) == 1


def test_record_with_its_result_stays_within_the_inline_limit(cloud: LocalCloud, plain: str) -> None:
    for size in (2_700, 2_900, 3_000, 3_100, 4_000):
        request = {"operation": plain, "idempotencyKey": f"k{size}", "payload": {"return": "x" * size}}
        cloud.run(request)
        record = record_of(cloud, request)
        bytes_ = sum(len(k) + len(str(v).encode()) for k, v in record.items())
        assert bytes_ <= 4096


numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(st.characters(codec="utf-8"), max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4),
    ),
    max_leaves=20,
)
through_the_cloud = settings(
    max_examples=40,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
_count = iter(range(1_000_000))


@given(value=values)
@example(value=5.23670726923449e16)
@through_the_cloud
def test_any_plain_result_comes_back_as_the_same_value_and_the_same_bytes(
    cloud: LocalCloud, plain: str, value: Any
) -> None:
    request = {"operation": plain, "idempotencyKey": f"plain-{next(_count)}", "payload": {"return": value}}
    first, second = cloud.run(request), cloud.run(request)
    assert answer(cloud, first) == answer(cloud, second)
    # A double may be written with an exponent or without: Python makes a float of the one, an integer of the other.
    assert json.loads(answer(cloud, first), parse_int=float) == json.loads(json.dumps(value), parse_int=float)


@given(value=values)
@through_the_cloud
def test_any_library_result_comes_back_as_the_bytes_that_the_library_wrote(cloud: LocalCloud, value: Any) -> None:
    cloud.add_function(
        "library-echo", FUNCTIONS / "library_echo", environment={"RESPONSE_BUCKET": cloud.outputs["ResponseBucketName"]}
    )
    request = {"operation": "library-echo", "idempotencyKey": f"lib-{next(_count)}", "payload": {"return": value}}
    first, second = cloud.run(request), cloud.run(request)
    assert answer(cloud, first) == answer(cloud, second)
    assert json.loads(answer(cloud, first)) == value


def test_text_that_looks_like_an_expression_is_only_text(cloud: LocalCloud, gates: Gates, plain: str) -> None:
    text = "{% $states.context %} \" ' \\ $uuid() ${TableName}"
    execution = cloud.run({"operation": plain, "idempotencyKey": text[:200], "payload": {"return": {text: text}}})
    assert json.loads(answer(cloud, execution)) == {text: text}
