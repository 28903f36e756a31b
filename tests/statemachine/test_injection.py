"""What a producer writes into a request is a value everywhere: never an expression, a name or a part of another id."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenario import record_of, result

from oncekit.local import LocalCloud

FRAGMENTS = [
    "{% $states.input %}",
    "{%",
    "%}",
    "${TableName}",
    "${AWS::AccountId}",
    "' & $uuid() & '",
    '" & $eval("1") & "',
    "$$.owner",
    "$states.context.Execution.Id",
    "States.Format('{}', $.x)",
    "#owner",
    ":me",
    "#status = :inProgress",
    "attribute_not_exists(id)",
    "../../requests/",
    "\\",
    "`rm -rf`",
    "\u2028",
    "#charge-payment#",
]
anything = st.text(st.characters(codec="utf-8"), max_size=4)
hostile = st.tuples(anything, st.sampled_from(FRAGMENTS), anything, st.sampled_from(FRAGMENTS)).map("".join)
PRINTED_BY_NOBODY = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]")
_tenants = (f"tenant-{n}" for n in itertools.count())
bounded = settings(
    max_examples=40,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@bounded
@given(key=hostile.map(lambda key: PRINTED_BY_NOBODY.sub("?", key)), text=hostile, name=hostile)
def test_key_and_payload_are_values(cloud: LocalCloud, plain: str, key: str, text: str, name: str) -> None:
    tenant, echo = next(_tenants), {"text": text, name: [text]}
    request = {"operation": plain, "tenant": tenant, "idempotencyKey": key, "payload": {"return": echo}}
    first = cloud.run(request)
    assert first.status == "SUCCEEDED", (first.error, first.cause)
    assert first.output["idempotencyKey"] == key
    assert result(cloud, first) == echo
    assert record_of(cloud, request)["id"] == f"{tenant}#{plain}#{key}"
    assert cloud.run(request).output["disposition"] == "REPLAYED"


@pytest.mark.parametrize("field", ["operation", "tenant", "onConflict", "onCrash"])
@bounded
@given(text=hostile)
def test_fields_that_name_something_take_no_expression(cloud: LocalCloud, plain: str, field: str, text: str) -> None:
    refused = cloud.run({"operation": plain, "idempotencyKey": "k", "payload": {}, field: text})
    assert refused.error == "InvalidRequest"
    assert field in str(refused.cause)
    assert cloud.invocations() == []
