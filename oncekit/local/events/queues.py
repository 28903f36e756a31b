"""Queues in the clock's time: visibility timeouts, delays, and the redrive policy, on moto's SQS.

moto uses the wall clock, makes a message visible a millisecond too late, and lets a long poll wait for virtual time to
pass; here such a poll waits in real time. Messages of one group that were received together come again in their order,
where moto begins with the last. The sequence numbers of a FIFO queue grow here; moto's are random. A message
that was received as often as the redrive policy allows is moved to the dead-letter queue at the next receive, as on
AWS.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.clock import Clock
from oncekit.local.endpoint.own_services import Answer, Proceed, Request
from oncekit.local.patching import Change

POLL_SECONDS = 0.05
_ONE_AT_A_TIME = threading.RLock()
"""Held by who receives, and by who sends a batch: who looks into the queue meanwhile finds all of it, each time."""


def answer(request: Request, proceed: Proceed) -> Answer:
    """Moto's answers."""
    if request.target != "SendMessageBatch":
        return proceed()
    with _ONE_AT_A_TIME:
        return proceed()


def changes(clock: Clock, changed: Callable[[Any], None]) -> list[Change]:
    """While open, queues live in the clock's time; `changed` gets each queue that may have a message to offer."""
    from moto.sqs import models

    numbers = itertools.count(1)
    receive, add, change = (
        models.SQSBackend.receive_message,
        models.Queue.add_message,
        models.SQSBackend.change_message_visibility,
    )

    def receive_message(
        self: Any, queue_name: str, count: int, wait_seconds_timeout: int, *args: Any, **kwargs: Any
    ) -> Any:
        end = time.monotonic() + wait_seconds_timeout
        while True:
            with _ONE_AT_A_TIME:
                queue = self.get_queue(queue_name)
                queue.pending_messages.difference_update(queue.messages)  # moto does so one by one, out of order
                found = receive(self, queue_name, count, 0, *args, **kwargs)
            if found or time.monotonic() >= end:
                return found
            time.sleep(POLL_SECONDS)

    def add_message(self: Any, message: Any) -> None:
        if self.fifo_queue:
            message.sequence_number = f"{next(numbers):020}"
        add(self, message)
        changed(self)

    def change_message_visibility(self: Any, queue_name: str, *args: Any, **kwargs: Any) -> None:
        change(self, queue_name, *args, **kwargs)
        changed(self.get_queue(queue_name))

    return [
        (models, "unix_time", lambda *_: clock.now()),
        (models, "unix_time_millis", lambda *_: clock.now() * 1000),
        (models.Message, "visible", property(lambda self: clock.now() * 1000 >= self.visible_at)),
        (models.Queue, "add_message", add_message),
        (models.SQSBackend, "receive_message", receive_message),
        (models.SQSBackend, "change_message_visibility", change_message_visibility),
    ]


def next_offer(queue: Any, now: float) -> float | None:
    """When the next of a queue's hidden or delayed messages can be received; None when there is none."""
    times = [max(message.visible_at, message.delayed_until) / 1000 for message in queue._messages]
    return min((each for each in times if each > now), default=None)


def backend() -> Any:
    """Moto's queues."""
    from moto.sqs.models import sqs_backends

    return sqs_backends[ACCOUNT][REGION]


def make(name: str) -> None:
    """A queue that nobody made: on AWS another stack has."""
    if name not in backend().queues:
        fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        backend().create_queue(name, **fifo)
