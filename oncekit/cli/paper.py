"""Lines with colours, tables, paths, and lines that change. Colours are Rich's, which is used nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from textwrap import wrap
from typing import TextIO, cast

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.live import Live
from rich.text import Text

from oncekit.cli.terminal import through, visible

WIDTH_OF_A_FILE = 140
"""A file or a pipe has no width: only the last cells of tables are cut, so that a table stays one."""
LEAST = 20
"""Columns that the last cell of a table has, however narrow the terminal is."""
ARROW = " → "


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
        return self._console.width if self.is_terminal else WIDTH_OF_A_FILE

    def line(self, text: str = "", style: str = "", end: str = "\n") -> None:
        self._console.print(Text(visible(text), style), end=end, soft_wrap=True)

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str], below: Sequence[str] = ()
    ) -> None:
        """Rows of cells; each row's style is that of its first cell. The last cell is cut where the terminal ends.

        `below` has a text for each row, empty where there is none: it stands whole under its row.
        """
        shown = [[visible(cell) for cell in row] for row in (head, *rows)]
        *widths, last = (max(map(cell_len, column)) for column in zip(*shown, strict=True))
        room = max(self.width - sum(widths) - 2 * len(widths), LEAST)
        for row, style, text in zip_longest(shown, ("bold", *styles), ("", *below), fillvalue=""):
            cells = [set_cell_size(cell, width) for cell, width in zip(row, widths, strict=False)]
            line = Text("  ".join([*cells, _cut(row[-1], min(room, last))]))
            line.stylize(style, 0, len(cells[0]) if row is not shown[0] else None)
            line.rstrip()
            self._console.print(line, soft_wrap=True)
            self.paragraph(text, widths[0] + 2)

    def paragraph(self, text: str, indent: int = 0, style: str = "") -> None:
        """A text that goes on below, between its words, where the terminal ends."""
        room = max(self.width - indent, LEAST) if self.is_terminal else sys.maxsize
        for line in wrap(visible(text), room, break_long_words=False, break_on_hyphens=False):
            self.line(" " * indent + line, style)

    def path(self, head: str, indent: int | None = None, style: str = "") -> Path:
        """The beginning of a line on which states follow."""
        self.line(head, style, end="")
        return Path(self, cell_len(visible(head)), indent)

    @contextmanager
    def changing(self) -> Iterator[Callable[[Sequence[str]], None]]:
        """What shows lines in place of those before, in a terminal; they are gone at the end."""
        options = {"transient": True, "auto_refresh": False, "redirect_stdout": False, "redirect_stderr": False}
        with Live(console=self._console, **options) as live:  # type: ignore[arg-type]
            yield lambda lines: live.update(Text("\n".join(map(visible, lines))), refresh=True)


class Path:
    """A line of states with arrows between them; a terminal's line ends between two states."""

    def __init__(self, paper: Paper, column: int, indent: int | None) -> None:
        self._paper = paper
        self._column = column
        self._indent = column if indent is None else indent
        self._is_first = True

    def add(self, states: Sequence[str]) -> None:
        for state in states:
            self._write("" if self._is_first else ARROW, state, "dim")
            self._is_first = False

    def end(self, text: str = "", style: str = "") -> None:
        """What follows the last state on its line, and the end of that."""
        if text:
            self._write("  ", text, style)
        self._paper.line()

    def _write(self, before: str, text: str, style: str) -> None:
        more = cell_len(before) + cell_len(visible(text))
        if self._paper.is_terminal and self._column + more > self._paper.width and self._column > self._indent:
            self._paper.line()
            self._paper.line(" " * self._indent, end="")
            self._column, before = self._indent, before.lstrip()
            more = cell_len(before) + cell_len(visible(text))
        self._paper.line(before + text, style, end="")
        self._column += more


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"
