"""Commands as a user gives them, in this process."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

from oncekit.cli.deployed import on_stack
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.main import main


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


def once(connect: Callable[..., Stack], *arguments: str, stdin: str = "") -> Done:
    """`once` with these arguments; `connect` finds the stack, in place of the one in `oncekit.cli.deployed.stack`."""
    out, err = io.StringIO(), io.StringIO()
    with (
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
    return Done(code, out.getvalue(), err.getvalue())
