"""Lines with colours, tables, and lines that change. Colours are Rich's, which is used nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, cast

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from oncekit.cli.terminal import through, visible

WIDTH_OF_A_FILE = 140
"""A file or a pipe has no width, so lines are not broken for one."""


class Paper:
    """Standard error or standard output; nothing is written when quiet."""

    def __init__(self, *, error: bool, quiet: bool = False) -> None:
        stream = sys.stderr if error else sys.stdout
        self._file = through(stream, str)  # Rich writes what a terminal obeys; what it is given has been made visible
        width = None if error or stream.isatty() else WIDTH_OF_A_FILE
        self._console = Console(file=cast(TextIO, self._file), highlight=False, markup=False, width=width, quiet=quiet)

    @property
    def is_terminal(self) -> bool:
        return self._console.is_terminal

    def line(self, text: str = "", style: str = "", end: str = "\n") -> None:
        self._console.print(Text(visible(text), style), end=end, soft_wrap=True)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> None:
        """Rows of cells; each row's style is that of its first cell."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in head:
            table.add_column(visible(name), overflow="fold")
        for (first, *rest), style in zip(rows, styles, strict=True):
            table.add_row(Text(visible(first), style), *(Text(visible(cell)) for cell in rest))
        with self._console.capture() as rendered:
            self._console.print(table)
        for line in rendered.get().splitlines():
            self._file.write(f"{line.rstrip()}\n")

    @contextmanager
    def changing(self) -> Iterator[Callable[[Sequence[str]], None]]:
        """What shows lines in place of those before, in a terminal; they are gone at the end."""
        options = {"transient": True, "auto_refresh": False, "redirect_stdout": False, "redirect_stderr": False}
        with Live(console=self._console, **options) as live:  # type: ignore[arg-type]
            yield lambda lines: live.update(Text("\n".join(map(visible, lines))), refresh=True)
