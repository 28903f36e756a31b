"""What functions print is seen where a developer looks: as lines, tracebacks included, metrics left out."""

from __future__ import annotations

import json

import pytest

from oncekit.cli.output import lines_of

LOGGED = {"level": "ERROR", "message": "'y'", "exception": "Traceback\n  File x\nKeyError: 'y'", "service": "s"}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("printed by hand", ["f | printed by hand"]),
        ("[ERROR] KeyError: 'y'\rTraceback\r  File x", ["f | [ERROR] KeyError: 'y'", "f | Traceback", "f |   File x"]),
        (json.dumps(LOGGED), ["f | ERROR 'y'", "f | Traceback", "f |   File x", "f | KeyError: 'y'"]),
        (json.dumps({"level": "INFO", "message": "attempt begins"}), ["f | INFO attempt begins"]),
        (json.dumps({"_aws": {}, "Executed": [1]}), []),
        ("[1, 2]", ["f | [1, 2]"]),
    ],
)
def test_a_line_is_made_readable(line: str, shown: list[str]) -> None:
    assert list(lines_of("f", line)) == shown


def test_plain_news_are_left_out_when_only_trouble_is_asked_for() -> None:
    assert list(lines_of("f", json.dumps({"level": "INFO", "message": "m"}), only_trouble=True)) == []
    assert list(lines_of("f", json.dumps({"level": "WARNING", "message": "m"}), only_trouble=True)) == ["f | WARNING m"]
