"""Lambda's API: invocations, what functions are, and functions that a client makes.

A client creates a function from a zip file, with layers of the template and the alias `live`, and deletes it, as
`make e2e` does. Functions of the template can be neither replaced nor deleted here: a deployment does that.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from oncekit.local.account import function_arn, name_and_qualifier
from oncekit.local.client_errors import client_error, function_not_found
from oncekit.local.endpoint.own_services import Answer, Proceed, Request
from oncekit.local.lambda_runtime.languages import PYTHON, why_not
from oncekit.local.lambda_runtime.runtime import LATEST, LambdaRuntime
from oncekit.local.lambda_runtime.spec import FunctionSpec
from oncekit.local.once_inside import LIVE

VERSION = "1"
"""Of every function, as the template's own are named."""
COPIED = ("Role", "Runtime", "Architectures", "Environment", "LoggingConfig")
"""Members that CloudFormation and the Lambda API write alike."""

Properties = Mapping[str, Mapping[str, Any]]


class LambdaApi:
    """Answers with the runtime's functions. `deployed` gives the template's by name, `mappings` its mappings by UUID,
    `layer` a folder by ARN."""

    def __init__(
        self,
        runtime: LambdaRuntime,
        deployed: Callable[[], Properties],
        mappings: Callable[[], Properties],
        layer: Callable[[str], Path | None],
    ) -> None:
        self._runtime = runtime
        self._deployed = deployed
        self._mappings = mappings
        self._layer = layer
        self._made: dict[str, tuple[dict[str, Any], Path]] = {}
        self._unpacked = Path()

    def clear(self) -> None:
        """Forget all that clients made; one that is made again as it was finds its environments warm."""
        for name in self._made:
            self._runtime.put_away(name)
        self._made.clear()

    @contextmanager
    def open(self) -> Iterator[None]:
        """What clients make is kept while it is open."""
        with tempfile.TemporaryDirectory(prefix="once-functions-") as unpacked:
            self._unpacked = Path(unpacked)
            yield

    def answer(self, request: Request, proceed: Proceed) -> Answer:
        """The answer with these functions, for each of which moto would start a container; to other calls, moto's."""
        ours = {
            "Invoke": self._invoke,
            "GetFunctionConfiguration": self._configuration,
            "GetFunctionConcurrency": self._concurrency,
            "ListEventSourceMappings": self._listed_mappings,
            "CreateFunction": self._create,
            "CreateAlias": self._alias,
            "DeleteFunction": self._delete,
        }
        return ours[request.asked.operation](request) if request.asked.operation in ours else proceed()

    def _invoke(self, request: Request) -> Answer:
        answer = self._runtime.invoke(
            FunctionName=_named(request),
            Payload=request.body,
            Qualifier=_qualifier(request),
            InvocationType=request.asked.parameters.get("InvocationType"),
        )
        headers = {"X-Amz-Executed-Version": answer["ExecutedVersion"]} if "ExecutedVersion" in answer else {}
        if "FunctionError" in answer:
            headers["X-Amz-Function-Error"] = answer["FunctionError"]
        return _answer(answer["StatusCode"], answer["Payload"].read(), headers)

    # ---- what functions are ----

    def _described(self, request: Request) -> tuple[str, str | None, FunctionSpec]:
        name, qualifier = name_and_qualifier(_named(request), _qualifier(request))
        spec = self._runtime.functions.get(name)
        if spec is None or qualifier not in (None, LATEST, VERSION, *spec.aliases):
            raise function_not_found(function_arn(name, qualifier))
        return name, qualifier, spec

    def _configuration(self, request: Request) -> Answer:
        return _answer(200, self._told(*self._described(request)))

    def _concurrency(self, request: Request) -> Answer:
        reserved = self._described(request)[2].concurrency
        return _answer(200, {} if reserved is None else {"ReservedConcurrentExecutions": reserved})

    def _told(self, name: str, qualifier: str | None, spec: FunctionSpec) -> dict[str, Any]:
        given = self._made[name][0] if name in self._made else self._deployed().get(name, {})
        return {
            "Layers": [{"Arn": arn} for arn in given.get("Layers", ())],
            **{key: given[key] for key in COPIED if key in given},
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

    def _listed_mappings(self, request: Request) -> Answer:
        asked = request.asked.parameters
        found = [
            {
                "UUID": uuid,
                "EventSourceArn": given["EventSourceArn"],
                "FunctionArn": function_arn(*name_and_qualifier(str(given["FunctionName"]), None)),
                "State": "Disabled" if str(given.get("Enabled", True)).lower() == "false" else "Enabled",
                "LastProcessingResult": "OK",
            }
            for uuid, given in self._mappings().items()
        ]
        named = function_arn(*name_and_qualifier(asked["FunctionName"], None)) if "FunctionName" in asked else None
        return _answer(200, {"EventSourceMappings": [e for e in found if named in (None, e["FunctionArn"])]})

    # ---- functions that clients make ----

    def _create(self, request: Request) -> Answer:
        given = json.loads(request.body)
        name, code = given["FunctionName"], given.get("Code", {}).get("ZipFile")
        layers = [self._layer(arn) for arn in given.get("Layers", ())]
        if name in self._runtime.functions or code is None or None in layers:
            raise _refusal("the local cloud makes new functions only, of a ZipFile and layers of the template")
        runtime = str(given.get("Runtime", PYTHON))
        if (reason := why_not(runtime)) is not None:
            raise _refusal(f"the local cloud does not run it: {reason}")
        folder = self._unpack(name, base64.b64decode(code))
        self._made[name] = (given, folder)
        spec = FunctionSpec(
            code=folder,
            handler=given["Handler"],
            runtime=runtime,
            timeout=float(given.get("Timeout", 3)),
            environment=given.get("Environment", {}).get("Variables", {}),
            memory=int(given.get("MemorySize", 128)),
            python_path=tuple(path for path in layers if path is not None),
            role=given["Role"],
        )
        self._runtime.register(name, spec)
        return _answer(201, self._told(name, VERSION, spec))

    def _unpack(self, name: str, code: bytes) -> Path:
        """The folder of a function's code: the same for the same code, until the function is deleted."""
        folder = self._unpacked / hashlib.sha256(name.encode() + code).hexdigest()
        if not folder.exists():
            with zipfile.ZipFile(io.BytesIO(code)) as archive:
                archive.extractall(folder)
        return folder

    def _alias(self, request: Request) -> Answer:
        """Every function of the runtime has the alias `live`, and no other."""
        name, given = _named(request), json.loads(request.body)
        if name not in self._made or given["Name"] != LIVE:
            raise _refusal(f"functions that were created here have the alias {LIVE} only")
        told = {"AliasArn": function_arn(name, LIVE), "Name": LIVE, "FunctionVersion": given["FunctionVersion"]}
        return _answer(201, told)

    def _delete(self, request: Request) -> Answer:
        name = _named(request)
        if name not in self._made:
            raise function_not_found(f"no client has created {function_arn(name)}")
        self._runtime.unregister(name)
        shutil.rmtree(self._made.pop(name)[1])
        return _answer(204, b"")


def _named(request: Request) -> str:
    return str(request.asked.parameters["FunctionName"])


def _qualifier(request: Request) -> str | None:
    return request.asked.parameters.get("Qualifier")


def _refusal(message: str) -> ClientError:
    return client_error("InvalidParameterValueException", message, "CreateFunction", Type="User")


def _answer(status: int, body: Mapping[str, Any] | bytes, headers: Mapping[str, str] | None = None) -> Answer:
    told = {"Content-Type": "application/json", **(headers or {})}
    return status, told, body if isinstance(body, bytes) else json.dumps(body).encode()
