"""Runs first in a function's process: ties its life to its parent's, hides what it would not have on Lambda, and
starts the runtime client, which gets events from the parent, and gives it results, in place of the Runtime API.

Standard input is a socket whose other end only the parent holds. It is closed when the parent ends, for any reason.
Then the function ends, too, with every process that it has started: they are one process group. (The parent-death
signal of Linux does not work for this: it is sent at the end of the *thread* that started the process.)

This file is started as a script, without its package: nothing of `local` is imported into a function's process.
"""

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

LIBRARY, DISTRIBUTION = "once", "oncekit"
Head = dict[str, Any]


def has_library(code: Path, layers: Sequence[Path]) -> bool:
    """Whether a function has the library on Lambda: by a layer, a copy, or a requirement that its build installs."""
    return any((each / LIBRARY / "__init__.py").is_file() or _requires_it(each) for each in (code, *layers))


def _requires_it(folder: Path) -> bool:
    requirements = folder / "requirements.txt"
    return requirements.is_file() and DISTRIBUTION in requirements.read_text(errors="replace")


class NoLibrary:
    """Stands before what is installed on this machine, where a function without its layer would find the library."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name == LIBRARY:
            raise ModuleNotFoundError(
                f"No module named '{LIBRARY}': the function has no layer with the library, such as Layers: "
                "[!Ref OnceLibrary]; it fails on AWS, too",
                name=name,
            )


def hide_the_library() -> None:
    """From a function that does not have it on Lambda, which says `No module named 'once'`, too."""
    code, *layers = (Path(each) for each in os.environ["PYTHONPATH"].split(os.pathsep))
    if not has_library(code, layers):
        sys.meta_path.insert(0, NoLibrary())


# ---- messages between a function and its parent ----


def framed(head: Head, body: bytes) -> bytes:
    """A message: a line with the head and the length of the body, and the body."""
    return json.dumps({**head, "bytes": len(body)}).encode() + b"\n" + body


def received(stream: IO[bytes]) -> tuple[Head, bytes]:
    """The next message. Raises EOFError when the other side has ended."""
    line = stream.readline()
    head: Head = json.loads(line) if line.endswith(b"\n") else {"bytes": -1}
    length = head.pop("bytes")
    body = stream.read(max(length, 0))
    if len(body) != length:
        raise EOFError
    return head, body


class Parent:
    """The other end of standard input, which the function itself does not see."""

    def __init__(self) -> None:
        channel = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._in, self._out = os.fdopen(channel, "rb"), os.fdopen(channel, "wb", closefd=False)
        self._events: queue.SimpleQueue[tuple[Head, bytes]] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            while True:
                self._events.put(received(self._in))
        except (EOFError, OSError):
            os.killpg(0, signal.SIGKILL)

    def next_event(self) -> tuple[Head, bytes]:
        return self._events.get()

    def tell(self, kind: str, body: bytes = b"") -> None:
        self._out.write(framed({"kind": kind}, body))
        self._out.flush()


def client_of(parent: Parent) -> Any:
    """AWS's runtime client, which loads the handler, calls it and logs what it raises, on this parent."""
    from awslambdaric.lambda_runtime_client import InvocationRequest, LambdaRuntimeClient

    class Client(LambdaRuntimeClient):  # type: ignore[misc]  # it has no types
        ready = False

        def wait_next_invocation(self) -> Any:
            if not self.ready:
                parent.tell("ready")
                self.ready = True
            head, event = parent.next_event()
            none = dict.fromkeys(("client_context", "cognito_identity", "tenant_id", "invocation_id"))
            return InvocationRequest(**none, **head, content_type="application/json", event_body=event)

        def post_invocation_result(self, _id: str, result: str | bytes, *_: Any) -> None:
            parent.tell("result", result if isinstance(result, bytes) else result.encode())

        def post_invocation_error(self, _id: str, error: str, *_: Any) -> None:
            parent.tell("error", error.encode())

        def post_init_error(self, error: Any, *_: Any) -> None:
            parent.tell("init error", json.dumps(error).encode())

    return Client("")


def run(prepare: Callable[[], None] = lambda: None) -> None:
    """Until the process ends. `prepare` is called when imports are those of the function."""
    parent = Parent()
    hide_the_library()
    prepare()
    from awslambdaric import bootstrap

    bootstrap.run(sys.argv[1], client_of(parent))


if __name__ == "__main__":
    run()
