"""Lambda on this machine: the Lambda Runtime API in front of the real runtime client, one process per concurrent invocation.

    spec.py         what a function is, and what an invocation was
    environment.py  one execution environment: a process and the Runtime API that it talks to
    runtime.py      the service: functions by name, warm environments, throttling, the shapes of boto3
"""

from local.lambda_runtime.runtime import LambdaRuntime
from local.lambda_runtime.spec import FunctionSpec, Invocation

__all__ = ["FunctionSpec", "Invocation", "LambdaRuntime"]
