"""Secrets of Secrets Manager, as the templates have them. moto is asked for what no template has.

One that AWS would generate has texts in it that say what they stand for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from oncekit.local.deployment.resources import Deployed
from oncekit.local.endpoint.own_services import Answer, Proceed, Request, Service
from oncekit.local.templates.intrinsics import TemplateError, as_text

MANAGED = "AWS::SecretsManager::Secret"


def answering(resources: Callable[[], Mapping[str, Deployed]]) -> Service:
    """Gives the value of a secret of these resources by its name, its ARN, or that without its random end."""

    def answer(request: Request, proceed: Proceed) -> Answer:
        if request.asked.operation == "GetSecretValue":
            asked = request.asked.parameters.get("SecretId")
            for logical_id, each in resources().items():
                if each.type == MANAGED and asked in (each.ref, each.ref.rpartition("-")[0], _name(each)):
                    body = json.dumps(_told(logical_id, each))
                    return 200, {"Content-Type": "application/x-amz-json-1.1"}, body.encode()
        return proceed()

    return answer


def value_of(logical_id: str, secret: Deployed, key: str) -> str:
    """The text of a secret, or what it has under a key. Raises TemplateError for a key that it has not."""
    text = text_of(logical_id, secret.properties)
    if not key:
        return text
    try:
        return as_text(json.loads(text)[key])
    except (KeyError, TypeError, ValueError) as error:
        raise TemplateError(f"the secret {logical_id} has no {key}") from error


def text_of(logical_id: str, properties: Mapping[str, Any]) -> str:
    """Raises ValueError for a template that is no JSON."""
    if "SecretString" in properties:
        return as_text(properties["SecretString"])
    generated = properties.get("GenerateSecretString") or {}
    if "GenerateStringKey" not in generated:
        return f"{logical_id}-generated"
    key = str(generated["GenerateStringKey"])
    return json.dumps({**json.loads(generated.get("SecretStringTemplate", "{}")), key: f"{logical_id}-{key}"})


def _name(secret: Deployed) -> str:
    return secret.ref.partition(":secret:")[2].rpartition("-")[0]


def _told(logical_id: str, secret: Deployed) -> dict[str, Any]:
    text = text_of(logical_id, secret.properties)
    return {"ARN": secret.ref, "Name": _name(secret), "VersionId": "0" * 32, "SecretString": text}
