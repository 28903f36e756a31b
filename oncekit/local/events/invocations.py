"""Asynchronous invocations of functions: by rules, schedules, topics, buckets, and by clients (InvocationType Event).

Developer Guide, *How Lambda handles errors and retries with asynchronous invocation*: "by default Lambda attempts to
run it two more times, with a one-minute wait between the first two attempts, and two minutes between the second and
third attempts"; for throttling "Lambda returns the event to the queue and attempts to run the function again for up to
6 hours by default", from one second to "a maximum of 5 minutes". MaximumRetryAttempts and MaximumEventAgeInSeconds of
an EventInvokeConfig say how often and how long. All attempts have one request id: AWS's Knowledge Center (*Lambda
function duplicate invocations*) tells attempts of Lambda by that.

What fails in the end goes to the function's dead-letter queue, as it came, with RequestID, ErrorCode and ErrorMessage,
and its record to the destination OnFailure; that of what succeeds to OnSuccess. Destinations are queues, topics,
functions and buses; both are sent to under the function's role.
"""

from __future__ import annotations

import datetime
import json
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import ClientError

from oncekit.local.account import function_arn, name_and_qualifier
from oncekit.local.clock import Clock
from oncekit.local.deployment.resources import Deployed
from oncekit.local.events.deliveries import Invoke
from oncekit.local.events.delivery_queue import DeliveryQueue
from oncekit.local.permissions import Caller

_PAUSES = (60.0, 120.0)
_LONGEST_PAUSE = 300.0
_DEAD_LETTER_BYTES = 1024
"""Of an error's message."""
LATEST = "$LATEST"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What becomes of the asynchronous invocations of a function."""

    role: str | None = None
    dead_letters: str | None = None
    """ARN."""
    retries: int = len(_PAUSES)
    age: float = 21_600.0
    """Seconds."""
    on_success: str | None = None
    on_failure: str | None = None


@dataclass(frozen=True)
class _Queued:
    """An event in the function's own queue."""

    function: str
    """A name or an ARN."""
    payload: bytes
    request_id: str
    since: float
    attempt: int = 0
    """Of those that ended in an error."""
    throttled: int = 0


def settings_of(resources: Mapping[str, Deployed]) -> dict[tuple[str, str], Settings]:
    """By the name of the function, and the alias that they are for or $LATEST."""
    found: dict[tuple[str, str], Settings] = {}
    functions = {each.ref: each.properties for each in resources.values() if each.type == "AWS::Lambda::Function"}
    for name, properties in functions.items():
        letters = (properties.get("DeadLetterConfig") or {}).get("TargetArn")
        found[name, LATEST] = Settings(properties.get("Role"), letters)
    for each in resources.values():
        if each.type != "AWS::Lambda::EventInvokeConfig" or not each.ref:
            continue
        given = each.properties
        name, _ = name_and_qualifier(str(given["FunctionName"]))
        ends = given.get("DestinationConfig") or {}
        found[name, str(given["Qualifier"])] = replace(
            found.get((name, LATEST), Settings()),
            retries=int(given.get("MaximumRetryAttempts", Settings.retries)),
            age=float(given.get("MaximumEventAgeInSeconds", Settings.age)),
            on_success=(ends.get("OnSuccess") or {}).get("Destination"),
            on_failure=(ends.get("OnFailure") or {}).get("Destination"),
        )
    return found


Send = Callable[[str, str, Caller, Mapping[str, str | int]], None]
"""Sends a text to the resource of an ARN, with the attributes of a message. Raises ClientError."""


class Invocations:
    """The queues of all functions."""

    def __init__(self, clock: Clock, delivery_queue: DeliveryQueue, invoke: Invoke, send: Send) -> None:
        self._clock = clock
        self._delivery_queue = delivery_queue
        self._invoke = invoke
        self._send = send
        self._settings: Mapping[tuple[str, str], Settings] = {}

    def deploy(self, settings: Mapping[tuple[str, str], Settings]) -> None:
        self._settings = settings

    def accept(self, function: str, payload: bytes) -> None:
        """An event for a function that is there."""
        self._go(_Queued(function, payload, str(uuid.uuid4()), self._clock.now()))

    def _go(self, queued: _Queued) -> None:
        self._delivery_queue.aside(lambda: self._attempt(queued))

    def _of(self, queued: _Queued) -> Settings:
        name, qualifier = name_and_qualifier(queued.function)
        plain = self._settings.get((name, LATEST), Settings())
        if qualifier in (None, LATEST):
            return plain
        # Without a configuration of its own, an alias has the defaults; the dead-letter queue is the function's.
        return self._settings.get((name, qualifier), Settings(plain.role, plain.dead_letters))

    def _attempt(self, queued: _Queued) -> None:
        try:
            answer = self._invoke(FunctionName=queued.function, Payload=queued.payload, RequestId=queued.request_id)
        except ClientError as error:
            self._refused(queued, error)
            return
        body = answer["Payload"].read()
        if "FunctionError" not in answer:
            self._end(queued, "Success", answer, body)
            return
        settings, ended = self._of(queued), replace(queued, attempt=queued.attempt + 1)
        pause = _PAUSES[min(queued.attempt, len(_PAUSES) - 1)]
        if queued.attempt >= settings.retries:
            self._end(ended, "RetriesExhausted", answer, body)
        elif self._clock.now() + pause - queued.since > settings.age:
            self._end(ended, "EventAgeExceeded", answer, body)
        else:
            self._delivery_queue.later(pause, lambda: self._go(ended))

    def _refused(self, queued: _Queued, error: ClientError) -> None:
        """It is throttled, or no longer there."""
        pause = min(2.0**queued.throttled, _LONGEST_PAUSE)
        is_throttled = error.response["Error"]["Code"] == "TooManyRequestsException"
        if is_throttled and self._clock.now() + pause - queued.since <= self._of(queued).age:
            again = replace(queued, throttled=queued.throttled + 1)
            self._delivery_queue.later(pause, lambda: self._go(again))
            return
        body = json.dumps({"errorMessage": error.response["Error"]["Message"]}).encode()
        self._end(queued, "EventAgeExceeded", {"StatusCode": 429 if is_throttled else 404}, body)

    def _end(self, queued: _Queued, condition: str, answer: Mapping[str, Any], body: bytes) -> None:
        settings = self._of(queued)
        name, qualifier = name_and_qualifier(queued.function)
        caller = Caller(settings.role, name)
        succeeded = condition == "Success"
        if not succeeded and settings.dead_letters:
            said = str((json.loads(body) or {}).get("errorMessage", ""))[:_DEAD_LETTER_BYTES]
            about: dict[str, str | int] = {
                "RequestID": queued.request_id,
                "ErrorCode": int(answer["StatusCode"]),
                "ErrorMessage": said,
            }
            self._tell(settings.dead_letters, queued.payload.decode(), caller, about)
        destination = settings.on_success if succeeded else settings.on_failure
        if destination is None:
            return
        error = {"functionError": answer["FunctionError"]} if "FunctionError" in answer else {}
        now = datetime.datetime.fromtimestamp(self._clock.now(), datetime.UTC)
        record = {
            "version": "1.0",
            "timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "requestContext": {
                "requestId": queued.request_id,
                "functionArn": function_arn(name, qualifier or LATEST),
                "condition": condition,
                "approximateInvokeCount": queued.attempt + (1 if succeeded else 0),
            },
            "requestPayload": json.loads(queued.payload),
            "responseContext": {
                "statusCode": answer["StatusCode"],
                "executedVersion": answer.get("ExecutedVersion", LATEST),
                **error,
            },
            "responsePayload": json.loads(body),
        }
        self._tell(destination, json.dumps(record), caller, {})

    def _tell(self, arn: str, text: str, caller: Caller, attributes: Mapping[str, str | int]) -> None:
        try:
            self._send(arn, text, caller, attributes)
        except ClientError as error:  # on AWS, too, it is lost, and only a metric says so
            _log.error("%s cannot send to %s: %s", caller.session, arn, error)
