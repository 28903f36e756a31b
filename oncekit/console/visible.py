"""What others wrote, as people are shown it: in characters that can be seen, and no more than can be read."""

from __future__ import annotations

import json
import unicodedata


def visible(value: object) -> str:
    """The text of a value on one line, each character that cannot be seen as its escape."""
    text = str(value)
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) == "Zs":  # spaces of other scripts can be seen
        return character
    return character.encode("unicode_escape").decode("ascii")


def text_of(value: object) -> str:
    """The text of a value, or the JSON of one that is none."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


def short(value: object, longest: int = 160) -> str:
    """The same; a longer one ends in how long it is."""
    text = text_of(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}… ({len(text):,} characters)"
