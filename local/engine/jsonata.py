"""JSONata in the interpreter: moto has the hook and no engine, and would splice values into source text.

AWS evaluates JSONata 2.0.6 with `$states` and the variables as bindings. An expression that fails or gives nothing is
`States.QueryEvaluationError`. The engine here is jsonata-python, in pure Python.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import random
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jsonata as engine
from jsonata.regex_engine import RegexFlags, default_regex_engine
from jsonata.utils import Utils
from moto.stepfunctions.parser.api import EvaluationFailedEventDetails, HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.common.string.string_expression import StringJSONata
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from local.clock import Clock
from local.engine.patching import replaced

# Beyond this an integer is a double on AWS.
EXACT_INTEGER = 2**53
# How deep the canonical form of a payload of depth 60 goes in Python frames.
RECURSION_LIMIT = 20_000

_HASHES = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}


class JSONataError(Exception):
    """An expression that failed, or gave nothing, or a function."""


def bound(value: Any) -> Any:
    """A JSON value as the engine wants it: null as its own object, large integers as doubles."""
    if value is None:
        return Utils.NULL_VALUE
    if isinstance(value, dict):
        return {str(k): bound(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [bound(v) for v in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT_INTEGER:
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return value


def unbound(value: Any) -> Any:
    """What the engine gave, as plain JSON."""
    if value is Utils.NULL_VALUE:
        return None
    if isinstance(value, dict):
        return {k: unbound(v) for k, v in value.items()}
    if isinstance(value, list):
        return [unbound(v) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, engine.Jsonata.JFunction | engine.parser.Parser.Symbol) or callable(value):
        raise JSONataError("the expression returned a function")
    return list(value) if isinstance(value, range) else value


def _hash(value: str, algorithm: str = "MD5") -> str:
    if algorithm not in _HASHES:
        raise JSONataError(f"$hash knows {', '.join(_HASHES)}, not {algorithm}")
    return hashlib.new(_HASHES[algorithm], value.encode(), usedforsecurity=False).hexdigest()


def _parse(text: str) -> Any:
    return bound(json.loads(text))


def _partition(values: list[Any], size: float) -> list[list[Any]]:
    return [values[i : i + int(size)] for i in range(0, len(values), int(size))]


def _range(first: float, last: float, step: float) -> list[float]:
    if step == 0:
        raise JSONataError("$range needs a step that is not 0")
    count = int((last - first) // step) + 1
    return [first + i * step for i in range(max(count, 0))]


def _regex(pattern: str, flags: RegexFlags) -> re.Pattern[str]:
    """In JavaScript `$` is the end of the text, and not also before a last line break as in Python."""
    if not flags.multiline and pattern.endswith("$") and not pattern.endswith("\\$"):
        pattern = pattern[:-1] + r"\Z"
    compiled: re.Pattern[str] = default_regex_engine(pattern, flags)  # type: ignore[type-arg]  # the engine is untyped
    return compiled


class Expression:
    """One compiled expression; evaluations of it take turns, since the engine keeps state in it."""

    def __init__(self, source: str, clock: Clock, dice: random.Random) -> None:
        self._lock = threading.RLock()
        self._clock = clock
        self._compiled = engine.Jsonata(source, regex_engine=_regex)
        self._compiled.output_convert_nulls = False  # null is a value, and None is undefined
        for name, function in {
            "hash": _hash,
            "parse": _parse,
            "uuid": lambda: str(uuid.UUID(int=dice.getrandbits(128), version=4)),
            "partition": _partition,
            "range": _range,
            "random": lambda *seed: (random.Random(*seed) if seed else dice).random(),  # noqa: S311 jitter, no secret
            "millis": lambda: int(self._clock.now() * 1000),
            "now": lambda *_: iso(self._clock.now()),
        }.items():
            self._compiled.register_lambda(name, function)

    def evaluate(self, bindings: dict[str, Any]) -> Any:
        with self._lock:
            return self._compiled.evaluate(None, bindings)


def iso(seconds: float) -> str:
    """An instant as AWS writes it: UTC, milliseconds."""
    return (
        datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


class Evaluator:
    """Compiles each expression once and evaluates it with values as bindings."""

    def __init__(self, clock: Clock, dice: random.Random) -> None:
        self.compiled = functools.lru_cache(maxsize=4096)(lambda source: Expression(source, clock, dice))

    def evaluate(self, source: str, states: dict[str, Any], variables: dict[str, Any]) -> Any:
        """The value of `source`. Raises JSONataError when it fails, gives nothing, or gives a function."""
        bindings = {name: bound(value) for name, value in variables.items() if f"${name}" in source}
        if "$states" in source:
            used = {name: value for name, value in states.items() if f"$states.{name}" in source}
            bindings["states"] = bound(used)
        try:
            result = self.compiled(source).evaluate(bindings)
        except JSONataError:
            raise
        except RecursionError as error:
            raise JSONataError("the expression goes too deep") from error
        except Exception as error:  # the engine raises what Python raises inside it; on AWS each is an evaluation error
            raise JSONataError(str(error) or type(error).__name__) from error
        if result is None:
            raise JSONataError("the expression returned nothing (undefined)")
        return unbound(result)


def _failure(env: Any, expression: str, error: JSONataError) -> FailureEventException:
    name = StatesErrorName(typ=StatesErrorNameType.StatesQueryEvaluationError)
    state = env.states.context_object.context_object_data.get("State") or {}
    details = EvaluationFailedEventDetails(
        error=name.error_name,
        cause=f"The JSONata expression '{expression.strip()}' failed: {error}",
        state=state.get("Name"),
    )
    return FailureEventException(
        FailureEvent(
            env=env,
            error_name=name,
            event_type=HistoryEventType.EvaluationFailed,
            event_details=EventDetails(evaluationFailedEventDetails=details),
        )
    )


@contextmanager
def mend(clock: Clock, seed: int = 0) -> Iterator[None]:
    evaluator = Evaluator(clock, random.Random(seed))  # noqa: S311 jitter, no secret

    def eval_body(self: Any, env: Any) -> None:
        store = env.variable_store
        variables = {**store._outer_scope, **store._inner_scope}
        try:
            env.stack.append(evaluator.evaluate(self.expression, env.states._states_data, variables))
        except JSONataError as error:
            raise _failure(env, self.expression, error) from error

    import sys

    limit, stack = sys.getrecursionlimit(), threading.stack_size()
    sys.setrecursionlimit(RECURSION_LIMIT)
    threading.stack_size(64 * 1024 * 1024)
    try:
        with replaced((StringJSONata, "_eval_body", eval_body)):
            yield
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(stack)
