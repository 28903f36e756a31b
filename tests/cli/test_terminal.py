"""The one place through which all goes that people read: what a terminal would obey comes out as text."""

from __future__ import annotations

import ast
import io
import json
import re

import pytest
from evil import EVIL, ROOT, SEEN, assert_calm, python

from oncekit.cli.paper import Paper
from oncekit.cli.terminal import guard, say, say_json, tell, visible

CLI = ROOT / "oncekit" / "cli"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain, ünïcode, 漢字 ✓", "plain, ünïcode, 漢字 ✓"),
        ("12\u00a0000\u3000", "12\u00a0000\u3000"),
        (EVIL, SEEN),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\U000e0041", r"\U000e0041"),
        (7, "7"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_its_escape(value: object, shown: str) -> None:
    assert visible(value) == shown


def test_every_control_bidi_and_surrogate_character_is_made_visible() -> None:
    bad = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029]
    for number in [*bad, *range(0xD800, 0xE000)]:
        assert visible(chr(number)).isascii() and visible(chr(number)).isprintable()


def test_a_value_brings_no_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    say("first", f"id {EVIL}")
    tell(f"once: {EVIL}")
    out, err = capsys.readouterr()
    assert out == f"first\nid {SEEN}\n" and err == f"once: {SEEN}\n"


def test_json_is_valid_and_pure_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    say_json({EVIL: [EVIL]}, indent=2)
    out = capsys.readouterr().out
    assert out.isascii() and json.loads(out) == {EVIL: [EVIL]}
    assert_calm(out)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_colours_are_all_that_a_terminal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    guard()
    paper = Paper(error=True)
    paper.line(f"✗ {EVIL}", "red")
    paper.table(("", EVIL), [("✓", EVIL)], ["green"])
    with paper.changing() as show:
        show([EVIL, "second"])
    written = terminal.getvalue()
    assert "\x1b[31m" in written, "there are colours"
    mere = re.sub(r"\x1b\[(?:\d+(?:;\d+)*m|\d*[AGK]|2K|\?25[lh])|\r", "", written)
    assert_calm(mere)


def test_lone_cells_of_a_table_cannot_forge_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    Paper(error=False).table(("", "name"), [("✓", "x\nforged"), ("✗", "y")], ["green", "red"])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["name"],
        ["✓", r"x\nforged"],
        ["✗", "y"],
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_the_terminal_cannot_write_comes_out_as_an_escape(encoding: str) -> None:
    code = (
        "from oncekit.cli.terminal import guard, say, tell; from oncekit.cli.paper import Paper\n"
        f"guard(); evil = {EVIL!a}\n"
        "say('✓ ' + evil); tell('✗ ' + evil); print('✓', evil); Paper(error=True).line('→ ' + evil, 'red')\n"
        "raise ValueError(evil)"
    )
    done = python(code, PYTHONIOENCODING=encoding, LANG="C", LC_ALL="C")
    assert done.returncode == 1 and b"UnicodeEncodeError" not in done.stderr
    for stream in (done.stdout, done.stderr):
        assert b"\\ud800" in stream and b"\x1b" not in stream
    assert "✓".encode("ascii" if encoding != "utf-8" else "utf-8", "backslashreplace") in done.stdout
    assert b"ValueError: a\\x1b]52" in done.stderr, "a traceback, too"


# ---- the width of a terminal ----


def narrow(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard output becomes a terminal of 40 columns without colours."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    for name, value in {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "40"}.items():
        monkeypatch.setenv(name, value)
    return terminal


def shown(terminal: Terminal) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()


def test_a_path_goes_on_below_between_two_states(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = narrow(monkeypatch)
    path = Paper(error=False).path("0a1b  ")
    path.add(["ReceiveRequest", "AcquireLock"])
    path.add(["ExecuteBusinessLogic"])
    path.end("✓ EXECUTED")
    assert shown(terminal) == [
        "0a1b  ReceiveRequest → AcquireLock",
        "      → ExecuteBusinessLogic  ✓ EXECUTED",
    ]


def test_a_table_cuts_its_last_cell_and_shows_what_is_below_a_row_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = narrow(monkeypatch)
    message = "another payload was sent before with the same key"
    rows = [("✓", "EXECUTED", "x" * 99), ("✗", "PayloadMismatch", "")]
    Paper(error=False).table(("", "outcome", "result"), rows, ["green", "red"], ["", message])
    assert shown(terminal) == [
        "   outcome          result",
        f"✓  EXECUTED         {'x' * 19}…",
        "✗  PayloadMismatch",
        "   another payload was sent before with",
        "   the same key",
    ]


def test_a_file_has_no_width_for_paths_and_messages(capsys: pytest.CaptureFixture[str]) -> None:
    path = Paper(error=False).path("")
    path.add(["AState"] * 40)
    path.end()
    Paper(error=False).paragraph("word " * 60)
    assert [len(line) > 250 for line in capsys.readouterr().out.splitlines()] == [True, True]


# ---- nothing goes around it ----

THE_PLACE = ("terminal.py", "paper.py")
PRINTS = {"print", "input", "typer.echo", "typer.secho", "typer.confirm", "typer.prompt", "typer.style", "os.write"}
STREAMS = {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}
PRINTERS = {"rich", "click", "logging", "warnings", "curses", "pprint"}


def around(source: str) -> list[str]:
    """What in a module prints by itself."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name.split(".")[0] in PRINTERS]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
            found += [name for name in names if name.split(".")[0] in PRINTERS or name in PRINTS | STREAMS]
        elif isinstance(node, ast.Name | ast.Attribute) and (name := ast.unparse(node)) in PRINTS | STREAMS:
            found.append(name)
    return found


def test_no_module_of_the_command_prints_by_itself() -> None:
    modules = [path for path in CLI.rglob("*.py") if path.name not in THE_PLACE]
    assert len(modules) > 40
    assert {str(path): found for path in modules if (found := around(path.read_text()))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "print('x')",
        "p = print",
        "import typer; typer.echo('x')",
        "from typer import echo",
        "import sys; sys.stderr.write('x')",
        "from sys import stdout",
        "from rich.console import Console",
        "import os; os.write(1, b'x')",
    ],
)
def test_a_module_that_did_would_be_found(line: str) -> None:
    assert around(line)
