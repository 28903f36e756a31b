"""A state machine's own definition as the program of the model: one move is a Task's call and all that follows it up to
the next call.

Nothing of the definition is written down a second time: choices, assignments, catches, retries and arguments are read
from it and evaluated with the local cloud's JSONata. Time stands still at `NOW`; the world moves the times in a record
and in variables. Variables that nobody can read any more are forgotten, so that worlds that differ in nothing are one.
"""

from __future__ import annotations

import datetime
import functools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.local.clock import VirtualClock
from oncekit.local.engine.expression import Evaluator
from oncekit.local.engine.limits import is_named
from oncekit.local.engine.values import JSONataError

NOW = 1_767_225_600


def iso(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class _Dice(random.Random):
    """`$uuid()` gives each run of an execution one value, always the same."""

    run = 0

    def getrandbits(self, k: int, /) -> int:
        return self.run


_DICE = _Dice(0)
_EVALUATOR = Evaluator(VirtualClock(float(NOW)), _DICE)
_PATH = re.compile(r"\$(\w+)(?:\.(\w+))?")
_INPUT = "states.input"


@dataclass(frozen=True, slots=True)
class At:
    """About to make the call of a Task."""

    position: str
    variables: str


@dataclass(frozen=True, slots=True)
class End:
    """The end of an execution, or of a branch."""

    state: str
    error: str | None = None
    output: Any = None


Next = At | End


class Uncaught(Exception):
    """An error that the state does not catch: the execution dies of it."""


class Machine:
    """A machine's states by name, with all that a model asks of them.

    `me` is an execution's ARN and, after spaces, its name, its start (ISO) and the number of its run, where that makes
    a difference.
    """

    def __init__(self, definition: Mapping[str, Any]) -> None:
        self.states: dict[str, Any] = definition["States"]
        self._start: str = definition["StartAt"]
        self._live = _liveness(self.states)
        self.enter: Callable[..., Next] = functools.cache(self._enter)
        self.call: Callable[[str, str, str, str], str] = functools.cache(self._call)
        self.succeed: Callable[[str, str, str, str, str], Next] = functools.cache(self._succeed)
        self.fail: Callable[[str, str, str, str, str, str], Next] = functools.cache(self._fail)

    def resource(self, position: str) -> str:
        """The service and action of a Task, e.g. `dynamodb:updateItem`."""
        arn: str = self.states[position]["Resource"]
        return arn.partition(":states:::")[2].removeprefix("aws-sdk:")

    def retries(self, position: str, error: str) -> int:
        """How often the Task is called again after this error."""
        for retrier in self.states[position].get("Retry", ()):
            if is_named(set(retrier["ErrorEquals"]), error):
                return int(retrier.get("MaxAttempts", 3))
        return 0

    def catches(self, position: str, error: str) -> bool:
        return any(is_named(set(catcher["ErrorEquals"]), error) for catcher in self.states[position].get("Catch", ()))

    def _enter(self, me: str, execution_input: str, around: str = "{}") -> Next:
        """The first call of an execution, or of a branch that has variables `around` it; both are JSON text."""
        known = {_INPUT: json.loads(execution_input), **json.loads(around)}
        return self._settle(self._start, known, me, execution_input)

    def _call(self, position: str, variables: str, me: str, execution_input: str) -> str:
        """The Task's arguments as JSON."""
        known = json.loads(variables)
        scope = _scope(known, me, execution_input)
        return json.dumps(self._value(self.states[position].get("Arguments", {}), scope, known), sort_keys=True)

    def _succeed(self, position: str, variables: str, me: str, execution_input: str, result: str) -> Next:
        """What follows a call that was answered with `result`, as JSON. Raises Uncaught."""
        known = json.loads(variables)
        scope = _scope(known, me, execution_input) | {"result": json.loads(result)}
        try:
            return self._leave(position, self.states[position], known, scope, me, execution_input)
        except JSONataError as error:
            return self._fail(position, variables, me, execution_input, "States.QueryEvaluationError", str(error))

    def _fail(self, position: str, variables: str, me: str, execution_input: str, error: str, cause: str) -> Next:
        """What follows a call that failed and is not tried again. Raises Uncaught."""
        known = json.loads(variables)
        scope = _scope(known, me, execution_input) | {"errorOutput": {"Error": error, "Cause": cause}}
        for catcher in self.states[position].get("Catch", ()):
            if is_named(set(catcher["ErrorEquals"]), error):
                return self._leave(position, catcher, known, scope, me, execution_input)
        raise Uncaught(f"{position}: {error}")

    def _leave(
        self,
        position: str,
        way: Mapping[str, Any],
        known: dict[str, Any],
        scope: dict[str, Any],
        me: str,
        execution_input: str,
    ) -> Next:
        """On by a state, a choice's rule or a catcher: its assignments, then the state it names."""
        output = self._value(way["Output"], scope, known) if "Output" in way else None
        if way.get("End"):
            return End(position, output=output)
        target: str = way.get("Next") or way["Default"]
        wanted = self._live[target]
        assigned: dict[str, Any] = {_INPUT: output} if "Output" in way else {}
        for name, source in way.get("Assign", {}).items():
            if (read := _wanted(name, source, wanted)) is not None:
                assigned[name] = self._value(read, scope, known)
        return self._settle(target, known | assigned, me, execution_input)

    def _settle(self, state: str, known: dict[str, Any], me: str, execution_input: str) -> Next:
        """From entering a state to the next call or an end. A Wait takes no time here; its end is a move of others."""
        definition = self.states[state]
        known = _kept(known, self._live[state])
        scope = _scope(known, me, execution_input)
        match definition["Type"]:
            case "Task":
                return At(state, json.dumps(known, sort_keys=True))
            case "Succeed":
                return End(state, output=self._value(definition.get("Output"), scope, known))
            case "Fail":
                return End(state, error=str(self._value(definition["Error"], scope, known)))
            case "Choice":
                for rule in definition["Choices"]:
                    if self._value(rule["Condition"], scope, known) is True:
                        return self._leave(state, rule, known, scope, me, execution_input)
            case "Map":  # ReadRequest, which has each item as it is
                scope |= {"result": self._value(definition["Items"], scope, known)}
        return self._leave(state, definition, known, scope, me, execution_input)

    def _value(self, node: Any, scope: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
        if isinstance(node, dict):
            return {name: self._value(each, scope, known) for name, each in node.items()}
        if isinstance(node, list):
            return [self._value(each, scope, known) for each in node]
        if isinstance(node, str) and node.startswith("{%"):
            return _EVALUATOR.evaluate(node[2:-2], scope, known)
        return node


def _scope(known: Mapping[str, Any], me: str, execution_input: str) -> dict[str, Any]:
    arn, name, start, run = (*me.split(" "), "", "", "")[:4]
    _DICE.run = int(run or 0)
    execution = {"Id": arn, "Name": name, "Input": json.loads(execution_input), "StartTime": start or iso(NOW)}
    scope: dict[str, Any] = {"context": {"Execution": execution}}
    if _INPUT in known:
        scope["input"] = known[_INPUT]
    return scope


def _members(name: str, paths: frozenset[str]) -> set[str]:
    return {path.partition(".")[2] for path in paths if path.startswith(f"{name}.")}


def _kept(known: Mapping[str, Any], live: frozenset[str]) -> dict[str, Any]:
    """The variables, and of those that are read member by member the members, that may be read from here on."""
    kept: dict[str, Any] = {}
    for name, value in known.items():
        if name in live:
            kept[name] = value
        elif members := _members(name, live):
            kept[name] = {key: each for key, each in value.items() if key in members}
    return kept


def _wanted(name: str, source: Any, live: frozenset[str]) -> Any:
    """What of an assignment is read later: all of it, some members of an object, or None."""
    members = _members(name, live)
    if name in live or (members and not isinstance(source, dict)):
        return source
    return {key: each for key, each in source.items() if key in members} if members else None


def _expressions(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for each in node.values():
            yield from _expressions(each)
    elif isinstance(node, list):
        for each in node:
            yield from _expressions(each)
    elif isinstance(node, str) and node.startswith("{%"):
        yield node


def _uses(node: Any) -> frozenset[str]:
    """Variables, or members of variables (`record.owner`), that the expressions in `node` read."""
    found = [_PATH.findall(source) for source in _expressions(node)]
    return frozenset(f"{name}.{member}" if member else name for paths in found for name, member in paths)


_OWN_FIELDS = ("Assign", "Catch", "Choices", "Comment", "Retry", "Seconds", "Next", "Default", "ItemProcessor")


def _liveness(states: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """What may still be read from each state on. A variable that is read only to compute itself is not."""
    live: dict[str, frozenset[str]] = {name: frozenset() for name in states}

    def through(way: Mapping[str, Any]) -> frozenset[str]:
        target = way.get("Next") or way.get("Default")
        after = live[target] if target else frozenset[str]()
        assigned = way.get("Assign", {})
        read = [_uses(_wanted(name, source, after)) for name, source in assigned.items()]
        return frozenset(path for path in after if path.partition(".")[0] not in assigned).union(*read)

    while True:
        before = dict(live)
        for name, state in states.items():
            own = _uses({key: value for key, value in state.items() if key not in _OWN_FIELDS})
            ways = [through(state), *(through(way) for way in state.get("Catch", ()))]
            ways += [through(rule) | _uses(rule["Condition"]) for rule in state.get("Choices", ())]
            live[name] = own.union(*ways)
        if live == before:
            return live
