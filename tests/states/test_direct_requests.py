"""A function of the direct lane takes what the machines take, and refuses the rest in their words."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from typing import Any

import pytest
from once import canonical
from one_state import State

from oncekit.asl.errors import StateError

States = Callable[..., State]

LEAST: dict[str, Any] = {"operation": "charge", "tenant": "acme", "idempotencyKey": "k", "payload": {}}


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels > 1 else {"a": 1}


KEYS = ["", "x" * 256, "x" * 257, "null", "a\nb", "a\u200db", "a\u2060", "\ud800", "\U0001f600" * 256, 7, None, ["k"]]
PAYLOADS: list[Any] = [
    *(None, [], "text", {"a": None}, {"a": "x" * 179_992}, {"a": "x" * 179_993}),
    *({"a": "é" * 45_000}, {"a": "é" * 44_998}, {"a": "\U0001f600" * 22_499}, {"a": "\U0001f600" * 22_500}),
    *({"a": '"' * 54_000}, {"a": '"' * 55_500}, {"a": "\ud800"}, {"a\udfff": 1}, {"a": "\\ud800"}),
    *({"a": list(range(1_998))}, {"a": [0] * 2_050}, {"a": [0] * 1_999}, {"a": [[]] * 1_000}, {"a": ["a,b[{"] * 1_000}),
    *(nested(10), nested(11), {"a": [nested(9)]}, {"a": "[" * 50}),
    *({"a": 2**53 - 1}, {"a": 2**53}, {"a": -(2**53)}, {"a": [{"b": 1e300}]}, {"a": 0.1 + 0.2}, {"a": 1e-7}),
    *(
        {"a": "x" * 2_700},
        {"a": "x" * 2_800},
        {"a": "é" * 690},
        {"a": 12345678901234568},
        {"a": True, "b": [1.0, -0.0]},
    ),
]
GIVEN = [
    *({**LEAST, "idempotencyKey": key} for key in KEYS),
    *({**LEAST, "payload": payload} for payload in PAYLOADS),
    *({**LEAST, "tenant": tenant} for tenant in ("", "Acme", "a" * 41, None, 1)),
    *({**LEAST, "operation": operation} for operation in ("Charge", None, 1)),
    *({**LEAST, "onCrash": each} for each in ("retry", "quarantine", "quarantined", None)),
    *({**LEAST, "onFailed": each} for each in ("replay", "retry", "Retry", None)),
]


@pytest.mark.parametrize("number", range(len(GIVEN)))
def test_what_is_a_request_and_why_not_is_the_same_in_all_lanes(number: int, state: States) -> None:
    given = GIVEN[number]
    way = state("ReceiveRequest").chooses({}, given)
    on = given.get("onCrash", "retry"), given.get("onFailed", "replay")
    reason = canonical.fault(given["operation"], given["tenant"], given["idempotencyKey"], given["payload"], *on)
    assert reason == way.assigned.get("reason")
    if reason is None:
        assert canonical.fingerprint(given["payload"]) == way.assigned["fingerprint"]
        text = canonical.kept({name: given[name] for name in LEAST})
        assert way.assigned["kept"] == ({"isLarge": True} if text is None else {"isLarge": False, "text": text})


@pytest.mark.parametrize("payload", [{"_jsonata_lambda": True}, {"a": [{"_jsonata_function": True}]}], ids=str)
def test_what_no_machine_can_evaluate_is_refused(payload: dict[str, Any], state: States) -> None:
    """A recovery of it would die of it."""
    with pytest.raises(StateError, match="QueryEvaluationError"):
        state("ReceiveRequest").chooses({}, {**LEAST, "payload": payload})
    assert "_jsonata_lambda or _jsonata_function" in (canonical.fault("charge", "acme", "k", payload) or "")


class Size(enum.StrEnum):
    SMALL = "small"


class Cents(enum.IntEnum):
    ODD = 7


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({1: Size.SMALL, Size.SMALL: (Cents.ODD,)}, '{"1": "small", "small": [7]}'),
        ({"a": {1, 2}}, "null"),
        ({"a": float("nan")}, "null"),
    ],
    ids=str,
)
def test_a_payload_is_the_json_that_it_is_sent_as(given: Any, sent: str) -> None:
    """Python takes more for an object than JSON does: a machine, or another sender, knows only this."""
    assert json.dumps(canonical.as_json(given)) == sent
