"""The template, as it is written and as it is deployed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from template_parts import all_resources

from oncekit.local.templates.template import parse

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template.yaml"

Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def source() -> dict[str, Any]:
    """template.yaml with its short forms written out."""
    return parse(TEMPLATE.read_text(), TEMPLATE)


@pytest.fixture(scope="session")
def resources() -> Resources:
    """Those of template.yaml and of the applications inside."""
    return all_resources()


@pytest.fixture(scope="session")
def functions(resources: Resources) -> Resources:
    return {name: r for name, r in resources.items() if r["Type"] == "AWS::Serverless::Function"}
