"""What CloudFormation tells of the stack: DescribeStacks, with the outputs and parameters of what is deployed."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from local.engine.patching import replaced
from local.resources import ACCOUNT, STACK
from local.template import REGION

Values = Callable[[], Mapping[str, str]]


@contextmanager
def serve_stack(outputs: Values, parameters: Values) -> Iterator[None]:
    """While it is open, moto answers DescribeStacks with this stack; of any other it says that there is none."""
    from moto.cloudformation.exceptions import ValidationError
    from moto.cloudformation.responses import CloudFormationResponse
    from moto.core.responses import ActionResult

    stack_id = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/local"
    created = datetime.datetime.now(datetime.UTC)

    def describe_stacks(self: Any) -> Any:
        wanted = self._get_param("StackName")
        if wanted not in (None, STACK, stack_id):
            raise ValidationError(wanted)
        stack = {
            "StackName": STACK,
            "StackId": stack_id,
            "StackStatus": "CREATE_COMPLETE",
            "CreationTime": created,
            "Tags": {},  # moto makes a list of it
            "Outputs": [{"OutputKey": key, "OutputValue": value} for key, value in outputs().items()],
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters().items()],
        }
        return ActionResult({"Stacks": [stack]})

    with replaced((CloudFormationResponse, "describe_stacks", describe_stacks)):
        yield
