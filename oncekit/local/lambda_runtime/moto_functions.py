"""Functions that a client creates from a zip file, and deletes, through moto's Lambda API, as `make e2e` does.

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
            return self._create(json.loads(response.body))

        def alias(response: Any) -> Answer:
            return self._alias(unquote(response.path.rsplit("/", 2)[-2]), json.loads(response.body))

        def delete(response: Any) -> Answer:
            return self._delete(unquote(response.path.rsplit("/", 1)[-1]))

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

    def _create(self, given: dict[str, Any]) -> Answer:
        name, code = given["FunctionName"], given.get("Code", {}).get("ZipFile")
        layers = [self._layer(arn) for arn in given.get("Layers", ())]
        if name in self._runtime.functions or code is None or None in layers:
            return _refused(400, "the local cloud makes new functions only, of a ZipFile and layers of the template")
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
        return _answer(201, configuration(name, spec, VERSION, self.told(name)))

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

    def _alias(self, name: str, given: Mapping[str, Any]) -> Answer:
        """Every function of the runtime has the alias `live`, and no other."""
        if name not in self._made or given["Name"] != LIVE:
            return _refused(400, f"functions that were created here have the alias {LIVE} only")
        told = {"AliasArn": function_arn(name, LIVE), "Name": LIVE, "FunctionVersion": given["FunctionVersion"]}
        return _answer(201, told)

    def _delete(self, name: str) -> Answer:
        if name not in self._made:
            return _refused(404, f"no client has created {function_arn(name)}", "ResourceNotFoundException")
        self._runtime.unregister(name)
        shutil.rmtree(self._made.pop(name)[1])
        return _answer(204, None)


def _answer(status: int, body: Mapping[str, Any] | None, **headers: str) -> Answer:
    return status, {"status": str(status), **headers}, "" if body is None else json.dumps(body)


def _refused(status: int, message: str, code: str = "InvalidParameterValueException") -> Answer:
    """In the protocol of the Lambda API: an error's code is in a header."""
    return _answer(status, {"Type": "User", "Message": message}, **{"X-Amzn-ErrorType": code})
