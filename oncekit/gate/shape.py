"""What every machine and state must have: comments, names, ways that lead somewhere, ends that say why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from oncekit.gate.finding import Finding
from oncekit.gate.machine import Machine, Scope, State, of_each_machine
from oncekit.gate.reasons import MAY_FAIL_UNCAUGHT, Excused

_NAME = re.compile(r"[A-Z][A-Za-z]{2,79}")
_SHORTEST_COMMENT = 20
_ENDS = ("Succeed", "Fail")


@of_each_machine
def check(machine: Machine) -> Iterator[Finding]:
    excused = Excused(MAY_FAIL_UNCAUGHT, machine.name)
    for field in ("Comment", "TimeoutSeconds"):
        if field not in machine.definition:
            yield machine.finding(None, f"the machine has no {field}; add it")
    for scope in machine.scopes:
        yield from _ways(machine, scope)
    for name, times in Counter(state.name for state in machine.states).items():
        if times > 1:
            yield Finding(
                machine.file, name, "is the name of two states, and AWS wants it once in a machine; rename one"
            )
    for state in machine.states:
        yield from (machine.finding(state, problem) for problem in _state(state))
        if (problem := _uncaught(state)) and not excused(state.name):
            yield machine.finding(state, problem)
    for name in excused.unused():
        yield Finding(
            machine.file,
            name,
            "is listed in MAY_FAIL_UNCAUGHT in oncekit/gate/reasons.py for nothing; remove it there",
        )


def _ways(machine: Machine, scope: Scope) -> Iterator[Finding]:
    if scope.start not in scope.states:
        yield machine.finding(
            scope.owner, f"StartAt names {scope.start or 'nothing'}, which is not a state; name the first"
        )
        return
    for state in scope.states.values():
        for way in state.ways:
            if way.target not in scope.states:
                where = ".".join(way.path)
                yield machine.finding(
                    state, f"{where} goes to {way.target}, which is not a state beside it; name one that is"
                )
        if state.name not in scope.reached:
            yield machine.finding(state, "no way leads here; remove the state, or let another one go to it")


def _state(state: State) -> Iterator[str]:
    comment = str(state.raw.get("Comment", ""))
    if len(comment) <= _SHORTEST_COMMENT or "\n" in comment:
        yield "has no Comment of one line that says why the state exists; write it"
    if not _NAME.fullmatch(state.name):
        yield "is not a name for a state: words in CamelCase, letters only, at most 80; rename it"
    if state.type == "Choice" and "Default" not in state.raw:
        yield "has no Default, so a case that nobody thought of ends the execution as States.NoChoiceMatched; add it"
    if state.type not in ("Choice", *_ENDS) and not {"Next", "End"} & set(state.raw):
        yield "has neither Next nor End; add one"
    if state.type == "Fail":
        for field in ("Error", "Cause"):
            if not state.raw.get(field):
                yield f"has no {field}, so nobody can tell what failed; add it"
    if state.type == "Task":
        yield from _task(state)


def _task(state: State) -> Iterator[str]:
    if not state.raw.get("TimeoutSeconds"):
        yield "has no TimeoutSeconds, and AWS's default is 60 seconds for some and forever for others; add it"
    if not state.raw.get("Retry") and not _judges_errors_itself(state):
        yield "has no Retry, so one throttled call ends it; add it"


def _judges_errors_itself(state: State) -> bool:
    """A function may raise an error by any name, one of Lambda's own, too, and no Retry looks at the cause."""
    return state.resource.startswith("lambda:invoke") and _uncaught(state) is None


def _uncaught(state: State) -> str | None:
    caught = {name for clause in state.raw.get("Catch", []) for name in clause.get("ErrorEquals", [])}
    if state.type != "Task" or "States.ALL" in caught:
        return None
    return (
        "has no Catch for States.ALL, so an error that outlasts its retries ends the execution; "
        "add it, or give the reason in oncekit/gate/reasons.py"
    )
