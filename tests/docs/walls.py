"""Walls of text on a page: a cell of a table, or a sentence, that nobody reads to its end."""

from __future__ import annotations

import re
from collections.abc import Iterator

CELL = 200
"""Letters, as the reader sees them: of a link its words only."""

SENTENCE = 40
"""Words."""

_BLOCKS = re.compile(r"^( *)```.*?^\1```|<!--.*?-->", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_CELLS = re.compile(r"(?<!\\)\|")
_ITEM = re.compile(r"\s*(?:[-*] |\d+\. |#|<|\||$)")
_END = re.compile(r"(?<=[.!?])[*_\")]*\s+(?=[*_\"(]*\S)")


def walls(markdown: str) -> Iterator[tuple[int, str]]:
    """The line of each, and what is wrong."""
    lines = _BLOCKS.sub(lambda block: "\n" * block[0].count("\n"), markdown).split("\n")
    start, paragraph = 0, ""
    for number, line in enumerate((*lines, ""), 1):
        if line.lstrip().startswith("|"):
            for cell in _CELLS.split(line):
                if len(shown := _shown(cell)) > CELL:
                    yield number, f"a cell of {len(shown)} letters: {shown[:60]}"
        if _ITEM.match(line):
            yield from ((start, each) for each in _sentences(paragraph))
            start, paragraph = number, "" if line.lstrip().startswith(("|", "#", "<")) else line
        else:
            start, paragraph = start if paragraph.strip() else number, f"{paragraph} {line}"


def _sentences(paragraph: str) -> Iterator[str]:
    for sentence in _END.split(_shown(paragraph)):
        if (words := len(re.findall(r"\S*\w\S*", sentence))) > SENTENCE:
            yield f"a sentence of {words} words: {sentence[:60]}"


def _shown(text: str) -> str:
    """Code counts as one word."""
    return _LINK.sub(r"\1", re.sub(r"`[^`]*`", lambda code: code[0][1:-1].replace(" ", "\u00a0"), text)).strip()
