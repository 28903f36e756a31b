"""Reads parts of a template, as it is written or as it is deployed."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oncekit.local.templates.intrinsics import Resolver
from oncekit.local.templates.template import Template, parameter_values, parse

TEMPLATE = Path(__file__).parents[1] / "template.yaml"
EXAMPLES = TEMPLATE.parent / "examples" / "template.yaml"
PARTS = [TEMPLATE.parent / name / "template.yaml" for name in ("api", "operations", "announcements")] + [EXAMPLES]
"""The applications inside of the template."""

PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackName": "once",
    "AWS::URLSuffix": "amazonaws.com",
}


def references(node: Any) -> Iterator[str]:
    """Every logical id or parameter that a part of a template refers to."""
    if isinstance(node, list):
        for item in node:
            yield from references(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "Ref":
                yield value
            elif key == "Fn::GetAtt":
                yield value[0].partition(".")[0]
            elif key == "Fn::Sub":
                text, own = value if isinstance(value, list) else (value, {})
                names = {name.partition(".")[0] for name in re.findall(r"\$\{([^}!]+)\}", text)}
                yield from names - set(own)
                yield from references(own)
            else:
                yield from references(value)


def resolver(template: Template, **pseudo: str) -> Resolver:
    """Resolves values of a deployed template as CloudFormation does; a resource is called by its logical id."""
    return Resolver(
        {**template.parameters, **PSEUDO, **pseudo},
        template.section("Mappings"),
        template.section("Conditions"),
        lambda logical_id: logical_id,
        lambda logical_id, name: f"{logical_id}.{name}",
    )


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> dict[str, Any]:
    return parse(text, TEMPLATE)


def all_resources() -> dict[str, dict[str, Any]]:
    """Those of the template and of its parts, as they are written."""
    return {name: each for file in (TEMPLATE, *PARTS) for name, each in _parsed(file.read_text())["Resources"].items()}


def values_for(file: Path, **given: object) -> dict[str, str]:
    """The parameters of a file: those of the whole template, and what is a resource there by its name."""
    values = parameter_values(_parsed(TEMPLATE.read_text())["Parameters"], {n: str(v) for n, v in given.items()})
    return {name: values.get(name, name) for name in _parsed(file.read_text())["Parameters"]}


def written_with(file: Path = TEMPLATE, **given: object) -> tuple[Resolver, dict[str, dict[str, Any]]]:
    """Resolves values of the template as it is written, and its resources: quicker than a translation, and without what
    SAM adds to functions. A part of the template gets the parameters of the whole, and the names of its resources."""
    source = _parsed(file.read_text())
    known = Resolver(
        {**values_for(file, **given), "StackName": "once", **PSEUDO},
        source.get("Mappings", {}),
        source["Conditions"],
        lambda logical_id: logical_id,
        lambda logical_id, name: f"{logical_id}.{name}",
    )
    return known, source["Resources"]


OWN_FUNCTIONS = {
    TEMPLATE: {"CacheResponseFunction"},
    EXAMPLES: {"ChargePaymentFunction", "PlaceOrderFunction", "BuildReportFunction"},
}
"""Those of Once and of its examples. Another one is of somebody who has added an operation (docs/functions.md)."""


def was_added(name: str, resources: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a resource is that of an added operation: the tests say only of Once's own what there is."""
    functions = (each for each, given in resources.items() if given["Type"].endswith("::Function"))
    return name.startswith(
        tuple(each.removesuffix("Function") for each in functions if each not in set().union(*OWN_FUNCTIONS.values()))
    )
