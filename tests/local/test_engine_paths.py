"""Members of a variable are looked up directly, and give what the engine's own way through a path gives."""

from __future__ import annotations

import random
from typing import Any

import pytest
from jsonata import Jsonata

from oncekit.local import VirtualClock
from oncekit.local.engine.expression import Interpreter
from oncekit.local.engine.jsonata import Evaluator
from oncekit.local.engine.values import JSONataError

pytestmark = pytest.mark.ours

VALUES = (
    {"a": {"b": {"c": 1}}},
    {"a": {"b": None}},
    {"a": None},
    {"a": {}},
    {"a": {"b": []}},
    {"a": {"b": [1]}},
    {"a": {"b": [[1]]}},
    {"a": {"b": [{"c": 1}, {"c": [2, 3]}, {}]}},
    {"a": [{"b": {"c": 1}}]},
    {"a": [{"b": 1}, {"b": [2]}]},
    {"a": "text"},
    {"a": {"b": {"_jsonata_lambda": True, "c": 1}}},
    {"a": {"b": False}},
    [{"a": {"b": 1}}],
    [],
    None,
    7,
)
PATHS = (
    "$x.a",
    "$x.a.b",
    "$x.a.b.c",
    "$x.a.b[]",
    "$x.a.b[0]",
    "$x.a[b = 1]",
    "$exists($x.a.b)",
    "$count($x.a.b)",
    "{'is': $x.a.b}",
    "[$x.a.b, $x.a]",
    "($y := $x.a; $y.b)",
    "($y := $x.a.b[]; $y.c)",
    "($y := {'a': $x.a[]}; $y.a.b)",
    "$map([1, 2], function($n) { $x.a.b })",
    "$type($x.a.b) & $type($x.a)",
    "$unknown.a.b",
)


def answer(path: str, value: Any) -> str:
    """What an expression gives, or how it fails."""
    try:
        return repr(Evaluator(VirtualClock(), random.Random(0)).evaluate(path, {}, {"x": value}))
    except JSONataError as error:
        return str(error)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_gives_what_the_engine_gives_whatever_is_there(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [answer(path, value) for value in VALUES]
    monkeypatch.setattr(Interpreter, "evaluate_path", Jsonata.evaluate_path)
    assert found == [answer(path, value) for value in VALUES]
