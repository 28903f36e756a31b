"""Lines in the log group of the operator's function, as CloudWatch has them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from operating import ID, Operator

GROUP = "/aws/lambda/once_op-told"
STREAM = "2026/01/01/[1]environment"


def own(message: str, id: str = ID, request: str = "r1", attempt: int = 1) -> str:
    """A line as the library's logger writes it."""
    return json.dumps(
        {"level": "WARNING", "message": message, "id": id, "attempt": attempt, "function_request_id": request}
    )


@contextmanager
def logged(
    operator: Operator, lines: Sequence[tuple[int, str]], stream: str = STREAM, group: str = GROUP
) -> Iterator[None]:
    """Lines of one environment, each with the milliseconds since an hour ago, while the context is open."""
    client = operator.cloud.client("logs")
    start = int((time.time() - 3600) * 1000)  # moto refuses lines that are old by the clock of this machine
    client.create_log_group(logGroupName=group)
    try:
        client.create_log_stream(logGroupName=group, logStreamName=stream)
        events = [{"timestamp": start + at, "message": text} for at, text in lines]
        client.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)
        yield
    finally:
        client.delete_log_group(logGroupName=group)
