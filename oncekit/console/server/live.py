"""What is told to pages while they are open: that something changed, as server-sent events.

A page then asks for itself again. So nothing is sent twice, and a page that was away for a while misses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from werkzeug.wrappers import Request, Response

from oncekit.console.server.frame import Console, guarded

QUIET_S = 10.0
"""After so long a comment is sent: it finds out that the page is gone."""
LOOK_S = 0.1
"""How often an execution is looked at while its page is open."""
AGAIN_MS = 1000
"""How soon a page whose server is gone tries again."""


def changes(console: Console, request: Request) -> Response:
    """Executions began or ended; of the one that `run` names, there are more events. Raises Unknown."""
    source, arn = console.source, request.args.get("run", "")

    def state() -> tuple[int, int]:
        return source.version(), source.size(arn) if arn else 0

    def told() -> Iterator[str]:
        seen = state()
        yield f"retry: {AGAIN_MS}\ndata: {seen}\n\n"
        quiet = 0.0
        while True:
            pause = LOOK_S if arn else QUIET_S
            source.wait(seen[0], pause)
            quiet += pause
            if (now := state()) != seen:
                seen, quiet = now, 0.0
                yield f"data: {seen}\n\n"
            elif quiet >= QUIET_S:
                quiet = 0.0
                yield ": quiet\n\n"

    state()  # raises Unknown before the answer has begun
    response = Response(told(), content_type="text/event-stream; charset=utf-8")
    return guarded(response)
