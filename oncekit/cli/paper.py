"""Lines with colours, tables and paths. Colours are Rich's, which is used nowhere else.

A line ends where the terminal does: a text goes on below between its words, a path between its states, a row of a table
before its last cell; a value is cut. A file or a pipe has no width: everything is whole there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TextIO, cast

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from oncekit.cli.terminal import Entry, through
from oncekit.console.visible import short, visible

LEAST = 20
"""Columns that a text or a value has, however narrow the terminal is."""
LONGEST = 1000
"""Characters of an entry's text in a terminal."""
GAP = "  "
"""Between two cells of a row."""
INDENT = 4
"""At most, of what goes on below the first cell of a row."""
_COMMAND = re.compile(r"`(?:aws|eval|once|sam) [^`]+`")
"""What people paste: in a text, no line ends in it."""
_SPACE = "\0"
"""Of a command, while lines are made; no text has this character when it has been made visible."""


class Paper:
    """Standard error or standard output; nothing is written when quiet."""

    def __init__(self, *, error: bool, quiet: bool = False) -> None:
        stream = sys.stderr if error else sys.stdout
        self._file = through(stream, str)  # Rich writes what a terminal obeys; what it is given has been made visible
        self._console = Console(file=cast(TextIO, self._file), highlight=False, markup=False, quiet=quiet)

    @property
    def is_terminal(self) -> bool:
        return self._console.is_terminal

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return self._console.width if self.is_terminal else sys.maxsize

    def line(self, text: str = "", style: str = "", end: str = "\n") -> None:
        self._console.print(Text(visible(text), style), end=end, soft_wrap=True)

    def table(
        self,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        styles: Sequence[str],
        below: Sequence[str] = (),
        *,
        is_whole: bool = False,
    ) -> None:
        """Rows of cells; each row's style is that of its first cell. The last cell is a value, or whole as an id is; it
        goes on the next line where there is no room for the longest one.

        `below` has a text for each row, empty where there is none: it stands whole under its row.
        """
        shown = [[visible(cell) for cell in row] for row in (head, *rows)]
        widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
        indent = min(widths[0] + len(GAP), INDENT)
        before_last = sum(widths[:-1]) + len(GAP) * len(widths[:-1])
        has_room = before_last + (widths[-1] if is_whole else min(widths[-1], LEAST)) <= self.width
        texts = below or [""] * len(rows)
        for row, style, text in zip(shown, ("bold", *styles), ("", *texts), strict=True):
            rest = style if row is shown[0] else ""
            line = Text()
            for number, cell in enumerate(row[:-1]):
                line.append(set_cell_size(cell, widths[number]) + GAP, rest if number else style)
            if not has_room:
                line.rstrip()
                line.append("\n" + " " * indent)
            line.append(row[-1] if is_whole else self._value(row[-1], before_last if has_room else indent), rest)
            line.rstrip()
            self._console.print(line, soft_wrap=True)
            self.paragraph(text, indent)

    def _value(self, text: str, column: int) -> str:
        """What a line has room for of a value that begins in this column."""
        room = max(self.width - column, LEAST)
        return text if cell_len(text) <= room else f"{set_cell_size(text, room - 1).rstrip()}…"

    def entries(self, lines: Iterable[str | Entry]) -> None:
        """Entries, and lines that are whole."""
        for each in lines:
            if isinstance(each, Entry):
                self.entry(each)
            else:
                self.line(each)

    def entry(self, entry: Entry) -> None:
        """A text that goes on below itself, or a value that is cut, after its head."""
        head = visible(entry.head)
        if entry.is_value:
            self.line(head + self._value(visible(entry.text), cell_len(head)))
        else:
            text = short(entry.text, LONGEST) if self.is_terminal else entry.text
            self.paragraph(text, cell_len(head), head=head)

    def paragraph(self, text: str, indent: int = 0, style: str = "", head: str = "") -> None:
        """A text that goes on below, between its words, where the terminal ends. `head` is in its indent, if any."""
        seen = _COMMAND.sub(lambda found: found.group().replace(" ", _SPACE), visible(text))
        for line in self._wrapped(seen, f"{head:<{indent}}", indent):
            self.line(line, style)

    def path(
        self, head: str, states: Sequence[str], end: str = "", *, head_style: str = "dim", end_style: str = ""
    ) -> None:
        """States with arrows between them, after a head, before an end. A terminal's line ends between two states."""
        head, end = visible(head), visible(end)
        steps = f" →{_SPACE}".join(map(visible, states)) + (f" {_SPACE}{end.replace(' ', _SPACE)}" if end else "")
        for line in self._wrapped(steps, head, min(cell_len(head), LEAST)) or [head]:
            shown = Text(line, "dim")
            if line.startswith(head):
                shown.stylize(head_style, 0, len(head))
            if end and line.endswith(end):
                shown.stylize(end_style, -len(end))
            self._console.print(shown, soft_wrap=True)

    def _wrapped(self, text: str, first: str, indent: int) -> list[str]:
        """Its lines: `first` begins the first one, an indent the others."""
        width, below = max(self.width, indent + LEAST), " " * indent
        lines = wrap(
            text, width, initial_indent=first, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
        )
        return [line.replace(_SPACE, " ") for line in lines]
