"""The one place through which all goes that people read: what a terminal would obey comes out as text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import STYLES, Screen
from evil import EVIL, ROOT, SEEN, assert_calm, python
from operating import ID, Operator, put
from rich.cells import cell_len

from oncekit.cli.paper import LEAST, Paper
from oncekit.cli.terminal import Entry, guard, say, tell
from oncekit.console.visible import visible


def test_every_control_bidi_and_surrogate_character_is_made_visible() -> None:
    bad = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029]
    for number in [*bad, 0x200B, 0xFEFF, 0xE0041, *range(0xD800, 0xE000)]:
        assert visible(chr(number)).isascii() and visible(chr(number)).isprintable()
    for plain in ("plain, ünïcode, 漢字 ✓", "12\u00a0000\u3000"):
        assert visible(plain) == plain


def test_a_value_brings_no_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    say("first", f"id {EVIL}")
    tell(f"once: {EVIL}")
    out, err = capsys.readouterr()
    assert out == f"first\nid {SEEN}\n" and err == f"once: {SEEN}\n"


class Terminal(Screen):
    encoding = "utf-8"


def test_colours_are_all_that_a_terminal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    guard()
    paper = Paper(error=True)
    paper.line(f"✗ {EVIL}", "red")
    paper.table(("", EVIL), [("✓", EVIL)], ["green"])
    written = terminal.getvalue()
    assert "\x1b[31m" in written, "there are colours"
    mere = re.sub(r"\x1b\[(?:\d+(?:;\d+)*m|\d*[AGK]|2K|\?25[lh])|\r", "", written)
    assert_calm(mere)


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


def narrow(monkeypatch: pytest.MonkeyPatch, columns: int = 40) -> Terminal:
    """Standard output becomes a terminal without colours."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    for name, value in {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": str(columns)}.items():
        monkeypatch.setenv(name, value)
    return terminal


def shown(terminal: Terminal) -> list[str]:
    return STYLES.sub("", terminal.getvalue()).splitlines()


def test_a_path_goes_on_below_between_two_states(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = narrow(monkeypatch)
    states = ["ReceiveRequest", "AcquireLock", "ExecuteBusinessLogic"]
    Paper(error=False).path("0a1b  ", states, "✓ EXECUTED")
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


def too_long(text: str, columns: int) -> list[str]:
    """Lines that do not fit. A word that is there to be copied, such as an ARN, a link or a command, is on one line."""
    long = [
        line
        for line in text.splitlines()
        if cell_len(line) > columns and not line.strip().startswith(("aws ", "once "))
    ]
    return [line for line in long if max(map(len, line.split())) + LEAST < columns]


def test_an_entry_of_an_answer_goes_on_below_its_beginning_and_a_value_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = narrow(monkeypatch)
    paper = Paper(error=False)
    paper.entry(Entry("  error       ", "PermanentError: the card was declined by its bank"))
    paper.entry(Entry("  result      ", '{"a":' * 20, is_value=True))
    assert shown(terminal) == [
        "  error       PermanentError: the card",
        "              was declined by its bank",
        """  result      {"a":{"a":{"a":{"a":{"a":…""",
    ]


def test_answers_about_records_keep_to_the_width_and_are_whole_in_a_pipe(operator: Operator) -> None:
    columns = 80
    result = {f"k{number}": "v" for number in range(99)}
    operator.script({"return": result})
    operator.cloud.run(operator.request())
    failure = {"M": {"name": {"S": "OddError"}, "message": {"S": "the card was declined by its bank " * 9}}}
    other = "default#told#a-key-with-forty-characters-is-a-usual-one"
    put(operator, other, "QUARANTINED", 1, error=failure)
    for command in (("show", ID), ("show", other), ("ls",)):
        on_screen, in_pipe = operator.once(*command, columns=columns), operator.once(*command)
        assert on_screen.out and too_long(on_screen.out, columns) == [], command
        assert "…" not in in_pipe.out and len(in_pipe.out) >= len(on_screen.out) - 200
    assert json.dumps(result, separators=(",", ":")) in operator.once("show", ID).out
    [row] = [line for line in operator.once("ls").out.splitlines() if line.endswith(other)]
    assert row.split()[-2] == "OddError"
    assert {other, "QUARANTINED", "OddError"} <= set(operator.once("ls", columns=columns).out.split())


def test_what_send_says_keeps_to_the_width_and_its_command_is_whole(operator: Operator) -> None:
    request = json.dumps({**operator.request(), "idempotencyKey": "a key of several words"})
    done = operator.once("send", "-", "--via", "sqs", stdin=request, columns=60)
    assert done.code == 0 and max(map(len, done.err.splitlines())) <= 60
    assert "`once show 'default#told#a key of several words'`" in done.err.splitlines()[0]


def test_advice_goes_on_below_its_finding(operator: Operator) -> None:
    columns = 80
    put(operator, "default#told#k", "QUARANTINED", 1)
    put(operator, "default#told#l", "IN_PROGRESS", 1)
    told = operator.once("doctor", columns=columns).out
    assert too_long(told, columns) == []
    checks = json.loads(operator.once("doctor", "--json").out)["checks"]
    advices = [each["advice"] for each in checks if each["advice"]]
    in_pipe = operator.once("doctor").out
    assert len(advices) > 1
    for advice in advices:
        words = r"(?: +|\n {6})".join(map(re.escape, advice.split()))
        assert re.search(rf"\n {{6}}{words}\n", told), advice
        assert f"\n      {advice}\n" in in_pipe


# ---- its reader ----


@pytest.mark.parametrize("command", [("-h",), ("env", "--openapi")])
def test_a_reader_that_has_seen_enough_ends_the_command_without_a_word(command: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [Path(sys.executable).with_name("once"), *command], stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    os.close(writer)
    told = [line for line in done.stderr.splitlines() if "ReceiveRequest → " not in line]
    assert (done.returncode, [each for each in told if each]) == (141, [])
