"""JSONata 2.0.6 as Step Functions evaluates it, on jsonata-python, in pure Python.

An evaluation only reads the syntax tree, so a tree is compiled once and shared. But the interpreter stores the current
evaluation in itself, so every thread has its own.
"""

from __future__ import annotations

import functools
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jsonata import Jsonata
from jsonata.functions import Functions
from jsonata.jexception import JException
from jsonata.parser import Parser
from jsonata.signature import Signature
from jsonata.tokenizer import Tokenizer
from jsonata.utils import Utils

from oncekit.asl.functions import Function, functions, string
from oncekit.asl.javascript import Pattern, TakenForFunction
from oncekit.asl.values import JSONataError, bound, unbound

_LATER_OPERATORS = ("??", "?:")


class Interpreter(Jsonata):  # type: ignore[misc]  # jsonata-python is untyped
    """Evaluates trees in one thread, with the operators of the reference."""

    def __init__(self, environment: Any) -> None:
        self.parser = _Parsed()
        self.regex_engine = Pattern
        self.environment = environment
        self.input = None

    def eval(self, expr: Any, input: Any, environment: Any) -> Any:
        """Without the engine's own look-up of the thread's instance, which is this one."""
        return self._eval(expr, input, environment)

    def apply(self, proc: Any, args: Any, input: Any, environment: Any) -> Any:
        """The reference asks each argument that it takes for a function for its arity, which an object rarely has."""
        if any(type(each) is TakenForFunction for each in args):
            raise JSONataError("threw an error during evaluation. An argument is taken for a function and is none")
        return super().apply(proc, args, input, environment)

    def evaluate_string_concat(self, lhs: Any, rhs: Any) -> str:
        return (string(lhs) or "") + (string(rhs) or "")

    def evaluate_range_expression(self, lhs: Any, rhs: Any) -> Any:
        """As a list: the engine's own range says that it is one longer than it is."""
        lhs, rhs = _whole(lhs), _whole(rhs)
        found = super().evaluate_range_expression(lhs, rhs)
        return None if found is None else Utils.create_sequence_from_iter(found)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


@functools.lru_cache(maxsize=4096)
def _compiled(source: str, _syntax: object) -> Any:
    """The tree of an expression, for all evaluators; another one in another syntax (`strict_syntax`)."""
    tree = Parser().parse(source, Pattern)
    if tree.errors:
        raise tree.errors[0]
    return tree


class _Parsed:
    """The engine's parser for an interpreter, which makes one for each though it only parses partial applications."""

    dbg = False

    def parse(self, source: str) -> Any:
        return Evaluator.compiled(source)


Scope = Mapping[str, Any]
"""What the expressions of a state can read, as the engine wants it."""


class Evaluator:
    """Compiles each expression once and evaluates it as a state does: with $states and variables, plain JSON values.

    `now` gives the time in epoch seconds; `dice` are behind $random and $uuid.
    """

    def __init__(self, now: Callable[[], float], dice: random.Random) -> None:
        self.now = now
        self._base = Jsonata.Frame(Jsonata.static_frame)
        for name, function in functions(dice).items():
            self._base.bind(name, function)
        self._threads = threading.local()

    @staticmethod
    def compiled(source: str) -> Any:
        return _compiled(source, Tokenizer.create)

    def scope(self, states: Mapping[str, Any], variables: Mapping[str, Any]) -> Scope:
        """For `value`: $states has these members, and no others; `$states.result` without a result is undefined."""
        return {name: bound(value) for name, value in (*variables.items(), ("states", states))}

    def evaluate(self, source: str, states: Mapping[str, Any], variables: Mapping[str, Any]) -> Any:
        """The value of one expression. Raises JSONataError as `value` does."""
        return self.value(source, self.scope(states, variables))

    def value(self, source: str, scope: Scope) -> Any:
        """The value of `source`. Raises JSONataError when it fails, gives nothing, or gives a function."""
        try:
            result = self._evaluate(source, scope)
        except JSONataError:
            raise
        except JException as error:
            raise JSONataError(f"threw an error during evaluation. {_message(error)}") from error
        except RecursionError as error:
            raise JSONataError("threw an error during evaluation. D1011: the expression goes too deep") from error
        except Exception as error:  # the engine raises what Python raises inside it; on AWS each is an evaluation error
            raise JSONataError(f"threw an error during evaluation. {type(error).__name__}: {error}") from error
        if result is None:
            raise JSONataError("returned nothing (undefined).")
        return unbound(result)

    def _evaluate(self, source: str, scope: Scope) -> Any:
        interpreter = getattr(self._threads, "interpreter", None)
        if interpreter is None:
            interpreter = self._threads.interpreter = Interpreter(self._base)
        frame = Jsonata.Frame(self._base)
        frame.bindings.update(scope)
        if "$now" in source or "$millis" in source:
            self._bind_time(frame)
        interpreter.environment = frame
        Jsonata.CURRENT.jsonata = interpreter  # where the engine's functions look for the one that called them
        return interpreter.eval(self.compiled(source), None, frame)

    def _bind_time(self, frame: Any) -> None:
        """One instant for the whole expression."""
        millis = round(self.now() * 1000)

        frame.bind("millis", Function("millis", lambda: millis, "<:n>"))
        frame.bind("now", Function("now", lambda *how: Functions.datetime_from_millis(millis, *how), "<s?s?:s>"))


def _message(error: JException) -> str:
    text = str(error)
    return text if error.error not in JException.error_codes else f"{error.error}: {text}"


@contextmanager
def strict_syntax() -> Iterator[None]:
    """In the engine's own classes: no operators later than JSONata 2.0.6, and null is not a missing argument."""
    create, symbol_of = Tokenizer.create, Signature.get_symbol

    def create_2_0_6(self: Any, kind: str | None, value: Any) -> Any:
        if kind == "operator" and value in _LATER_OPERATORS:
            raise JException("S0201", self.position, value)
        return create(self, kind, value)

    def symbol(self: Any, value: Any) -> str:
        return "l" if value is Utils.NULL_VALUE else str(symbol_of(self, value))

    Tokenizer.create, Signature.get_symbol = create_2_0_6, symbol
    try:
        yield
    finally:
        Tokenizer.create, Signature.get_symbol = create, symbol_of
