"""The one function that the suite deploys, and takes away again: business logic that follows a script.

The stack's parameter Operations names it already, so that its machines may invoke it: `e2e=NAME:live`. It gets the
runtime, layer, role and tables of the stack's place-order function, so that nobody has to grant anything else.
That role may write only to place-order's own log group: the function leaves no log, and an error is in the execution.
"""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from pathlib import Path

from scenarios.backend import Backend

from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.operation_functions import LIVE, OperationFunctions

CODE = Path(__file__).parent / "function" / "app.py"
OPERATION, MODEL = "e2e", "place-order"
TAKEN_OVER = ("ORDERS_TABLE", "STOCK_TABLE", "POWERTOOLS_METRICS_NAMESPACE")


def name_of(stack: Stack, operation: str = OPERATION) -> str:
    """Raises Problem when the stack has no such operation."""
    found = OperationFunctions.of(stack.outputs).function_of(operation)
    if found is None:
        raise Problem(
            f"the stack {stack.name} has no operation {operation}: deploy it with the parameter Operations "
            f"{operation}={stack.name}-{operation}:{LIVE}; the suite makes that function, and deletes it"
        )
    return found.name


def deploy(backend: Backend) -> None:
    """Deploy the function, and wait until it can be invoked."""
    stack, name = backend.stack, name_of(backend.stack)
    functions = stack.client("lambda")
    model = functions.get_function_configuration(FunctionName=name_of(stack, MODEL))
    variables = {key: model["Environment"]["Variables"][key] for key in TAKEN_OVER}
    variables |= {
        "POWERTOOLS_SERVICE_NAME": OPERATION,
        "RESPONSE_BUCKET": stack.outputs["ResponseBucketName"],
        "LATCH_SECONDS": str(backend.function_seconds - 1),
        "LOOK_SECONDS": str(backend.look_seconds),
    }
    made = functions.create_function(
        FunctionName=name,
        Description="Of a run of the scenario suite, which deletes it at its end.",
        Runtime=model["Runtime"],
        Architectures=model["Architectures"],
        Role=model["Role"],
        Handler="app.handler",
        Code={"ZipFile": _zip()},
        Layers=[layer["Arn"] for layer in model["Layers"]],
        Timeout=backend.function_seconds,
        MemorySize=512,
        Environment={"Variables": variables},
        Publish=True,
    )
    functions.get_waiter("published_version_active").wait(FunctionName=name, Qualifier=made["Version"])
    functions.create_alias(FunctionName=name, Name=LIVE, FunctionVersion=made["Version"])


def _zip() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo("app.py")
        entry.external_attr = 0o644 << 16  # Lambda runs as another user than the one that unpacks
        archive.writestr(entry, CODE.read_text())
    return content.getvalue()


def exists(stack: Stack) -> bool:
    functions = stack.client("lambda")
    try:
        functions.get_function_configuration(FunctionName=name_of(stack))
    except functions.exceptions.ResourceNotFoundException:
        return False
    return True


def remove(stack: Stack) -> None:
    """Delete the function, and its log group where a role of yours let it make one."""
    functions, logs = stack.client("lambda"), stack.client("logs")
    with suppress(functions.exceptions.ResourceNotFoundException):
        functions.delete_function(FunctionName=name_of(stack))
    with suppress(logs.exceptions.ResourceNotFoundException):
        logs.delete_log_group(logGroupName=f"/aws/lambda/{name_of(stack)}")
