"""A function of the direct lane, invoked with events of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oncekit.local import LocalCloud

FUNCTION = Path(__file__).parent / "functions/direct"
DIRECT = "default#direct#k"
"""The id of `ask()`."""
A_LEASE = 400
"""Seconds after which one is over."""


class Direct:
    """tests/functions/direct, as the operation `direct` of a local cloud."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        place = {"ONCE_TABLE": cloud.resources["IdempotencyTable"], "ONCE_BUCKET": cloud.resources["ResponseBucket"]}
        environment = {"STOCK_TABLE": cloud.resources["StockTable"], **place, "ONCE_RETENTION_DAYS": "30"}
        cloud.add_function("direct", FUNCTION, environment=environment)
        named = cloud.operations.function_of("direct")
        assert named is not None
        self.name = named.name

    def invoke(self, *asked: Mapping[str, Any]) -> Any:
        """What one invocation made of these requests; `{"died": ...}` where it did not end well."""
        given = json.dumps({"asked": asked}).encode()
        answer = self._cloud.client("lambda").invoke(FunctionName=self.name, Payload=given)
        told = json.loads(answer["Payload"].read())
        return told if "FunctionError" not in answer else {"died": told}

    @property
    def request(self) -> str:
        """The request id of the last invocation."""
        return self._cloud.functions.invocations[-1].request_id


def ask(key: str = "k", *script: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request; attempt by attempt what business logic does."""
    return {"payload": {"amount": 1, "script": list(script)}, "key": key, **more}
