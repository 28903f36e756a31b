"""What producers and functions may write to harm an operator, and what a terminal may be told of it."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

ROOT = Path(__file__).parents[2]

EVIL = "a\x1b]52;c;aGk=\x07b\x1b[2J\r\nforged  DONE\tc\x00\x7f\x9b31md\u202ee\u2066f\u2028g\u2029h\ud800i\x85forged"
"""To the clipboard, away with the screen, a row of its own, another colour, backwards, and half a pair."""
SEEN = r"a\x1b]52;c;aGk=\x07b\x1b[2J\r\nforged  DONE\tc\x00\x7f\x9b31md\u202ee\u2066f\u2028g\u2029h\ud800i\x85forged"


def assert_calm(text: str) -> None:
    """No character that a terminal would obey, and no line that a value brought."""
    unseen = {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert not unseen, (unseen, text)
    assert not [line for line in text.splitlines() if line.startswith("forged")], text


def python(code: str, *arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[bytes]:
    given = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}", **environment}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, env=given, capture_output=True, timeout=120, check=False)
