"""Mapping templates that AWS has rendered, read from where they are kept beside this repository."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest
from asl.recorded import ABSENT, recorded

from oncekit.local.gateway.variables import Input, Util, new_context
from oncekit.local.gateway.velocity import TemplateFault, render

DIFFERS: dict[str, str] = {}
"""By case, why it does not agree."""

pytestmark = [
    pytest.mark.aws(recorded="shared/recorded/recorded.json", says="19 mapping templates with what AWS made of them"),
    pytest.mark.skipif(not recorded(), reason=ABSENT),
]


@functools.cache
def cases() -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in recorded().get("vtl", [])}


def rendered(case: dict[str, Any]) -> str:
    """By a template for the request and, where there is one, by that for the answer, which share a context."""
    text, context = case["body"], new_context("live", "POST", 1.5, {})
    parameters: dict[str, dict[str, str]] = {"path": {}, "querystring": {}, "header": {}}
    for template in case["templates"]:
        text = render(template, {"input": Input(text, parameters), "util": Util(), "context": context})
    return text


@pytest.mark.parametrize("case", sorted({*cases(), *DIFFERS}))
def test_a_template_renders_as_on_aws_unless_there_is_a_reason(case: str) -> None:
    expected = cases()[case]["expected"]
    try:
        text = rendered(cases()[case])
    except TemplateFault as fault:
        text = f'"{type(fault).__name__}"'
    agrees = (text if isinstance(expected, str) else json.loads(text)) == expected
    assert agrees is (case not in DIFFERS), text
