"""Payloads that came under one key, side by side: the one that counts, and those that were refused for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

from markupsafe import Markup

from oncekit.console.json_text import members, set_out
from oncekit.contract.requests import opened

MOST = 10
"""Refused payloads that are shown, the newest."""
MOST_COMPARED = 300
"""Lines; of more, a comparison of each with each could take minutes."""


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
    for i, j, k, m in _differ(left, right):
        left[i:j], right[k:m] = _marked(left[i:j]), _marked(right[k:m])
    return Beside(Markup("\n").join(left), Markup("\n").join(right))


def _differ(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Where they do, from and to in either. Of more lines than are compared, all between the first and the last one."""
    fewest = min(len(left), len(right))
    first = next((n for n in range(fewest) if left[n] != right[n]), fewest)
    last = next((n for n in range(fewest - first) if left[-1 - n] != right[-1 - n]), fewest - first)
    i, j, k, m = first, len(left) - last, first, len(right) - last
    if max(j - i, m - k) > MOST_COMPARED:
        yield i, j, k, m
        return
    for kind, *place in SequenceMatcher(None, left[i:j], right[k:m], autojunk=False).get_opcodes():
        if kind != "equal":
            yield first + place[0], first + place[1], first + place[2], first + place[3]


def _marked(lines: Sequence[Markup]) -> list[Markup]:
    return [Markup("<mark>{}</mark>").format(each) for each in lines]
