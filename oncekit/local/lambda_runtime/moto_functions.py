"""Functions that a client creates from a zip file, and deletes, through moto's Lambda API.

Supported are CreateFunction from a zip file, with layers and the alias `live`, and DeleteFunction; `descriptions` has
the answers about functions. Functions of the template can be neither replaced nor deleted here: a deployment does that.
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

from oncekit.local.engine.patching import replaced
from oncekit.local.function_names import function_arn
from oncekit.local.lambda_runtime.descriptions import VERSION, configuration
from oncekit.local.lambda_runtime.runtime import LambdaRuntime
from oncekit.local.lambda_runtime.spec import FunctionSpec
from oncekit.operation_functions import LIVE

Answer = tuple[int, dict[str, Any], str]
Properties = Mapping[str, Mapping[str, Any]]
COPIED = ("Role", "Runtime", "Architectures", "Environment", "LoggingConfig")
"""Members that CloudFormation and the Lambda API write alike."""


class Refused(Exception):
    """The service says no."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class CreatedFunctions:
    """The functions that clients made. `deployed` gives the template's by name, `layer` a folder by ARN."""

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
        """While it is open, moto answers with these functions; at its end they are deleted."""
        from moto.awslambda.responses import LambdaResponse

        def create(response: Any) -> Answer:
            return _answered(lambda: (201, self._create(json.loads(response.body))))

        def alias(response: Any) -> Answer:
            given = json.loads(response.body)
            return _answered(lambda: (201, self._alias(unquote(response.path.rsplit("/", 2)[-2]), given)))

        def delete(response: Any) -> Answer:
            def gone() -> tuple[int, None]:
                self._delete(unquote(response.path.rsplit("/", 1)[-1]))
                return 204, None

            return _answered(gone)

        with (
            tempfile.TemporaryDirectory(prefix="once-functions-") as unpacked,
            replaced(
                (LambdaResponse, "create_function", create),
                (LambdaResponse, "create_alias", alias),
                (LambdaResponse, "delete_function", delete),
            ),
        ):
            self._unpacked = Path(unpacked)
            try:
                yield
            finally:
                for name in list(self._made):
                    self._delete(name)

    def _create(self, given: dict[str, Any]) -> dict[str, Any]:
        name = given["FunctionName"]
        if name in self._runtime.functions:
            raise Refused(409, "ResourceConflictException", f"Function already exist: {name}")
        code = given.get("Code", {}).get("ZipFile")
        layers = {arn: self._layer(arn) for arn in given.get("Layers", ())}
        unknown = [arn for arn, path in layers.items() if path is None]
        if code is None or unknown:
            what = f"layer version {unknown[0]} does not exist" if unknown else "the code must be a ZipFile here"
            raise Refused(400, "InvalidParameterValueException", what)
        folder = self._unpack(name, base64.b64decode(code))
        self._made[name] = (given, folder)
        spec = FunctionSpec(
            code=folder,
            handler=given["Handler"],
            timeout=float(given.get("Timeout", 3)),
            environment=given.get("Environment", {}).get("Variables", {}),
            memory=int(given.get("MemorySize", 128)),
            python_path=tuple(path for path in layers.values() if path is not None),
            role=given["Role"],
        )
        self._runtime.register(name, spec)
        return configuration(name, spec, VERSION, self.told(name))

    def _unpack(self, name: str, code: bytes) -> Path:
        """The folder of a function's code: the same for the same code, until the function is deleted."""
        folder = self._unpacked / hashlib.sha256(name.encode() + code).hexdigest()
        if not folder.exists():
            with zipfile.ZipFile(io.BytesIO(code)) as archive:
                archive.extractall(folder)
        return folder

    def told(self, name: str) -> dict[str, Any]:
        """What a function was made of, as the Lambda API writes it, beside what its spec says."""
        given = self._made[name][0] if name in self._made else self._deployed().get(name, {})
        layers = {"Layers": [{"Arn": arn} for arn in given.get("Layers", ())]}
        return {**layers, **{key: given[key] for key in COPIED if key in given}}

    def _alias(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every function of the runtime has the alias `live`, and no other."""
        if name not in self._made:
            raise _not_found(function_arn(name))
        if given["Name"] != LIVE:
            raise Refused(400, "InvalidParameterValueException", f"the local cloud has the alias {LIVE} only")
        arn = function_arn(name, LIVE)
        return {"AliasArn": arn, "Name": LIVE, "FunctionVersion": given["FunctionVersion"]}

    def _delete(self, name: str) -> None:
        if name not in self._made:
            if name in self._deployed():
                raise Refused(400, "InvalidParameterValueException", f"{name} is in the template: change it there")
            raise _not_found(function_arn(name))
        self._runtime.unregister(name)
        shutil.rmtree(self._made.pop(name)[1])


def _not_found(arn: str) -> Refused:
    return Refused(404, "ResourceNotFoundException", f"Function not found: {arn}")


def _answered(work: Callable[[], tuple[int, dict[str, Any] | None]]) -> Answer:
    """In the protocol of the Lambda API: an error's code is in a header."""
    try:
        status, body = work()
    except Refused as error:
        headers = {"status": str(error.status), "X-Amzn-ErrorType": error.code}
        return error.status, headers, json.dumps({"Type": "User", "Message": str(error)})
    return status, {"status": str(status)}, "" if body is None else json.dumps(body)
