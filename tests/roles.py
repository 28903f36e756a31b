"""Roles with a permission less or more than the template gives them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from oncekit.local import LocalCloud

Statement = dict[str, Any]


@contextmanager
def without(cloud: LocalCloud, holder: str, action: str, resource: str = "") -> Iterator[None]:
    """A role or policy without an action, on the one resource with `resource` in its ARN, while the context is open."""
    properties = copy.deepcopy(dict(cloud.deployed.resources[holder].properties))
    taken = [
        statement
        for document in _documents(properties)
        for statement in document["Statement"]
        if action in _list(statement["Action"]) and resource in str(statement["Resource"])
    ]
    assert len(taken) == 1, f"{len(taken)} statements of {holder} allow {action} on {resource}"
    taken[0]["Action"] = [each for each in _list(taken[0]["Action"]) if each != action]
    with _changed(cloud, holder, properties):
        yield


@contextmanager
def with_more(cloud: LocalCloud, holder: str, statement: Statement) -> Iterator[None]:
    """A role or policy with one more statement while the context is open."""
    properties = copy.deepcopy(dict(cloud.deployed.resources[holder].properties))
    _documents(properties)[0]["Statement"].append(statement)
    with _changed(cloud, holder, properties):
        yield


@contextmanager
def _changed(cloud: LocalCloud, holder: str, properties: dict[str, Any]) -> Iterator[None]:
    resources = dict(cloud.deployed.resources)
    cloud.permissions.deploy(resources | {holder: replace(resources[holder], properties=properties)})
    try:
        yield
    finally:
        cloud.permissions.deploy(resources)


def _documents(properties: dict[str, Any]) -> list[dict[str, Any]]:
    holders = properties.get("Policies", [properties])
    return [each["PolicyDocument"] for each in holders]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
