"""Business logic in the model: real code, run again from its start with the answers that its calls have had so far.

So every call is a move of its own, and between any two calls of it the rest of the world may move.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError
from once.lock import Lock
from once.step import Step
from once.step_log import StepLog

from oncekit.proof.model.record import LEDGER

LOST = '"lost"'


@dataclass(frozen=True, slots=True)
class Calls:
    """The function waits for the answer to a call."""

    action: str
    call: str


@dataclass(frozen=True, slots=True)
class Returns:
    payload: str


@dataclass(frozen=True, slots=True)
class Raises:
    name: str
    message: str


Stage = Calls | Returns | Raises


class _Pause(BaseException):
    """Raised through the business logic by the call that has no answer yet."""

    def __init__(self, stage: Calls) -> None:
        self.stage = stage


class _Exceptions:
    """botocore's exceptions by code, as a client has them."""

    @functools.cache  # noqa: B019  one object for the whole process
    def __getattr__(self, code: str) -> type[ClientError]:
        return type(code, (ClientError,), {})


class ReplayedClient:
    """A client whose first calls have the answers given; the next one pauses the function."""

    exceptions: Any = _Exceptions()

    def __init__(self, answers: tuple[str, ...]) -> None:
        self._answers = list(answers)

    def __getattr__(self, action: str) -> Callable[..., Any]:
        def call(**parameters: Any) -> Any:
            if not self._answers:
                raise _Pause(Calls(action, json.dumps(parameters, sort_keys=True)))
            answer = json.loads(self._answers.pop(0))
            if answer == "lost":
                raise ConnectionClosedError(endpoint_url="dynamodb")
            if "Error" in answer:
                raise getattr(self.exceptions, answer["Error"]["Code"])(answer, action)
            return answer

        return call


@functools.cache
def stage_of(event: str, answers: tuple[str, ...]) -> Stage:
    """Where a function that was invoked with `event` is after these answers."""
    try:
        payload = charge(json.loads(event), ReplayedClient(answers))
    except _Pause as pause:
        return pause.stage
    except Exception as error:
        return Raises(type(error).__name__, str(error))
    return Returns(json.dumps(payload))


def charge(event: dict[str, Any], client: Any) -> dict[str, Any]:
    """One fenced step of the library: counts its effect in the ledger, and returns what the step has kept."""
    given = event["lock"]
    lock = Lock(given["table"], given["id"], given["owner"], given["fence"], given["leaseExpiresAt"])
    steps = StepLog(lock, client, pause=lambda _: None, uniform=lambda low, _: low, token=lambda: "token")

    def write(step: Step) -> str:
        step.update(LEDGER, {"id": "effect"}, "ADD n :one", {":one": 1})
        return f"charged under fence {lock.fence}"

    return {"onceResult": json.dumps(steps.run("charge", write, "charge")), "replyToken": event["replyToken"]}
