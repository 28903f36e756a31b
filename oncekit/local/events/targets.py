"""Targets: starts executions, invokes functions and sends messages; failures have EventBridge's error codes."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from oncekit.local.events.deliveries import Invoke, Refusal
from oncekit.local.permissions import Caller, Permissions

Clients = Callable[[str], Any]
_log = logging.getLogger(__name__)

_NAME_ONLY = "NOT_RUN_HERE"
"""Of the local cloud, not of EventBridge: it has the state machine in name only."""
# Which error of an API EventBridge calls what is not documented; that what cannot go better is not tried again, is.
_FINAL = {
    "StateMachineDoesNotExist": "NO_RESOURCE",
    "StateMachineDeleting": "NO_RESOURCE",
    "AWS.SimpleQueueService.NonExistentQueue": "NO_RESOURCE",
    "QueueDoesNotExist": "NO_RESOURCE",
    "StateMachineTypeNotSupported": _NAME_ONLY,
    "ResourceNotFoundException": "NO_RESOURCE",
    "NotFound": "NO_RESOURCE",
    "AccessDenied": "NO_PERMISSIONS",
    "AccessDeniedException": "NO_PERMISSIONS",
    "AuthorizationError": "NO_PERMISSIONS",
    "InvalidArn": "INVALID_PARAMETER",
    "InvalidExecutionInput": "INVALID_PARAMETER",
    "InvalidParameterValue": "INVALID_PARAMETER",
    "ValidationException": "INVALID_PARAMETER",
}
_THROTTLED = ("Throttling", "ThrottlingException", "TooManyRequestsException", "RequestThrottled")


def is_target(arn: str) -> bool:
    """Whether the local cloud delivers to a resource."""
    return _service_of(arn) in ("states", "sqs", "lambda", "sns")


def takes_json(arn: str) -> bool:
    """Whether a resource takes nothing but JSON."""
    return _service_of(arn) in ("states", "lambda")


def _service_of(arn: str) -> str:
    return (arn.split(":")[2:3] or [""])[0]


def refusal_of(error: Exception) -> Refusal:
    """A failed call in EventBridge's words."""
    if isinstance(error, Refusal):
        return error
    if not isinstance(error, ClientError):
        return Refusal("SDK_CLIENT_ERROR", str(error), again=True)
    code = error.response["Error"]["Code"]
    message = error.response["Error"].get("Message", "")
    if code in _FINAL:
        return Refusal(_FINAL[code], message)
    return Refusal("THROTTLING" if code in _THROTTLED else "ERROR_FROM_TARGET", message, again=True)


class Targets:
    """Sends to resources by their ARN, if the role of the rule, schedule or pipe allows it."""

    def __init__(self, clients: Clients, invoke: Invoke, guard: Permissions) -> None:
        self._clients = clients
        self._invoke = invoke
        self._guard = guard

    def send(self, target: Mapping[str, Any], text: str, sender: str) -> None:
        """Give a target its input. Raises Refusal.

        A target without a RoleArn has a policy of its own, which is not looked at here.
        """
        arn = str(target["Arn"])
        caller = Caller(target.get("RoleArn"), sender)
        try:
            if _service_of(arn) != "states":
                self.put(arn, text, caller)
                return
            self._guard.check(caller, "states", "StartExecution", {"stateMachineArn": arn})
            # EventBridge and its relatives name an execution themselves; none of their users can.
            name = str(uuid.uuid4())
            self._clients("stepfunctions").start_execution(stateMachineArn=arn, name=name, input=text)
        except (ClientError, BotoCoreError) as error:
            refusal = refusal_of(error)
            if refusal.code == _NAME_ONLY:  # not all have a dead-letter queue, and a pipe's has no reasons
                _log.error("%s starts nothing: %s", sender, refusal.message)
            raise refusal from error

    def put(self, arn: str, body: str, caller: Caller, attributes: Mapping[str, str | int] | None = None) -> None:
        """Send a message to a queue or a topic, an event to a function, a record of an invocation to a bus.

        Raises ClientError.
        """
        given = {name: _attribute(value) for name, value in (attributes or {}).items()}
        service = _service_of(arn)
        if service == "lambda":
            self._guard.check(caller, service, "Invoke", {"FunctionName": arn})
            self._invoke(FunctionName=arn, Payload=body, InvocationType="Event")
        elif service == "sns":
            self._guard.check(caller, service, "Publish", {"TopicArn": arn})
            self._clients("sns").publish(TopicArn=arn, Message=body, MessageAttributes=given)
        elif service == "events":
            succeeded = json.loads(body)["requestContext"]["condition"] == "Success"
            kind = f"Lambda Function Invocation Result - {'Success' if succeeded else 'Failure'}"
            entry = {"Source": "lambda", "DetailType": kind, "EventBusName": arn, "Detail": body}
            self._guard.check(caller, service, "PutEvents", {"Entries": [entry]})
            self._clients("events").put_events(Entries=[entry])
        else:
            self._guard.check(caller, "sqs", "SendMessage", {"QueueUrl": arn.replace(":", "/")})
            sqs = self._clients("sqs")
            url = sqs.get_queue_url(QueueName=arn.split(":")[5])["QueueUrl"]
            sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=given)


def _attribute(value: str | int) -> dict[str, str]:
    return {"DataType": "Number" if isinstance(value, int) else "String", "StringValue": str(value)}
