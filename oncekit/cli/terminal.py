"""Everything that people read goes through here: what a terminal would obey comes out as text that can be seen.

Requests, records, messages and functions are written by others, and a terminal obeys what it is shown: it moves the
cursor, hides or forges lines, writes to the clipboard. So each call prints whole lines, and within a line nothing but
characters that can be seen: `\\x1b`, `\\u202e` and `\\n` are printed as these letters. Only this module ends a line.

`guard` puts the same rule before standard output and standard error, for what others print: a traceback, a warning, an
error of usage. Colours are on `oncekit.cli.paper`, which makes visible what it is given in the same way.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO, cast

import typer

from oncekit.console.visible import visible

READER_GONE = 141
"""The exit code; as a shell says it of any program whose reader ended: 128 and the number of SIGPIPE."""


def _seen_by_line(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


@dataclass(frozen=True)
class Entry:
    """A text after its head, in an answer for people; `Paper.entry` says how a terminal shows it.

    A text is read, or copied from, as a whole; of a value, such as a result in JSON, a terminal shows the beginning.
    """

    head: str
    text: str
    is_value: bool = False


class Stream:
    """A stream of text behind a rule. What its encoding does not have comes out as an escape, not as an error.

    It has no `buffer`, by which it could be gone around.
    """

    encoding = "utf-8"
    errors = "strict"

    def __init__(self, beneath: TextIO, rule: Callable[[str], str]) -> None:
        self.beneath = beneath
        self._rule = rule

    def write(self, text: str) -> int:
        encoding = getattr(self.beneath, "encoding", None) or "utf-8"
        with self._ended_by_its_reader():
            self.beneath.write(self._rule(text).encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        with self._ended_by_its_reader():
            self.beneath.flush()

    @contextmanager
    def _ended_by_its_reader(self) -> Iterator[None]:
        """A reader that has seen enough, such as `head`, ends the command without a word."""
        try:
            yield
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.beneath.fileno())  # for what is written on the way out
            raise SystemExit(READER_GONE) from None

    def isatty(self) -> bool:
        return self.beneath.isatty()

    def fileno(self) -> int:
        return self.beneath.fileno()


def guard() -> None:
    """From now on nothing reaches standard output and standard error but what can be seen, whoever prints it."""
    sys.stdout = cast(TextIO, through(sys.stdout, _seen_by_line))
    sys.stderr = cast(TextIO, through(sys.stderr, _seen_by_line))


def through(stream: TextIO, rule: Callable[[str], str]) -> Stream:
    """The stream behind this rule, in place of another one."""
    return Stream(stream.beneath if isinstance(stream, Stream) else stream, rule)


def say(*lines: str) -> None:
    """Lines on standard output: what the command was asked for."""
    _write(sys.stdout, lines)


def tell(*lines: str) -> None:
    """Lines on standard error: how it gets on, and what is wrong."""
    _write(sys.stderr, lines)


def _write(stream: TextIO, lines: Sequence[str]) -> None:
    out = through(stream, _seen_by_line)
    out.write("".join(f"{visible(line)}\n" for line in lines))
    out.flush()


def say_json(value: Any, indent: int | None = None) -> None:
    """JSON in ASCII: everything else is an escape of JSON's own."""
    say(*json.dumps(value, indent=indent, default=repr).split("\n"))


def ask(question: str) -> bool:
    """Yes or no, asked on standard error."""
    return typer.confirm(visible(question), err=True)
