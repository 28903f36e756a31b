"""Calls of AWS services for an integration, as its role."""

from __future__ import annotations

import datetime
import json
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from botocore import xform_name
from botocore.exceptions import ClientError

from oncekit.local.client_errors import InNameOnly
from oncekit.local.clock import Clock
from oncekit.local.gateway.refusals import NotRunHere, Refused
from oncekit.local.permissions import Caller, Permissions

Make = Callable[[str, str, dict[str, Any]], dict[str, Any]]
"""Makes a call, given boto3's names of service and method, and the parameters; raises ClientError."""
_ACTION = re.compile(r"arn:[^:]+:apigateway:[^:]+:(\w+):action/(\w+)")
_OBJECT = re.compile(r"arn:[^:]+:apigateway:[^:]+:s3:path/([^/]+)/(.+)")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
LONGEST_SECONDS = 29
"""How long API Gateway waits for an integration (quotas; more is possible on request)."""
_CLIENTS = {"states": "stepfunctions"}
"""By service in the URI of an integration: boto3's name of it, where it is another."""


@dataclass(frozen=True)
class Backend:
    """What the service answered."""

    status: int
    body: str


class Integrations:
    """Makes the calls; `guard` knows what the role may do."""

    def __init__(self, make: Make, guard: Permissions, clock: Clock) -> None:
        self._make = make
        self._clock = clock
        self._guard = guard

    def call(self, integration: Mapping[str, Any], body: str, path: Mapping[str, str], api: str) -> Backend:
        """The service's answer to what the template of the request made: a body, and parts of the path.

        Raises Refused where the service does not answer in time, NotRunHere for a machine that is in name only.
        """
        uri = _PLACEHOLDER.sub(lambda each: path[each[1]], str(integration["uri"]))
        caller = Caller(str(integration["credentials"]), api)
        if found := _OBJECT.fullmatch(uri):
            return self._made(caller, "s3", "GetObject", {"Bucket": found[1], "Key": found[2]})
        action = _ACTION.fullmatch(uri)
        if action is None:
            raise Refused("API_CONFIGURATION_ERROR", "Internal server error")
        try:
            parameters = json.loads(body)
        except ValueError:
            return Backend(400, json.dumps({"__type": "SerializationException"}))
        return self._in_time(lambda: self._made(caller, action[1], action[2], parameters))

    def _made(self, caller: Caller, service: str, operation: str, parameters: dict[str, Any]) -> Backend:
        try:
            self._guard.check(caller, service, operation, parameters)
            answered = self._make(_CLIENTS.get(service, service), xform_name(operation), parameters)
        except InNameOnly as error:
            raise NotRunHere(error.what) from error
        except ClientError as error:
            return _failed(error)
        if service == "s3":
            return Backend(200, answered["Body"].read().decode())
        answered.pop("ResponseMetadata", None)
        return Backend(200, json.dumps(answered, default=_plain))

    def _in_time(self, call: Callable[[], Backend]) -> Backend:
        """The answer of a call; the call goes on when it takes longer than API Gateway waits."""
        done: Future[Backend] = Future()

        def work() -> None:
            try:
                answer = call()
            except Exception as error:  # handed over to the thread that waits
                _first(done.set_exception, error)
            else:
                _first(done.set_result, answer)

        def give_up() -> None:
            _first(done.set_exception, Refused("INTEGRATION_TIMEOUT", "Endpoint request timed out"))
            self._clock.leave()

        take_back = self._clock.at(self._clock.now() + LONGEST_SECONDS, give_up)
        threading.Thread(target=work, name="integration", daemon=True).start()
        try:
            return done.result()
        finally:
            take_back()


def _first(end: Callable[[Any], None], value: object) -> None:
    """Of an answer and the end of waiting what comes first counts, however late the thread that waits is woken."""
    with suppress(InvalidStateError):
        end(value)


def _failed(error: ClientError) -> Backend:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    said = error.response["Error"]
    return Backend(status, json.dumps({"__type": said["Code"], "message": said.get("Message", "")}))


def _plain(value: object) -> object:
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    raise TypeError(f"{type(value).__name__} is not JSON")
