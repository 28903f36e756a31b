"""Resources that moto makes, each by the class that its own CloudFormation uses."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.contents import put_contents, take_contents
from oncekit.local.deployed import Deployed
from oncekit.local.intrinsics import TemplateError
from oncekit.local.resources import moto_model

_MOST = 500
"""Characters of what moto says; what is wrong comes first, and after it, for one, all of a definition."""


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[:_MOST]} ..."


@contextmanager
def faults_named(logical_id: str, kind: str) -> Iterator[None]:
    """What moto refuses or fails on is said with the resource. Only moto's own work belongs inside."""
    try:
        yield
    except Exception as error:  # its models fail with anything on what they do not expect, such as AttributeError
        told = _shortened(f"{type(error).__name__}: {error}")
        raise TemplateError(
            f"{logical_id} ({kind}): moto, which plays its service here, fails on it: {told}"
        ) from error


def make(kind: str, logical_id: str, name: str, properties: Mapping[str, Any], held: Mapping[str, Any]) -> Any:
    """Moto's model of a resource, with the contents that an earlier one held. Raises TemplateError."""
    given = {"Properties": copy.deepcopy(dict(properties))}
    given["Properties"].pop("SSESpecification", None)  # for which moto loads KMS and makes a key that encrypts nothing
    with faults_named(logical_id, kind):
        made = moto_model(kind).create_from_cloudformation_json(name, given, ACCOUNT, REGION)
        put_contents(kind, made.physical_resource_id, held)
    return made


def delete(logical_id: str, known: Deployed) -> Mapping[str, Any]:
    """Delete a resource, and give what it held. Raises TemplateError."""
    with faults_named(logical_id, known.type):
        held = take_contents(known.type, known.ref)
        given = {"Properties": known.properties}
        moto_model(known.type).delete_from_cloudformation_json(known.ref, given, ACCOUNT, REGION)
    return held
