"""The process of one execution environment: the messages to and from it, and its output."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from oncekit.local.lambda_runtime.entry import Head, framed, received

SECONDS_TO_DIE = 10
"""SIGKILL takes milliseconds. A process that is still there after this hangs in the kernel: nothing here could help."""

_LINE_BREAK = re.compile(rb"\r?\n")
_CHUNK = 1 << 16


class FunctionProcess:
    """Runs a runtime client, in a process group of its own.

    `on_line` gets each line that is printed, `on_exit` the return code (negative: the signal); both from other threads.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        variables: Mapping[str, str],
        on_line: Callable[[str], None],
        on_exit: Callable[[int], None],
    ) -> None:
        self._channel, its_end = socket.socketpair()
        with its_end:
            self._process = subprocess.Popen(  # noqa: S603 our own files, see languages.py
                list(command),
                env=dict(variables),
                cwd=folder,
                stdin=its_end.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        self._messages = self._channel.makefile("rb")
        self._output = _Output(self._process.stdout.fileno(), on_line)
        self._on_exit = on_exit
        self._exited = threading.Event()
        threading.Thread(target=self._watch, name=f"function {self._process.pid}", daemon=True).start()

    @property
    def alive(self) -> bool:
        """Known before its last line has been handed over and anybody learns of its exit."""
        return self._process.returncode is None

    def kill(self) -> None:
        """End the process and all that it has started."""
        if self.alive:
            apart = _started_by(self._process.pid)
            self._kill_group()
            for pid in apart:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until it is gone and its last line has been handed over; then there is no message of it any more."""
        self._exited.wait(SECONDS_TO_DIE)
        self._messages.close()
        self._channel.close()

    def drain(self) -> None:
        """Hand over what has been printed so far."""
        self._output.drain()

    def send(self, head: Head, body: bytes) -> None:
        """A message to it; one that has ended takes none."""
        with suppress(OSError):
            self._channel.sendall(framed(head, body))

    def receive(self, seconds: float) -> tuple[str, bytes]:
        """The kind and the body of its next message. Raises TimeoutError, and EOFError when it has ended."""
        poll = select.poll()
        try:
            poll.register(self._channel, select.POLLIN)
            if poll.poll(max(0.0, seconds) * 1000):
                head, body = received(self._messages)
                return head["kind"], body
        except (OSError, ValueError) as error:  # ValueError: somebody has waited for its end
            raise EOFError from error
        raise TimeoutError

    def _watch(self) -> None:
        code = self._process.wait()
        self._kill_group()  # processes that the function has left behind go with it, as the sandbox does on Lambda
        self._output.drain()
        self._output.close()
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)  # a process that has left the group may have the other end
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._on_exit(code)
        self._exited.set()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS says PermissionError of a group of zombies
            os.killpg(self._process.pid, signal.SIGKILL)


def _started_by(pid: int) -> list[int]:
    """The processes that one has started, and those that these have: a session of their own leaves its group.

    A browser gets one, for instance. Only Linux says it, and only as long as who has started one lives.
    """
    found: list[int] = []
    with suppress(OSError):  # it may have ended meanwhile
        for file in Path("/proc", str(pid), "task").glob("*/children"):
            for child in map(int, file.read_text().split()):
                found += [child, *_started_by(child)]
    return found


class _Output:
    """Reads lines from a pipe as they come.

    `drain` takes at once what is there, so that no line of an invocation that has ended is missed.
    """

    def __init__(self, pipe: int, on_line: Callable[[str], None]) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._on_line = on_line
        self._rest = b""
        self._open = True
        self._lock = threading.Lock()
        threading.Thread(target=self._follow, name=f"output {pipe}", daemon=True).start()

    def _follow(self) -> None:
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        while self._open:
            if poll.poll(1000):
                self.drain()

    def drain(self) -> None:
        with self._lock:
            while self._open:
                try:
                    chunk = os.read(self._pipe, _CHUNK)
                except BlockingIOError:
                    return
                if not chunk:
                    self._open = False
                *lines, self._rest = _LINE_BREAK.split(self._rest + chunk)
                for line in lines:
                    self._on_line(line.decode(errors="replace"))

    def close(self) -> None:
        with self._lock:
            self._open = False
            if self._rest:
                self._on_line(self._rest.decode(errors="replace"))
                self._rest = b""
