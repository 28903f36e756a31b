"""Requests in the fast lane: nobody can list, describe or stop an Express execution, and only its starter sees its end.

On AWS each is started synchronously, in a thread of its own, and the answer to that is its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from botocore.config import Config

from oncekit.stack.stack import Stack

Look = Callable[[], Mapping[str, Any] | None]
"""The end of an execution, in the shape of DescribeExecution; None while it runs."""
MOST_SECONDS = 330
"""Real ones, to an answer: longer than AWS lets an Express execution live."""


def started_synchronously(stack: Stack, name: str, text: str, has_host_prefixes: bool) -> Look:
    """Start an execution by StartSyncExecution.

    Of the machine, not of its alias: that the call takes an alias, AWS's reference does not say.
    """
    way = Config(inject_host_prefix=has_host_prefixes, read_timeout=MOST_SECONDS, retries={"total_max_attempts": 1})
    client = stack.session.client("stepfunctions", config=way, endpoint_url=stack.endpoint_url)
    answer = Future[Mapping[str, Any]]()

    def run() -> None:
        machine = stack.outputs["FastStateMachineArn"]
        try:
            answer.set_result(client.start_sync_execution(stateMachineArn=machine, name=name, input=text))
        except BaseException as error:  # raised again where somebody asks for the end
            answer.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return lambda: answer.result() if answer.done() else None


@dataclass
class FastLane:
    """A run's executions in the fast lane, by their names."""

    start_one: Callable[[str, str], Look]
    """Gets a name and an input."""
    _ends: dict[str, Look] = field(default_factory=dict)

    def start(self, name: str, text: str) -> None:
        self._ends[name] = self.start_one(name, text)

    def has(self, name: str) -> bool:
        return name in self._ends

    def end_of(self, name: str) -> Mapping[str, Any] | None:
        """In the shape of DescribeExecution; None while it runs."""
        return self._ends[name]()

    def running(self) -> list[str]:
        return [name for name, end in self._ends.items() if end() is None]
