"""JSONata that AWS cannot evaluate, and strings that only look like it."""

from __future__ import annotations

from collections.abc import Iterator

from oncekit.gate.finding import Finding
from oncekit.gate.machine import Machine, State, Text
from oncekit.gate.reading import read

_EVALUATED = {
    "Arguments", "Assign", "Output", "Condition", "Items", "ItemSelector", "TimeoutSeconds", "HeartbeatSeconds",
    "Seconds", "Timestamp", "Error", "Cause", "MaxConcurrency", "Credentials",
}  # fmt: skip
_WITH_RESULT = {"Task", "Map", "Parallel"}
_CONTEXT = {
    "Execution": {"Id", "Input", "Name", "RoleArn", "StartTime", "RedriveCount", "RedriveTime"},
    "State": {"EnteredTime", "Name", "RetryCount"},
    "StateMachine": {"Id", "Name"},
    "Task": {"Token"},
    "Map": {"Item"},
}


def check(machine: Machine) -> Iterator[Finding]:
    if machine.definition.get("QueryLanguage") != "JSONata":
        yield machine.finding(None, "QueryLanguage is not JSONata, so AWS takes every expression for text; say so")
    for state in machine.states:
        for problem in _problems(state):
            yield machine.finding(state, problem)
        yield from _keys(machine, state)


def _problems(state: State) -> Iterator[str]:
    for text in state.texts:
        if not text.is_expression:
            if "{%" in text.value or text.value.endswith("%}"):
                yield (
                    f"{text.field} has an expression inside of a longer string, which AWS takes for text; "
                    "make the whole string one {% ... %} and join with &"
                )
            elif text.path[-1] == "Condition":
                yield f"{text.field} is a string and not an expression, so it is never true; write {{% ... %}}"
        elif text.path[0] not in _EVALUATED | {"Choices", "Catch"}:
            yield f"{text.field} is not evaluated by AWS; put the value there"
        else:
            reading = read(text.source)
            yield from (f"{text.field}: {problem}" for problem in reading.problems)
            for member in reading.states:
                if problem := _of_states(state, text, member):
                    yield f"{text.field}: {problem}"


def _keys(machine: Machine, state: State) -> Iterator[Finding]:
    for text in state.texts:
        if any("{%" in key for key in text.path):
            yield machine.finding(
                state, f"{text.field}: the name of a member is not evaluated by AWS; use $merge or {{}}"
            )


def _of_states(state: State, text: Text, member: tuple[str, ...]) -> str | None:
    """What is wrong with `$states.<member>` where `text` stands."""
    first, at_its_end = member[0], text.path[0] in ("Assign", "Output")
    caught = text.path[0] == "Catch" and text.path[2] in ("Assign", "Output")
    if first == "result" and not (at_its_end and state.type in _WITH_RESULT):
        where = f"a {state.type} has none" if state.type not in _WITH_RESULT else "it is not there yet, or never"
        return f"$states.result is only for Assign and Output of Task, Map and Parallel: {where}; use $states.input"
    if first == "errorOutput" and not caught:
        return "$states.errorOutput is there only in Assign and Output of a Catch; assign what you need of it there"
    if first not in ("input", "context", "result", "errorOutput"):
        return f"$states has no member {first}; it has input, context, result and errorOutput"
    if first == "errorOutput" and len(member) > 1 and member[1] not in ("Error", "Cause"):
        return f"$states.errorOutput has no member {member[1]}; it has Error and Cause"
    return _of_context(state, member[1:]) if first == "context" else None


def _of_context(state: State, member: tuple[str, ...]) -> str | None:
    if not member or "*" in member[:2]:
        return None
    if member[0] not in _CONTEXT:
        return f"the context has no {member[0]}; it has {', '.join(sorted(_CONTEXT))}"
    if len(member) > 1 and member[1] not in _CONTEXT[member[0]]:
        known = ", ".join(sorted(_CONTEXT[member[0]]))
        return f"$states.context.{member[0]} has no {member[1]}; it has {known}"
    if member[0] == "Task" and not state.resource.endswith(".waitForTaskToken"):
        return "there is no task token without .waitForTaskToken"
    return None
