"""Payloads that came under one key, side by side: the one that counts, and those that were refused for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

from markupsafe import Markup

from oncekit.console.json_text import members, set_out
from oncekit.contract.requests import opened

MOST = 10
"""Refused payloads that are shown, the newest."""


@dataclass(frozen=True)
class Beside:
    """HTML, with what differs marked."""

    accepted: Markup | None
    """None where nobody knows it any more."""
    refused: Markup


def beside(accepted: str | None, refused: Sequence[str]) -> list[Beside]:
    """Each refused payload beside the one that counts; both are requests, as executions have them."""
    first = None if accepted is None else _payload(accepted)
    others = dict.fromkeys(_payload(each) for each in dict.fromkeys(refused))
    return [_beside(first, each) for each in islice(others, MOST)]


def _payload(text: str) -> str:
    """Its members in one order, since that of a request does not count."""
    try:
        request = opened(json.loads(text))
    except (ValueError, RecursionError):  # in a record, where a function may have written any text
        request = None
    return json.dumps(members(request).get("payload"), ensure_ascii=False, sort_keys=True)


def _beside(one: str | None, other: str) -> Beside:
    right = set_out(other).split("\n")
    if one is None:
        return Beside(None, Markup("\n").join(right))
    left = set_out(one).split("\n")
    for kind, i, j, k, m in SequenceMatcher(None, left, right).get_opcodes():  # quick: it pairs no line that is common
        if kind != "equal":
            left[i:j], right[k:m] = _marked(left[i:j]), _marked(right[k:m])
    return Beside(Markup("\n").join(left), Markup("\n").join(right))


def _marked(lines: Sequence[Markup]) -> list[Markup]:
    return [Markup("<mark>{}</mark>").format(each) for each in lines]
