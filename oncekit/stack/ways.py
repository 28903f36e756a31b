"""The ways in which `once send` sends a request to a stack."""

from __future__ import annotations

from typing import Any, Literal

from oncekit.contract.lanes import FULL, MACHINES, Lane
from oncekit.problem import Problem
from oncekit.stack.stack import Stack

Way = Literal["eventbridge", "sqs", "direct"]
DIRECT: Way = "direct"
TRIGGERS = {"eventbridge": ("EventBusName", "EventBusName=own"), "sqs": ("RequestQueueUrl", "QueueTrigger=true")}
"""By way the output that it needs, and the parameter that switches it on."""
DETAIL_TYPE = "OperationRequested"
SOURCE = "once.send"


def send(stack: Stack, request: str, via: str, times: int, lane: Lane = FULL) -> dict[str, Any]:
    """{via, to, sent: [id of event or message, or execution ARN]}. Raises Problem when the trigger is off.

    `lane` is that of an execution; the stack's parameter Lane is that of events and messages.
    """
    to = stack.outputs[MACHINES[lane]] if via == DIRECT else address(stack, via)
    return {"via": via, "to": to, "sent": [_sent(stack, request, via, lane) for _ in range(times)]}


def address(stack: Stack, via: str) -> str:
    """Where a trigger takes requests. Raises Problem when it is off."""
    output, what = TRIGGERS[via]
    if output not in stack.outputs:
        raise Problem(
            f"--via {via}: this trigger is switched off in the stack {stack.name} (it has no output {output}); "
            f"deploy with {what}, or send another way"
        )
    return stack.outputs[output]


def _sent(stack: Stack, request: str, via: str, lane: Lane) -> str:
    if via == DIRECT:
        starts = stack.client("stepfunctions").start_execution
        return str(starts(stateMachineArn=stack.start_in(lane), input=request)["executionArn"])
    if via == "sqs":
        return str(stack.client("sqs").send_message(QueueUrl=address(stack, via), MessageBody=request)["MessageId"])
    # A stack may want a beginning of the source; empty lets every source request.
    wanted = stack.parameters.get("EventSource", "")
    entry = {
        "EventBusName": address(stack, via),
        "Source": SOURCE if SOURCE.startswith(wanted) else f"{wanted}{SOURCE}",
        "DetailType": DETAIL_TYPE,
        "Detail": request,
    }
    (answer,) = stack.client("events").put_events(Entries=[entry])["Entries"]
    if "EventId" not in answer:
        raise Problem(f"the bus refused the event: {answer.get('ErrorCode')}: {answer.get('ErrorMessage')}")
    return str(answer["EventId"])
