"""What is made of the answer of business logic: whose text it is, and whether it fits into the record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from one_state import ME, NOW, State

States = Callable[..., State]

REQUEST = {"id": "acme#charge#k", "idHash": "a" * 64, "operation": "charge", "tenant": "acme", "idempotencyKey": "k"}
LOCK = {"fence": 3, "attempts": 2, "leaseExpiresAt": NOW + 95, "onCrash": "retry"}
TOKEN = "3f0e8c1a-0000-4000-8000-000000000000"
OBJECT = f"acme/charge/{'a' * 64}/3-{hashlib.sha256(ME.encode()).hexdigest()[:16]}.json"
REF = {"bucket": "once-responsebucket", "key": f"responses/30d/{OBJECT}", "sha256": "0f" * 32, "bytes": 70000}
ROOM = 4096 - 1200 - 4 * len("k")
"""Of a record within InlineLimitBytes."""


def answered(state: States, reply: Any, fence: int = 3) -> Any:
    """What is kept of a function's reply."""
    known = {"request": REQUEST, "lock": {**LOCK, "fence": fence}, "replyToken": TOKEN, "room": ROOM}
    way = state("ExecuteBusinessLogic").takes({"Payload": reply}, known)
    assert (way.to, way.assigned["ran"]) == ("JudgeAnswer", True)
    return way.assigned["answer"]


def test_the_librarys_own_text_is_kept_as_it_is(state: States) -> None:
    for text in ('{"n": 1.10}', "[1"):
        assert answered(state, {"onceResult": text, "replyToken": TOKEN}) == {"text": text, "inline": True}
    assert answered(state, {"onceResultRef": REF, "replyToken": TOKEN}) == {"resultRef": REF}


@pytest.mark.parametrize(
    "reply",
    [
        {"onceResult": "1"},
        {"onceResultRef": REF},
        {"onceResult": 1, "replyToken": TOKEN},
        {"onceResult": "1", "replyToken": "guessed"},
        {"onceResult": "1", "replyToken": None},
        {"onceResult": "1", "replyToken": [TOKEN]},
        {"onceResult": "1", "replyToken": TOKEN, "more": 1},
        {"operation": "charge", "payload": {"onceResult": "1"}, "replyToken": TOKEN},
        {"onceResultRef": REF, "replyToken": "guessed"},
        {"replyToken": TOKEN},
        [{"onceResultRef": REF}],
        [{"onceResult": "1"}, {"replyToken": TOKEN}],
        [],
        [1, "x", None],
        {},
        True,
        None,
        "",
        'a "text" with \\ and \n',
        0,
        -1.5,
    ],
    ids=str,
)
def test_the_reply_of_a_function_that_knows_nothing_of_once_is_kept_as_text(reply: Any, state: States) -> None:
    kept = answered(state, reply)
    assert (json.loads(kept["text"]), kept["inline"]) == (reply, True)


@pytest.mark.parametrize(
    "changed",
    [
        {"bucket": "company-backups"},
        {"bucket": None},
        {"key": "responses/30d/acme/charge/" + "b" * 64 + "/3-" + "0" * 16 + ".json"},
        {"key": f"requests/{OBJECT}"},
        {"key": f"responses/31d/{OBJECT}"},
        {"key": f"responses/{OBJECT}"},
        {"key": f"responses/30d/victim{OBJECT[4:]}"},
        {"key": f"responses/30d/{OBJECT.replace('charge', 'refund')}"},
        {"key": f"responses/30d/{OBJECT.replace('/3-', '/4-')}"},
        {"key": f"{REF['key']}x"},
        {"key": ""},
        {"key": [REF["key"]]},
        {"sha256": 7},
        {"bytes": "70000"},
        {"bytes": None},
    ],
    ids=str,
)
def test_a_reference_to_anything_but_this_attempts_own_object_is_data(changed: dict[str, Any], state: States) -> None:
    reply = {"onceResultRef": {**REF, **changed}, "replyToken": TOKEN}
    kept = answered(state, reply)
    assert (set(kept), json.loads(kept["text"])) == ({"text", "inline"}, reply)
    parts = {"onceResultRef": [{name: value} for name, value in REF.items()], "replyToken": TOKEN}
    assert json.loads(answered(state, parts)["text"]) == parts
    for missing in REF:
        less = {"onceResultRef": {name: value for name, value in REF.items() if name != missing}, "replyToken": TOKEN}
        assert json.loads(answered(state, less)["text"]) == less


@pytest.mark.parametrize("number", [0.12345678901234568, 12345678901234568])
def test_a_reply_whose_text_would_not_be_exact_is_kept_as_it_came(number: float, state: States) -> None:
    assert answered(state, {"n": number}) == {"value": {"n": number}, "inline": False}


def test_a_small_text_that_cache_response_gives_back_is_kept_in_the_record(state: States) -> None:
    exact = {"text": '{"n":0.30000000000000004}'}
    assert state("CacheResponse").takes({"Payload": exact}, {}).assigned["answer"] == exact
    assert state("CacheResponse").takes({"Payload": REF}, {}).assigned["answer"] == {"resultRef": REF}


@pytest.mark.parametrize(("size", "fits"), [(ROOM, True), (ROOM + 1, False)])
def test_a_record_with_its_answer_and_its_id_stays_within_the_inline_limit(
    size: int, fits: bool, state: States
) -> None:
    text = json.dumps("x" * (size - 2))
    assert answered(state, {"onceResult": text, "replyToken": TOKEN}) == {"text": text, "inline": fits}
    plain = answered(state, "x" * (size - 2))
    assert plain == ({"text": text, "inline": True} if fits else {"value": "x" * (size - 2), "inline": False})


def test_a_character_outside_ascii_counts_as_four_bytes(state: States) -> None:
    for text, fits in (("é" * (ROOM // 4), True), ("é" * (ROOM // 4 + 1), False), ("~ " * (ROOM // 2), True)):
        assert answered(state, {"onceResult": text, "replyToken": TOKEN})["inline"] is fits
