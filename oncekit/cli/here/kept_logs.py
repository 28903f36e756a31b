"""The logs of functions in `once up`, kept where `once show` and `aws logs` look: in the log group of each function.

As on AWS, each environment has a stream of its own, and each invocation begins and ends with a line of Lambda's.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oncekit.local.account import ACCOUNT, REGION

if TYPE_CHECKING:
    from oncekit.local.lambda_runtime import LogLine
    from oncekit.local.once_cloud import LocalCloud

MOST_LINES = 20_000
"""Of a function; then its log begins again."""


class KeptLogs:
    """Puts lines into the log groups of the local cloud. Thread-safe."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        self._client = cloud.client("logs")
        self._functions = cloud.client("lambda")
        self._groups: dict[str, str] = {}
        self._lock = threading.Lock()

    def put(self, line: LogLine) -> None:
        """Never raises: a line that the engine would not keep has been told on the terminal."""
        from botocore.exceptions import ClientError

        with self._lock, suppress(ClientError):
            group = self._groups.get(line.function) or self._group_of(line.function)
            # Not by the client: moto takes no line that is two hours ahead of this machine, as the cloud's clock may be
            event = {"timestamp": int(self._cloud.clock.now() * 1000), "message": line.text}
            self._stream(group, line.stream).put_log_events([event])

    def _group_of(self, function: str) -> str:
        told = self._functions.get_function_configuration(FunctionName=function).get("LoggingConfig", {})
        return self._groups.setdefault(function, str(told.get("LogGroup", f"/aws/lambda/{function}")))

    def _stream(self, group: str, stream: str) -> Any:
        """moto's stream, which may be a new one: somebody may have deleted it, or the group."""
        from moto.logs.models import logs_backends

        groups = logs_backends[ACCOUNT][REGION].groups
        if group in groups and sum(len(each.events) for each in groups[group].streams.values()) >= MOST_LINES:
            self._client.delete_log_group(logGroupName=group)
        if group not in groups:
            self._client.create_log_group(logGroupName=group)
        if stream not in groups[group].streams:
            self._client.create_log_stream(logGroupName=group, logStreamName=stream)
        return groups[group].streams[stream]
