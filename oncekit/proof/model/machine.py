"""A state machine's own definition as the program of the model: one move is a Task's call and all that follows it up to
the next call.

Nothing of the definition is written down a second time: choices, assignments, catches, retries and arguments are read
from it and evaluated with the local cloud's JSONata. Time stands still at `NOW`; the world moves the times in a record
and in variables. Variables that nobody can read any more are forgotten, so that worlds that differ in nothing are one.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.asl import states
from oncekit.asl.definition import expressions
from oncekit.asl.errors import StateError, is_named
from oncekit.asl.expression import Evaluator
from oncekit.asl.history import iso

NOW = 1_767_225_600


class _Dice(random.Random):
    """`$uuid()` gives each run of an execution one value, always the same."""

    run = 0

    def getrandbits(self, k: int, /) -> int:
        return self.run


_DICE = _Dice(0)
_EVALUATOR = Evaluator(lambda: float(NOW), _DICE)
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
        self._live = _liveness(self.states)
        wanted = {name: _with_what_is_read(state, self._live) for name, state in self.states.items()}
        self._steps = states.Machine({**definition, "States": wanted}, _EVALUATOR, _DICE)
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
        return self._settle(self._steps.start_at, known, me, execution_input)

    def _call(self, position: str, variables: str, me: str, execution_input: str) -> str:
        """The Task's arguments as JSON."""
        call = self._steps.begin(_frame(position, json.loads(variables), me, execution_input))
        assert isinstance(call, states.Call)
        return json.dumps(call.arguments, sort_keys=True)

    def _succeed(self, position: str, variables: str, me: str, execution_input: str, result: str) -> Next:
        """What follows a call that was answered with `result`, as JSON. Raises Uncaught."""
        known = json.loads(variables)
        frame = _frame(position, known, me, execution_input)
        return self._caught(frame, lambda: self._steps.answered(frame, json.loads(result)), known, me, execution_input)

    def _fail(self, position: str, variables: str, me: str, execution_input: str, error: str, cause: str) -> Next:
        """What follows a call that failed and is not tried again. Raises Uncaught."""
        known = json.loads(variables)
        frame = _frame(position, known, me, execution_input)

        def fails() -> states.Way:
            raise StateError(error, cause)

        return self._caught(frame, fails, known, me, execution_input)

    def _caught(
        self, frame: states.Frame, step: Callable[[], states.Way], known: dict[str, Any], me: str, execution_input: str
    ) -> Next:
        """The way of a step, or of what catches its error."""
        try:
            try:
                way = step()
            except StateError as error:
                way = self._steps.caught(frame, error)
        except StateError as error:
            raise Uncaught(f"{frame.state}: {error.error}") from error
        return self._leave(frame.state, way, known, me, execution_input)

    def _leave(self, position: str, way: states.Way, known: dict[str, Any], me: str, execution_input: str) -> Next:
        if way.to is None:
            return End(position, output=way.output)
        return self._settle(way.to, {**known, **way.assigned, _INPUT: way.output}, me, execution_input)

    def _settle(self, state: str, known: dict[str, Any], me: str, execution_input: str) -> Next:
        """From entering a state to the next call or an end. A Wait takes no time here; its end is a move of others."""
        known = _kept(known, self._live[state])
        frame = _frame(state, known, me, execution_input)
        kind = self._steps.type_of(state)
        if kind == "Task":
            return At(state, json.dumps(known, sort_keys=True))
        if kind == "Fail":
            return End(state, error=_error(self._steps, frame))
        if kind == "Wait":
            return self._leave(state, self._steps.waited(frame), known, me, execution_input)
        way = self._steps.begin(frame)
        if isinstance(way, states.Branches):  # ReadRequest, which has each item as it is
            way = self._steps.answered(frame, way.items)
        assert isinstance(way, states.Way)
        return self._leave(state, way, known, me, execution_input)


def _error(machine: states.Machine, frame: states.Frame) -> str | None:
    try:
        machine.begin(frame)
    except StateError as error:
        return error.error
    raise AssertionError(f"{frame.state} fails nothing")


def _frame(state: str, known: Mapping[str, Any], me: str, execution_input: str) -> states.Frame:
    arn, name, start, run = (*me.split(" "), "", "", "")[:4]
    _DICE.run = int(run or 0)
    execution = {"Id": arn, "Name": name, "Input": json.loads(execution_input), "StartTime": start or iso(NOW)}
    variables = {name: value for name, value in known.items() if name != _INPUT}
    return states.Frame(state, known.get(_INPUT), variables, {"Execution": execution})


def _with_what_is_read(state: Mapping[str, Any], live: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    """A state whose ways assign only what is read later: the others may be made of variables that were forgotten."""

    def way(each: Mapping[str, Any]) -> dict[str, Any]:
        after = live.get(each.get("Next") or each.get("Default") or "", frozenset())
        wanted = {name: _wanted(name, source, after) for name, source in each.get("Assign", {}).items()}
        return {**each, "Assign": {name: source for name, source in wanted.items() if source is not None}}

    parts = {name: [way(each) for each in state[name]] for name in ("Catch", "Choices") if name in state}
    return {**way(state), **parts}


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


def _uses(node: Any) -> frozenset[str]:
    """Variables, or members of variables (`record.owner`), that the expressions in `node` read."""
    found = [_PATH.findall(source) for source in expressions(node)]
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
