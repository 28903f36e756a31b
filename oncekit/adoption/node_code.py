"""What the code of a function in Node.js says of its event: the file of its handler, searched as text.

What that imports is not looked at, nor what a build makes of it. So where nothing is told, nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from oncekit.adoption.shapes import LOCK, READ, RECORDS, RESOLVER, STATUS_CODE
from oncekit.local.lambda_runtime.languages import NODE_FILES

_STRING = r""" "(?:\\.|[^"\\\n])*+" | '(?:\\.|[^'\\\n])*+' | `(?:\\.|[^`\\])*+` """
_COMMENTS = re.compile(rf"(?P<string>{_STRING}) | /\*.*?\*/ | (?<!:)//[^\n]*", re.DOTALL | re.VERBOSE)
_POWERTOOLS = {
    "batch": (RECORDS, r"\b(?:processPartialResponse|processPartialResponseSync)\s*\("),
    "event-handler": (RESOLVER, r"\.resolve\s*\("),
    "idempotency": (LOCK, r"\b(?:makeIdempotent|makeHandlerIdempotent)\s*\(|@idempotent\s*\("),
}
"""By package: what its use says."""


def shapes(folder: Path, handler: str) -> Mapping[str, tuple[Path, int]]:
    """As of a function in Python: each with its file and its first line."""
    module, _, function = handler.rpartition(".")
    files = (folder / f"{module}{end}" for end in (*NODE_FILES, ".ts", ".mts"))
    if (path := next((each for each in files if each.is_file()), None)) is None:
        return {}
    code = _COMMENTS.sub(
        lambda each: each["string"] or re.sub(r"[^\n]", " ", each[0]), path.read_text("utf-8", "replace")
    )
    found: dict[str, tuple[Path, int]] = {}
    for member, where in _shapes(code, function):
        if member in (*READ, STATUS_CODE, RESOLVER, LOCK):
            place = (path, code.count("\n", 0, where) + 1)
            found[member] = min(found.get(member, place), place)
    return found


def _shapes(code: str, function: str) -> Iterator[tuple[str, int]]:
    parameter = rf"\b{re.escape(function)}\b[^\n(={{]*+=?\s*+(?:async\b)?\s*+(?:function\b\s*+\w*+)?\s*+\(?\s*+"
    events = "|".join({*re.findall(rf"{parameter}(\w++)\s*+[,:)=]", code)} or ["event"])
    for each in re.finditer(rf"\b(?:{events})\b\s*+(?:\?\.|\.|(?:\?\.)?\[\s*+['\"])\s*+(\w++)", code):
        yield each[1], each.start()
    own = rf"\b(?:const|let|var)\s*+\{{([^}}]*+)\}}(?:\s*+:\s*+\w++)?\s*+=\s*+(?:{events})[ \t]*+(?:;|$)"
    for each in re.finditer(rf"{parameter}\{{([^}}]*+)\}}|{own}", code, re.MULTILINE):
        for name in (each[1] or each[2] or "").split(","):
            yield re.split(r"[:=]", name)[0].strip(), each.start()
    for each in re.finditer(r"\bstatusCode['\"]?\s*:(?!\s*number\b)", code):
        yield STATUS_CODE, each.start()
    for package, (member, use) in _POWERTOOLS.items():
        if f"@aws-lambda-powertools/{package}" in code:
            yield from ((member, each.start()) for each in re.finditer(use, code))
