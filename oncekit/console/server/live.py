"""What is told to pages while they are open: that something changed, as server-sent events.

A page then asks for itself again. So nothing is sent twice, and a page that was away for a while misses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from werkzeug.wrappers import Request, Response

from oncekit.console.server.frame import Console

QUIET_S = 10.0
"""After so long a comment is sent: it finds out that the page is gone."""


def changes(console: Console, _: Request) -> Response:
    """Executions began or ended."""

    def told() -> Iterator[str]:
        seen = console.source.version()
        yield f"retry: 1000\ndata: {seen}\n\n"  # ms after which a page whose server is gone tries again
        while True:
            now = console.source.wait(seen, QUIET_S)
            yield ": quiet\n\n" if now == seen else f"data: {now}\n\n"
            seen = now

    return Response(told(), content_type="text/event-stream; charset=utf-8")
