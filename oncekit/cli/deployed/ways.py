"""`once send`: a request to a deployed stack, on one of the ways that requests come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oncekit.cli.deployed.stack import Stack
from oncekit.local.lanes import FULL, MACHINES, Lane
from oncekit.problem import Problem

DIRECT = "direct"
DETAIL_TYPE = "OperationRequested"
SOURCE = "once.send"


def send(stack: Stack, request: str, via: str, times: int, lane: Lane = FULL) -> dict[str, Any]:
    """{via, to, sent: [id of event or message, or execution ARN]}. Raises Problem when the trigger is off.

    `lane` is that of an execution; the stack's parameter Lane is that of events and messages.
    """
    if via == DIRECT:
        machine = stack.start_in(lane)
        sent = [_execution(stack, machine, request) for _ in range(times)]
        return {"via": via, "to": stack.outputs[MACHINES[lane]], "sent": sent}
    one = TRIGGERS[via][2]
    return {"via": via, "to": address(stack, via), "sent": [one(stack, request) for _ in range(times)]}


def address(stack: Stack, via: str) -> str:
    """Where a trigger takes requests. Raises Problem when it is off."""
    output, what, _ = TRIGGERS[via]
    if output not in stack.outputs:
        raise Problem(
            f"--via {via}: this trigger is switched off in the stack {stack.name} (it has no output {output}); "
            f"deploy with {what}, or send another way"
        )
    return stack.outputs[output]


def _event(stack: Stack, request: str) -> str:
    # A stack may want a beginning of the source; empty lets every source request.
    wanted = stack.parameters.get("EventSource", "")
    entry = {
        "EventBusName": stack.outputs["EventBusName"],
        "Source": SOURCE if SOURCE.startswith(wanted) else f"{wanted}{SOURCE}",
        "DetailType": DETAIL_TYPE,
        "Detail": request,
    }
    (answer,) = stack.client("events").put_events(Entries=[entry])["Entries"]
    if "EventId" not in answer:
        raise Problem(f"the bus refused the event: {answer.get('ErrorCode')}: {answer.get('ErrorMessage')}")
    return str(answer["EventId"])


def _message(stack: Stack, request: str) -> str:
    url = stack.outputs["RequestQueueUrl"]
    return str(stack.client("sqs").send_message(QueueUrl=url, MessageBody=request)["MessageId"])


def _execution(stack: Stack, machine: str, request: str) -> str:
    started = stack.client("stepfunctions").start_execution(stateMachineArn=machine, input=request)
    return str(started["executionArn"])


TRIGGERS: dict[str, tuple[str, str, Callable[[Stack, str], str]]] = {
    "eventbridge": ("EventBusName", "EventBusName=own", _event),
    "sqs": ("RequestQueueUrl", "QueueTrigger=true", _message),
}
"""The output that a way needs, the parameter that switches it on, and what sends one request."""
WAYS = (*TRIGGERS, DIRECT)
