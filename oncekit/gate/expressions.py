"""JSONata that AWS cannot evaluate, and strings that only look like it."""

from __future__ import annotations

from collections.abc import Iterator

from oncekit.gate.machine import Finding, Machine, State, Text
from oncekit.gate.reading import read

_WITH_RESULT = ("Task", "Map", "Parallel")
_MEMBERS = ("input", "context", "result", "errorOutput")


def check(machine: Machine) -> Iterator[Finding]:
    for state in machine.states:
        for text in state.texts:
            for problem in _problems(state, text):
                yield machine.finding(state, f"{text.field}: {problem}")


def _problems(state: State, text: Text) -> Iterator[str]:
    if text.is_expression:
        reading = read(text.source)
        yield from reading.problems
        for member in reading.states:
            yield from _of_states(state, text, member)
    elif "{%" in text.value:
        yield "AWS takes an expression inside of a longer string for text; make all of it one {% ... %}, joined with &"


def _of_states(state: State, text: Text, member: str) -> Iterator[str]:
    """What is wrong with `$states.<member>` where `text` stands."""
    if member not in _MEMBERS:
        yield f"$states has no member {member}; it has {', '.join(_MEMBERS)}"
    if member == "result" and not (text.path[0] in ("Assign", "Output") and state.type in _WITH_RESULT):
        yield "$states.result is only for Assign and Output of Task, Map and Parallel; use $states.input"
    if member == "errorOutput" and not (text.path[0] == "Catch" and text.path[2] in ("Assign", "Output")):
        yield "$states.errorOutput is there only in Assign and Output of a Catch; assign what you need of it there"
