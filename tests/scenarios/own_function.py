"""The one function that the suite deploys, and takes away again: business logic that follows a script.

The stack's parameter Operations names it already, so that its machines may invoke it: `e2e=NAME:live`. It gets the
runtime, layer and tables of the stack's place-order function, and a role of its own, since that of place-order reaches
the records of place-order only. It may write no log: an error is in the execution.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from scenarios.backend import Backend

from oncekit.contract.operation_functions import LIVE, OperationFunctions
from oncekit.problem import Problem
from oncekit.stack.stack import Stack

CODE = Path(__file__).parent / "function" / "app.py"
OPERATION, MODEL = "e2e", "place-order"
TAKEN_OVER = ("ORDERS_TABLE", "STOCK_TABLE", "POWERTOOLS_METRICS_NAMESPACE")
POLICY = "scenarios"
SECONDS_TO_SPREAD = 30
"""What is made in IAM is seen everywhere after some seconds."""


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
    given = {
        "FunctionName": name,
        "Description": "Of a run of the scenario suite, which deletes it at its end.",
        "Runtime": model["Runtime"],
        "Architectures": model["Architectures"],
        "Role": _role(stack, name, model),
        "Handler": "app.handler",
        "Code": {"ZipFile": _zip()},
        "Layers": [layer["Arn"] for layer in model["Layers"]],
        "Timeout": backend.function_seconds,
        "MemorySize": 512,
        "Environment": {"Variables": variables},
        "Publish": True,
    }
    made = _created(functions, given)
    functions.get_waiter("published_version_active").wait(FunctionName=name, Qualifier=made["Version"])
    functions.create_alias(FunctionName=name, Name=LIVE, FunctionVersion=made["Version"])


def _created(functions: Any, given: dict[str, Any]) -> Any:
    """Lambda refuses a role for some seconds after it was made."""
    for _ in range(SECONDS_TO_SPREAD):
        with suppress(functions.exceptions.InvalidParameterValueException):
            return functions.create_function(**given)
        time.sleep(1)
    return functions.create_function(**given)


def _role(stack: Stack, name: str, model: Any) -> str:
    """The ARN of a role that may do what a function with fenced steps and large results needs, for this operation."""
    partition, region, account = (model["FunctionArn"].split(":")[each] for each in (1, 3, 4))
    tables = f"arn:{partition}:dynamodb:{region}:{account}:table"
    variables, record = model["Environment"]["Variables"], f"{tables}/{stack.outputs['TableName']}"
    own_keys = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": f"*#{OPERATION}#*"}}
    allowed: list[tuple[list[str], str, dict[str, Any]]] = [
        (["dynamodb:GetItem", "dynamodb:UpdateItem"], record, own_keys),
        (["dynamodb:PutItem"], f"{tables}/{variables['ORDERS_TABLE']}", {}),
        (["dynamodb:UpdateItem"], f"{tables}/{variables['STOCK_TABLE']}", {}),
        (
            ["s3:PutObject", "s3:GetObject"],
            f"arn:{partition}:s3:::{stack.outputs['ResponseBucketName']}/responses/*",
            {},
        ),
    ]
    if key := stack.parameters.get("EncryptionKeyArn"):
        allowed.append((["kms:Decrypt", "kms:GenerateDataKey"], key, {}))
    statements = [
        {"Effect": "Allow", "Action": actions, "Resource": resource, **({"Condition": condition} if condition else {})}
        for actions, resource, condition in allowed
    ]
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    iam = stack.client("iam")
    with suppress(iam.exceptions.EntityAlreadyExistsException):  # of a run that was interrupted
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=_document([trust]))
    iam.put_role_policy(RoleName=name, PolicyName=POLICY, PolicyDocument=_document(statements))
    return str(iam.get_role(RoleName=name)["Role"]["Arn"])


def _document(statements: list[dict[str, Any]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


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
    """Delete the function, its role, and its log group where somebody let it make one."""
    functions, logs, iam = stack.client("lambda"), stack.client("logs"), stack.client("iam")
    with suppress(functions.exceptions.ResourceNotFoundException):
        functions.delete_function(FunctionName=name_of(stack))
    with suppress(iam.exceptions.NoSuchEntityException):
        iam.delete_role_policy(RoleName=name_of(stack), PolicyName=POLICY)
    with suppress(iam.exceptions.NoSuchEntityException):
        iam.delete_role(RoleName=name_of(stack))
    with suppress(logs.exceptions.ResourceNotFoundException):
        logs.delete_log_group(logGroupName=f"/aws/lambda/{name_of(stack)}")
