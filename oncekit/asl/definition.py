"""What a definition must be for it to run here, and why one does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_ANY = frozenset({"Type", "Comment", "QueryLanguage", "Next", "End", "Output", "Assign"})
_TRIED = frozenset({"Retry", "Catch"})
FIELDS = {
    "Choice": _ANY | {"Choices", "Default"},
    "Fail": _ANY | {"Error", "Cause"},
    "Map": _ANY
    | _TRIED
    | {"Items", "ItemSelector", "ItemProcessor", "MaxConcurrency"}
    | {"ToleratedFailureCount", "ToleratedFailurePercentage"},
    "Pass": _ANY,
    "Succeed": _ANY,
    "Task": _ANY | _TRIED | {"Resource", "Arguments", "TimeoutSeconds", "HeartbeatSeconds"},
    "Wait": _ANY | {"Seconds", "Timestamp"},
}
"""What is run of each type of state."""
_WAY = ("Next", "End")
_NEEDED: Mapping[str, Sequence[Sequence[str]]] = {
    "Choice": (("Choices",),),
    "Fail": (),
    "Map": (_WAY, ("ItemProcessor", "Iterator")),
    "Parallel": (_WAY, ("Branches",)),
    "Pass": (_WAY,),
    "Succeed": (),
    "Task": (_WAY, ("Resource",)),
    "Wait": (_WAY, ("Seconds", "Timestamp", "SecondsPath", "TimestampPath")),
}
"""By type of state: of each of these groups one field at least."""
_CALLBACK, _JOB = ".waitForTaskToken", ".sync"


class InvalidDefinition(ValueError):
    """What AWS would not take for a state machine; the message says where and why."""


def check(definition: Any) -> None:
    """Raises InvalidDefinition for what cannot be stepped through at all; a validator says more."""
    if not isinstance(definition, dict) or not isinstance(definition.get("States"), dict):
        raise InvalidDefinition("the definition has no States")
    states = definition["States"]
    for name, state in states.items():
        if not isinstance(state, dict) or state.get("Type") not in _NEEDED:
            kind = state.get("Type") if isinstance(state, dict) else None
            raise InvalidDefinition(f"{name}: there is no type of state {kind!r}")
    for where, target in (("StartAt", definition.get("StartAt")), *_targets(states)):
        if target not in states:
            raise InvalidDefinition(f"{where}: there is no state {target!r}")
    for name, state in states.items():
        for names in _NEEDED[state["Type"]]:
            if not set(names) & set(state):
                raise InvalidDefinition(f"{name}: has no {' and no '.join(names)}")
        for inside in (*_processors(state), *state.get("Branches", ())):
            check(inside)


def _targets(states: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, state in states.items():
        for way in (state, *state.get("Catch", ()), *state.get("Choices", ())):
            yield from ((f"{name}: {field}", way[field]) for field in ("Next", "Default") if field in way)


def _processors(state: Mapping[str, Any]) -> list[Any]:
    return [state[name] for name in ("ItemProcessor", "Iterator") if name in state]


def why_not(definition: Mapping[str, Any], language: str | None = None) -> str | None:
    """Why the machine does not run here, in words; None for one that does. `language` is that of what is around it."""
    language = definition.get("QueryLanguage", language)
    for name, state in definition["States"].items():
        own = state.get("QueryLanguage", language)
        reason = _why_not(state, own)
        inside = (why_not(each, own) for each in _processors(state))
        if (told := reason or next((each for each in inside if each), None)) is not None:
            return told if reason is None else f"the state {name} {reason}"
    return None


def _why_not(state: Mapping[str, Any], language: str | None) -> str | None:
    if language != "JSONata":
        return "is in JSONPath; only JSONata runs here"
    if state["Type"] == "Parallel":
        return "is a Parallel"
    resource = str(state.get("Resource", ""))
    if resource.endswith(_CALLBACK) or ":activity:" in resource:
        return "waits for a callback"
    if _JOB in resource:
        return "waits for a job to end"
    if unknown := sorted(set(state) - FIELDS[state["Type"]]):
        return f"has {', '.join(unknown)}, which does not run here"
    if any(each.get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED" for each in _processors(state)):
        return "is a distributed Map"
    return None


def is_expression(text: str) -> bool:
    return text.startswith("{%") and text.endswith("%}")


def expressions(node: Any) -> Iterator[str]:
    """The sources of all expressions in a part of a definition."""
    if isinstance(node, str) and is_expression(node):
        yield node[2:-2]
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from expressions(each)
