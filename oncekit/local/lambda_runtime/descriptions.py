"""The Lambda API's answers about functions: their configuration and their concurrency."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from oncekit.local.engine.patching import replaced
from oncekit.local.function_names import function_arn, name_and_qualifier
from oncekit.local.lambda_runtime.runtime import LATEST
from oncekit.local.lambda_runtime.spec import FunctionSpec

VERSION = "1"
"""Of every function, as the template's own are named."""

Functions = Callable[[], Mapping[str, FunctionSpec]]
Answer = tuple[int, dict[str, str], str]


@contextmanager
def serve_descriptions(functions: Functions, more: Callable[[str], Mapping[str, Any]]) -> Iterator[None]:
    """While it is open, moto describes these functions; others it describes as it knows them.

    `more` gives what a function's spec does not say of it, by its name.
    """
    from moto.awslambda.responses import LambdaResponse

    configured, concurrent = LambdaResponse.get_function_configuration, LambdaResponse.get_function_concurrency

    def get_function_configuration(self: Any) -> Any:
        name, qualifier = name_and_qualifier(_part(self, -2), self._get_param("Qualifier"))
        spec = functions().get(name)
        if spec is None or qualifier not in (None, LATEST, VERSION, *spec.aliases):
            return configured(self)
        return _answer(configuration(name, spec, qualifier, more(name)))

    def get_function_concurrency(self: Any) -> Any:
        spec = functions().get(_part(self, -2))
        if spec is None:
            return concurrent(self)
        return _answer({} if spec.concurrency is None else {"ReservedConcurrentExecutions": spec.concurrency})

    with replaced(
        (LambdaResponse, "get_function_configuration", get_function_configuration),
        (LambdaResponse, "get_function_concurrency", get_function_concurrency),
    ):
        yield


def _part(request: Any, index: int) -> str:
    return unquote(request.path.rstrip("/").split("/")[index])


def configuration(name: str, spec: FunctionSpec, qualifier: str | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """GetFunctionConfiguration's answer."""
    return {
        **more,
        "FunctionName": name,
        "FunctionArn": function_arn(name, qualifier),
        "Handler": spec.handler,
        "Timeout": int(spec.timeout),
        "MemorySize": spec.memory,
        "Environment": {"Variables": dict(spec.environment)},
        "Version": LATEST if qualifier in (None, LATEST) else VERSION,
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "PackageType": "Zip",
    }


def _answer(body: Mapping[str, Any]) -> Answer:
    return 200, {"Content-Type": "application/json", "status": "200"}, json.dumps(body)
