"""What the templates make is in every Region, or the template says in a sentence what to switch off."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cfnlint.helpers import REGIONS
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER
from template_parts import PARTS, TEMPLATE, values_for

from oncekit.local.templates.intrinsics import Resolver
from oncekit.local.templates.template import load, parameter_values

ROOT = Path(__file__).parents[2]
TEXTS = ROOT / "oncekit" / "adoption" / "texts"
"""Of what `once init` and `once new` write."""
PIPE = "AWS::Pipes::Pipe"


@functools.cache
def types() -> set[str]:
    """All that a deployment makes: those of SAM as it translates them."""
    made = [
        load(file, values_for(file, HttpAccessLog="true", Rollout="Linear")).section("Resources")
        for file in (TEMPLATE, *PARTS)
    ]
    written = {found for each in TEXTS.glob("*.yaml") for found in re.findall(r"Type: (AWS::\S+)", each.read_text())}
    own = {each for each in written if not each.startswith("AWS::Serverless::")}
    return own | {each["Type"] for resources in made for each in resources.values()}


def types_in(region: str) -> set[str]:
    return set(PROVIDER_SCHEMA_MANAGER.get_resource_types(region))


def refused(source: Mapping[str, Any], region: str, **given: str) -> bool:
    """Whether a rule of the template refuses these parameters."""
    values = {**parameter_values(source["Parameters"], given), "AWS::Region": region}
    known = Resolver(values, {}, {}, str, lambda logical_id, _: logical_id)
    return any(
        known.resolve(rule["RuleCondition"]["Fn::Contains"][1]) in rule["RuleCondition"]["Fn::Contains"][0]
        and not all(known.resolve(each["Assert"]) for each in rule["Assertions"])
        for rule in source["Rules"].values()
    )


@pytest.mark.parametrize("region", REGIONS)
def test_what_a_region_lacks_is_refused_by_a_rule_and_nothing_else_is(region: str, source: Mapping[str, Any]) -> None:
    lacking = types() - types_in(region)
    assert lacking <= {PIPE}
    assert refused(source, region, QueueTrigger="true") is bool(lacking)
    assert not refused(source, region, QueueTrigger="false")


def test_the_page_names_the_regions_of_the_rule(source: Mapping[str, Any]) -> None:
    [said] = re.findall(
        r"\*\*EventBridge Pipes is missing\*\* in ([^(]*) \(", (ROOT / "docs" / "deploy.md").read_text()
    )
    listed = source["Rules"]["QueueTriggerNeedsPipes"]["RuleCondition"]["Fn::Contains"][0]
    assert re.split(r", | and ", said) == listed
