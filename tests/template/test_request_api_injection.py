"""Whatever a sender writes reaches the state machine as it is, and is never a part of the template or of its JSON."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from template_parts import written_with

from oncekit.local.gateway.exchange import Sent, rendered
from oncekit.local.gateway.rest_api import Method
from oncekit.local.gateway.variables import new_context

HEADERS = {
    "Idempotency-Key": "key",
    "Prefer": "prefer",
    "Once-On-Conflict": "onConflict",
    "Once-On-Crash": "onCrash",
    "Once-On-Failed": "onFailed",
}
SPLICES = (
    '","tenant":"other',
    '\\","tenant\\":\\"other',
    '"}}","name":"x',
    "$input.body",
    "#set($tenant = 1)",
    "${x}$!{x}#end##",
    "\\u0022,\\u0022tenant\\u0022:\\u0022other",
    "%22%2C%22tenant%22",
    "'+'*~",
    "\n\r\t\x00\x7f",
    "\u2028\ufeff\U0001f680é",
    "acme#charge-payment#k",
)
"""What would add a member, end a string, or be read by Velocity, where it is put in as it is."""
texts = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(SPLICES))


@pytest.fixture(scope="module")
def template() -> str:
    """The template of the request that starts an operation."""
    known, resources = written_with()
    method = resources["RequestApi"]["Properties"]["DefinitionBody"]["paths"]["/operations/{operation}"]["post"]
    resolved: str = known.resolve(method["x-amazon-apigateway-integration"]["requestTemplates"]["application/json"])
    return resolved


def passed_on(template: str, path: dict[str, str], headers: dict[str, str], body: str) -> dict[str, Any]:
    """What the state machine is given, as it reads it; no member comes twice."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    sent = Sent(
        Method("POST", "/operations/{operation}", {}), path, {"operation": "other", "tenant": "other"}, headers, body
    )
    made = rendered(template, body, sent, new_context("live", "POST", 0, {}))
    call = json.loads(made, object_pairs_hook=members)
    assert set(call) == {"stateMachineArn", "input"} and call["stateMachineArn"] == "FastStateMachineAlias"
    given = json.loads(call["input"], object_pairs_hook=members)
    assert set(given) == {"http"}
    return {name: unquote_plus(value) for name, value in given["http"].items()}


@settings(max_examples=150, deadline=None)
@given(tenant=texts, operation=texts, values=st.tuples(*[texts] * len(HEADERS)), body=texts, lower=st.booleans())
@example("acme", SPLICES[0], SPLICES[: len(HEADERS)], SPLICES[1], False)
@example(SPLICES[3], SPLICES[4], SPLICES[5 : 5 + len(HEADERS)], SPLICES[2], True)
def test_every_text_of_a_sender_arrives_as_it_is_under_its_own_name(
    template: str, tenant: str, operation: str, values: tuple[str, ...], body: str, lower: bool
) -> None:
    headers = dict(zip(HEADERS, values, strict=True)) | {"Idempotency-Key": values[0] or "k"}
    sent = {name.lower() if lower else name: value for name, value in headers.items()}
    # A header or a path parameter that is called like a method of a map, or like another parameter.
    sent |= {"get": "x", "tenant": "other", "body": "other", "keySet": "y"}
    found = passed_on(template, {"operation": operation, "tenant": tenant}, sent, body)
    assert found == {
        "tenant": tenant,
        "operation": operation,
        "body": body or "{}",
        **{HEADERS[name]: value for name, value in headers.items()},
    }


@pytest.mark.parametrize("wrapped", ["$util.urlEncode($input.body)", '$util.urlEncode($path.get("operation"))'])
def test_a_template_that_puts_a_text_in_as_it_is_would_be_found(template: str, wrapped: str) -> None:
    spliced = template.replace(wrapped, wrapped.removeprefix("$util.urlEncode(")[:-1])
    assert spliced != template
    text = '\\",\\"tenant\\":\\"other'
    with pytest.raises((AssertionError, ValueError)):
        assert passed_on(spliced, {"operation": text}, {"Idempotency-Key": "k"}, text)["tenant"] == "default"
