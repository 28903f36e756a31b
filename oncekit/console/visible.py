"""What others wrote, as characters that can be seen."""

from __future__ import annotations

import unicodedata


def visible(value: object) -> str:
    """The text of a value on one line, each character that cannot be seen as its escape."""
    text = str(value)
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) == "Zs":  # spaces of other scripts can be seen
        return character
    return character.encode("unicode_escape").decode("ascii")
