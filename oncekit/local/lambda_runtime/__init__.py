"""Lambda on this machine: functions in processes of their own, those in Python run by AWS's own runtime client
`awslambdaric`.

spec.py              the data of a function, of an invocation, and of a line of the log
runtime.py           the service: functions by name, warm environments, throttling, the shapes of boto3
environment.py       one execution environment: one invocation at a time, its time limit and its end
process.py           the process of one environment: its messages, and what it prints
variables.py         the environment variables that Lambda gives a function
languages.py         which languages run here, and how
entry.py             the code that runs first in that process, in Python
entry.cjs            the same in Node.js; resolve.mjs is its part that finds what is imported
bootstrap.py         the same of `provided`: the API that its executable asks for events
not_loaded.py        why the code of a function could not be loaded, for people
node_sdk.py          the folder of what Lambda's Node.js brings
api.py               Lambda's API at moto's endpoint
"""

from oncekit.local.lambda_runtime.runtime import LambdaRuntime
from oncekit.local.lambda_runtime.spec import FunctionSpec, Invocation, LogLine

__all__ = ["FunctionSpec", "Invocation", "LambdaRuntime", "LogLine"]
