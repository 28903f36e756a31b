"""Commands as a user gives them, in this process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

from oncekit.cli.deployed import on_stack
from oncekit.cli.main import main
from oncekit.stack.session import Place, session_at
from oncekit.stack.stack import Stack

STYLES = re.compile(r"\x1b\[[0-9;]*m")
"""What a terminal is told besides text: without colours, too, it makes letters bold or faint."""


@dataclass(frozen=True)
class Done:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        assert self.code in (0, 1), self.err
        return json.loads(self.out)


class KeptSession:
    """A session that keeps its clients. `session_at` makes one."""

    def __init__(self, session: Any) -> None:
        self.events = session.events
        self.get_credentials = session.get_credentials
        self.region_name = session.region_name
        self._session = session
        self._clients: dict[tuple[str, str | None], Any] = {}

    def client(self, service: str, endpoint_url: str | None = None, config: Any = None) -> Any:
        if config is not None:
            return self._session.client(service, endpoint_url=endpoint_url, config=config)
        if (service, endpoint_url) not in self._clients:
            self._clients[service, endpoint_url] = self._session.client(service, endpoint_url=endpoint_url)
        return self._clients[service, endpoint_url]


class Sessions:
    """The sessions of one command after another: they and their clients take longer to make than most commands take.

    Another place or another environment has a session of its own. `on_new` is given each new one.
    """

    def __init__(self, on_new: Callable[[KeptSession], object] = lambda _: None) -> None:
        self._on_new = on_new
        self._kept: dict[tuple[Any, ...], KeptSession] = {}

    def at(self, place: Place) -> KeptSession:
        environment = sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_"))
        key = (place.profile, place.region, *environment)
        if key not in self._kept:
            self._kept[key] = KeptSession(session_at(place))
            self._on_new(self._kept[key])
        return self._kept[key]


class Screen(io.StringIO):
    """Output that is a terminal."""

    def isatty(self) -> bool:
        return True


def once(connect: Callable[..., Stack], *arguments: str, stdin: str = "", columns: int | None = None) -> Done:
    """`once` with these arguments; `connect` finds the stack, in place of the one in `oncekit.stack.stack`.

    Its output is a terminal without colours that has so many columns, or a pipe.
    """
    out, err = (io.StringIO(), io.StringIO()) if columns is None else (Screen(), Screen())
    terminal = {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": str(columns)}
    with (
        mock.patch.dict("os.environ", {} if columns is None else terminal),
        mock.patch("sys.argv", ["once", *arguments]),
        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()))),
        mock.patch.object(on_stack, "connect", connect),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Done(code, *(STYLES.sub("", each.getvalue()) for each in (out, err)))
