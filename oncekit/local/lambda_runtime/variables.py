"""The environment variables that Lambda gives a function, and the few more that a process on this machine needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from oncekit.local.account import REGION
from oncekit.local.lambda_runtime import node_sdk
from oncekit.local.lambda_runtime.languages import NODE, PROVIDED, language, node_version
from oncekit.local.lambda_runtime.spec import FunctionSpec

_OF_THE_MACHINE = ("PATH", "HOME", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What an interpreter in a virtual environment needs. Nothing else of the caller's environment is passed on."""
_SDK = "/var/runtime/node_modules"


def variables_of(
    name: str, version: str, spec: FunctionSpec, shared: Mapping[str, str], key: Mapping[str, str], stream: str
) -> dict[str, str]:
    """All variables. The function's own win over `shared`, those over Lambda's.

    `key` is the access key by which the endpoint knows it: that of a function with a role cannot be another one.
    `stream` is where its environment logs.
    """
    return {
        **{variable: os.environ[variable] for variable in _OF_THE_MACHINE if variable in os.environ},
        **_of_lambda(name, version, spec, stream),
        # What a developer has configured for real accounts must not reach a function; HOME leads to it.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        **shared,
        **key,
        **spec.environment,
        **_of_language(spec),
        "_HANDLER": spec.handler,
        **(key if spec.role else {}),
    }


def _of_lambda(name: str, version: str, spec: FunctionSpec, stream: str) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_SESSION_TOKEN": "local",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{spec.runtime}",
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_VERSION": version,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(spec.memory),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": stream,
        "LAMBDA_TASK_ROOT": str(spec.code.resolve()),
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
    }


def _of_language(spec: FunctionSpec) -> dict[str, str]:
    """Where its code finds other code, and what of Lambda's is another's here."""
    if language(spec.runtime) == NODE:
        layers = {"ONCE_LAYERS": _path(spec.layers), "ONCE_NODE_SDK": str(node_sdk.folder())}
        return {"NODE_PATH": _path(_node_folders(spec)), **layers}
    if language(spec.runtime) == PROVIDED:
        return {"ONCE_LAYERS": _path(spec.layers)}
    return {
        "PYTHONPATH": _path((spec.code, *spec.python_path)),
        "PYTHONIOENCODING": "utf-8",
        # Code is read-only on Lambda; and bytecode is taken for fresh when the code changes twice within a second.
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _node_folders(spec: FunctionSpec) -> Iterator[Path]:
    """The value of Lambda's NODE_PATH, and the function's own where it has one: it is not reserved.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    The page does not have the function's own folder at its end, which a copy of Lambda's script has (unconfirmed):
    https://dev.to/wonderfulsoap/deep-dive-into-aws-lambda-3-official-nodejs-runtime-analysis-43je
    """
    its_own = f"/opt/nodejs/node{node_version(spec.runtime)}/node_modules"
    ours = ":".join([its_own, "/opt/nodejs/node_modules", _SDK, "/var/task"])
    for each in filter(None, (spec.environment.get("NODE_PATH") or ours).split(":")):
        path = os.path.normpath(each)
        if path.startswith("/opt/"):
            inside = path.removeprefix("/opt/")
            # What `sam build` puts under nodejs/ is not there before.
            yield from (layer / place for layer in spec.layers for place in (inside, inside.removeprefix("nodejs/")))
        elif path == _SDK:
            yield node_sdk.folder() / "node_modules"
        else:
            task = Path(path)
            yield spec.code / task.relative_to("/var/task") if task.is_relative_to("/var/task") else task


def _path(folders: Iterable[Path]) -> str:
    return os.pathsep.join(str(folder.resolve()) for folder in folders)
