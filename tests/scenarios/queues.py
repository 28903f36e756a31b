"""What a run finds of its own in queues that others use, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oncekit.stack.stack import Stack

HIDDEN_SECONDS = 30
MOST_LOOKS = 50
"""Of ten messages each: a queue with more is somebody's to clear up first."""


@dataclass
class Queues:
    """Takes the run's own messages out as it sees them; others' become visible again at once.

    A message of somebody else that was looked at counts one more receive; neither of these queues has a redrive policy
    that would mind.
    """

    stack: Stack
    mark: str
    """What is in each message of this run, and in no other."""
    receive_seconds: int
    _seen: dict[str, list[str]] = field(default_factory=dict)
    _expected: list[tuple[str, str]] = field(default_factory=list)

    def expect(self, output: str, what: str) -> None:
        """A message with `what` in it is going to come to the queue of this output."""
        self._expected.append((output, what))

    def missing(self) -> list[str]:
        """What of the messages that are expected has not been seen."""
        return [what for output, what in self._expected if not any(what in body for body in self._seen.get(output, ()))]

    def own(self, output: str) -> list[str]:
        """The bodies of the run's messages that have come to the queue of this output, taken out of it."""
        self.take(output)
        return self._seen[output]

    def take(self, output: str) -> int:
        """Take the run's own messages out of the queue of this output; how many there were."""
        found = self._found(self.stack.outputs[output])
        self._seen.setdefault(output, []).extend(found)
        return len(found)

    def _found(self, url: str) -> list[str]:
        queue = self.stack.client("sqs")
        own: list[str] = []
        held: dict[str, str] = {}
        try:
            for _ in range(MOST_LOOKS):
                received = self._receive(url)
                fresh = [each for each in received if each["MessageId"] not in held]
                held |= {each["MessageId"]: each["ReceiptHandle"] for each in received}
                for message in fresh:
                    if self.mark in message["Body"]:
                        own.append(str(message["Body"]))
                        queue.delete_message(QueueUrl=url, ReceiptHandle=held.pop(message["MessageId"]))
                if not fresh:
                    break
        finally:
            for receipt in held.values():
                queue.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)
        return own

    def _receive(self, url: str) -> list[dict[str, Any]]:
        answer = self.stack.client("sqs").receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            WaitTimeSeconds=self.receive_seconds,
            VisibilityTimeout=HIDDEN_SECONDS,
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages
