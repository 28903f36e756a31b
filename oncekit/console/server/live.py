"""What is told to pages while they are open: that something changed, as server-sent events.

A page then asks for its part again. So nothing is sent twice, and a page that was away for a while misses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from werkzeug.wrappers import Response

from oncekit.console.local_source import LocalSource
from oncekit.console.rows import Unknown
from oncekit.console.server.answers import guarded

QUIET_S = 10.0
"""After so long a comment is sent: it finds out that the page is gone."""
LOOK_S = 0.1
"""How often an execution is looked at while its page is open."""
AGAIN_MS = 1000
"""How soon a page whose server is gone tries again."""


def changes(source: LocalSource) -> Response:
    """Executions began or ended."""

    def told() -> Iterator[str]:
        version = source.version()
        yield f"retry: {AGAIN_MS}\ndata: {version}\n\n"
        while True:
            now = source.wait(version, QUIET_S)
            yield f"data: {now}\n\n" if now != version else ": quiet\n\n"
            version = now

    return _stream(told())


def steps(source: LocalSource, arn: str) -> Response:
    """An execution has more events, or ended."""

    def told() -> Iterator[str]:
        size = version = -1
        yield f"retry: {AGAIN_MS}\n\n"
        quiet = 0.0
        while True:
            now = (source.size(arn), source.wait(version, 0))
            if now != (size, version):
                size, version, quiet = *now, 0.0
                yield f"data: {size}.{version}\n\n"
            elif quiet > QUIET_S:
                quiet = 0.0
                yield ": quiet\n\n"
            source.wait(version, LOOK_S)
            quiet += LOOK_S

    source.size(arn)  # raises Unknown before the answer has begun
    return _stream(told())


def _stream(told: Iterator[str]) -> Response:
    response = Response(told, content_type="text/event-stream; charset=utf-8")
    response.headers["X-Accel-Buffering"] = "no"
    return guarded(response)


__all__ = ["Unknown", "changes", "steps"]
