"""Lambda's API at moto's endpoint: invocations, what functions are, and functions that a client makes.

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
from urllib.parse import unquote

from botocore.exceptions import ClientError

from oncekit.local.account import function_arn, name_and_qualifier
from oncekit.local.client_errors import client_error, function_not_found
from oncekit.local.lambda_runtime.runtime import LATEST, LambdaRuntime
from oncekit.local.lambda_runtime.spec import FunctionSpec
from oncekit.local.patching import Change, when_asked
from oncekit.operation_functions import LIVE

VERSION = "1"
"""Of every function, as the template's own are named."""
COPIED = ("Role", "Runtime", "Architectures", "Environment", "LoggingConfig")
"""Members that CloudFormation and the Lambda API write alike."""

Answer = tuple[int, dict[str, Any], str | bytes]
Properties = Mapping[str, Mapping[str, Any]]


class LambdaApi:
    """Answers with the runtime's functions. `deployed` gives the template's by name, `layer` a folder by ARN."""

    def __init__(
        self, runtime: LambdaRuntime, deployed: Callable[[], Properties], layer: Callable[[str], Path | None]
    ) -> None:
        self._runtime = runtime
        self._deployed = deployed
        self._layer = layer
        self._made: dict[str, tuple[dict[str, Any], Path]] = {}
        self._unpacked = Path()

    def clear(self) -> None:
        """Forget all that clients made; one that is made again as it was finds its environments warm."""
        for name in self._made:
            self._runtime.put_away(name)
        self._made.clear()

    @contextmanager
    def served(self) -> Iterator[None]:
        """While it is open, moto answers with these functions; it would start a container for each."""
        with (
            tempfile.TemporaryDirectory(prefix="once-functions-") as unpacked,
            when_asked(self._answering, "lambda", "awslambda"),
        ):
            self._unpacked = Path(unpacked)
            yield

    def _answering(self) -> list[Change]:
        from moto.awslambda.responses import LambdaResponse

        ours = {
            "invoke": self._invoke,
            "get_function_configuration": self._configuration,
            "get_function_concurrency": self._concurrency,
            "create_function": self._create,
            "create_alias": self._alias,
            "delete_function": self._delete,
        }
        return [(LambdaResponse, name, _method(answer)) for name, answer in ours.items()]

    def _invoke(self, request: Any) -> Answer:
        answer = self._runtime.invoke(
            FunctionName=_named(request),
            Payload=request.body,
            Qualifier=_qualifier(request),
            InvocationType=request.headers.get("X-Amz-Invocation-Type"),
        )
        headers = {"X-Amz-Executed-Version": answer["ExecutedVersion"]}
        if "FunctionError" in answer:
            headers["X-Amz-Function-Error"] = answer["FunctionError"]
        return _answer(answer["StatusCode"], answer["Payload"].read(), headers)

    # ---- what functions are ----

    def _described(self, request: Any) -> tuple[str, str | None, FunctionSpec]:
        name, qualifier = name_and_qualifier(_named(request), _qualifier(request))
        spec = self._runtime.functions.get(name)
        if spec is None or qualifier not in (None, LATEST, VERSION, *spec.aliases):
            raise function_not_found(function_arn(name, qualifier))
        return name, qualifier, spec

    def _configuration(self, request: Any) -> Answer:
        return _answer(200, self._told(*self._described(request)))

    def _concurrency(self, request: Any) -> Answer:
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

    # ---- functions that clients make ----

    def _create(self, request: Any) -> Answer:
        given = json.loads(request.body)
        name, code = given["FunctionName"], given.get("Code", {}).get("ZipFile")
        layers = [self._layer(arn) for arn in given.get("Layers", ())]
        if name in self._runtime.functions or code is None or None in layers:
            raise _refusal("the local cloud makes new functions only, of a ZipFile and layers of the template")
        folder = self._unpack(name, base64.b64decode(code))
        self._made[name] = (given, folder)
        spec = FunctionSpec(
            code=folder,
            handler=given["Handler"],
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

    def _alias(self, request: Any) -> Answer:
        """Every function of the runtime has the alias `live`, and no other."""
        name, given = _named(request), json.loads(request.body)
        if name not in self._made or given["Name"] != LIVE:
            raise _refusal(f"functions that were created here have the alias {LIVE} only")
        told = {"AliasArn": function_arn(name, LIVE), "Name": LIVE, "FunctionVersion": given["FunctionVersion"]}
        return _answer(201, told)

    def _delete(self, request: Any) -> Answer:
        name = _named(request)
        if name not in self._made:
            raise function_not_found(f"no client has created {function_arn(name)}")
        self._runtime.unregister(name)
        shutil.rmtree(self._made.pop(name)[1])
        return _answer(204, b"")


def _method(answer: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    """In place of a method of moto's; a refusal as the Lambda API writes it: the code in a header."""

    def method(request: Any) -> Answer:
        try:
            return answer(request)
        except ClientError as error:
            told: Mapping[str, Any] = error.response
            more = {key: told[key] for key in ("Type", "Reason") if key in told}
            body = {**more, "Message": told["Error"]["Message"]}
            return _answer(
                told["ResponseMetadata"]["HTTPStatusCode"], body, {"X-Amzn-ErrorType": told["Error"]["Code"]}
            )

    return method


def _named(request: Any) -> str:
    """The function in the path: .../functions/NAME, and what may follow."""
    return unquote(request.path.partition("/functions/")[2].partition("/")[0])


def _qualifier(request: Any) -> str | None:
    qualifier: str | None = request._get_param("Qualifier")
    return qualifier


def _refusal(message: str) -> ClientError:
    return client_error("InvalidParameterValueException", message, "CreateFunction", Type="User")


def _answer(status: int, body: Mapping[str, Any] | bytes, headers: Mapping[str, str] | None = None) -> Answer:
    """moto takes the status from the headers."""
    told = {"Content-Type": "application/json", "status": str(status), **(headers or {})}
    return status, told, body if isinstance(body, bytes) else json.dumps(body)
