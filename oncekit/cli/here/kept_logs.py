"""What functions print in `once up`, kept where `once logs` and `aws logs` look: in the log group of each function."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

STREAM = "local"
MOST_LINES = 20_000
"""Of a function; then its stream begins anew."""


class KeptLogs:
    """Puts lines into the log groups of the local cloud. Thread-safe."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._client = cloud.client("logs")
        self._functions = cloud.client("lambda")
        self._groups: dict[str, str] = {}
        self._lines: dict[str, int] = {}
        self._lock = threading.Lock()

    def put(self, function: str, line: str) -> None:
        """Never raises: a line that the engine would not keep has been told on the terminal."""
        from botocore.exceptions import ClientError

        with self._lock, suppress(ClientError):
            group = self._groups.get(function) or self._made(function)
            if self._lines[function] >= MOST_LINES:
                self._client.delete_log_stream(logGroupName=group, logStreamName=STREAM)
                self._begin(function, group)
            event = {"timestamp": int(time.time() * 1000), "message": line}
            self._client.put_log_events(logGroupName=group, logStreamName=STREAM, logEvents=[event])
            self._lines[function] += 1

    def _made(self, function: str) -> str:
        told = self._functions.get_function_configuration(FunctionName=function).get("LoggingConfig", {})
        group = self._groups[function] = str(told.get("LogGroup", f"/aws/lambda/{function}"))
        self._client.create_log_group(logGroupName=group)
        self._begin(function, group)
        return group

    def _begin(self, function: str, group: str) -> None:
        self._client.create_log_stream(logGroupName=group, logStreamName=STREAM)
        self._lines[function] = 0
