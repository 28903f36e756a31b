"""Mutants of a state machine's definition, by rule, from the parsed document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.proof.mutants import conditions
from oncekit.proof.mutants.change import Change, other_numbers
from oncekit.proof.mutants.expressions import changes
from oncekit.proof.mutants.mutant import GONE, Edit, Mutant, Path, told_apart, written

FILES = ("statemachine/operation.asl.yaml", "statemachine/recovery.asl.yaml")
_WORDS = ("Comment", "Type", "QueryLanguage", "StartAt", "Resource", "ProcessorConfig", "States", "End")
"""What no rule looks into: `Resource` and `StartAt` are names that nothing but the definition itself could spell."""
_WAYS = ("Next", "Default")
_RULES = ("Choices", "Retry", "Catch")


def mutants(file: str, document: Mapping[str, Any]) -> Iterator[Mutant]:
    """Every mutant of a definition."""
    yield from told_apart(_all(file, document))


def harmless(file: str, document: Mapping[str, Any]) -> Iterator[Mutant]:
    """Changes that mean nothing, one for each kind of place: every one of them must survive."""
    yield Mutant(file, "Comment", "another comment", "control", (Edit(("Comment",), "Something else."),))
    members = dict(reversed(list(document["States"].items())))
    yield Mutant(file, "States", "in the other order", "control", (Edit(("States",), members),))
    for path, state in states(document):
        if state["Type"] != "Task":
            continue
        edits = (
            Edit(path, {**dict(reversed(list(state.items()))), "Comment": f"{state['Comment']} And nothing else."}),
        )
        yield Mutant(file, str(path[-1]), "its members in the other order", "control", edits, str(path[-1]))
        return


def states(document: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every state and where it is, those inside of a Map included."""
    for name, state in document["States"].items():
        here = (*path, "States", name)
        yield here, state
        if "ItemProcessor" in state:
            yield from states(state["ItemProcessor"], (*here, "ItemProcessor"))


def _all(file: str, document: Mapping[str, Any]) -> Iterator[Mutant]:
    seconds = str(document["TimeoutSeconds"])
    # A placeholder differs by lane: the template has its numbers, and their mutants.
    for value in other_numbers(seconds) if seconds.isdecimal() else ():
        what = f"{value} for {seconds}"
        yield Mutant(file, "TimeoutSeconds", what, "number", (Edit(("TimeoutSeconds",), int(value)),))
    for path, state in states(document):
        yield from State(file, path, state).mutants()


class State:
    """One state, and its mutants."""

    def __init__(self, file: str, path: Path, raw: Mapping[str, Any]) -> None:
        self._file, self._path, self._raw = file, path, raw
        self._name = str(path[-1])

    def mutants(self) -> Iterator[Mutant]:
        for key, value in self._raw.items():
            if key in _RULES:
                yield from self._rules(key, value)
            elif key in _WAYS:
                yield from self._way((key,), value)
            elif key not in (*_WORDS, "ItemProcessor"):
                yield from self._value((key,), value)

    def _mutant(self, path: Path, what: str, kind: str, value: Any, *more: Edit) -> Mutant:
        where = f"{self._name}.{written(path)}"
        return Mutant(self._file, where, what, kind, (Edit((*self._path, *path), value), *more), self._part(path))

    def _part(self, path: Path) -> str:
        """What a test must have visited: see `visits`."""
        if path[0] in ("Retry", "Catch"):
            return f"{self._name}!"
        if path[0] == "Choices" and len(path) > 1:
            taken = len(path) > 2 and path[2] != "Condition"
            return f"{self._name}{'=' if taken else '?'}{path[1]}"
        if self._raw["Type"] == "Choice":
            return f"{self._name}=default"
        return self._name

    # ---- rules: choices, retries, catches ----

    def _rules(self, key: str, rules: list[Mapping[str, Any]]) -> Iterator[Mutant]:
        for number, rule in enumerate(rules):
            path: Path = (key, number)
            yield self._mutant(path, "dropped", f"{key} dropped", GONE)
            if key == "Choices" and number:
                swapped = [*rules[: number - 1], rule, rules[number - 1], *rules[number + 1 :]]
                if _asks_alike(rule, rules[number - 1]):
                    edit = Edit((*self._path, key), swapped)
                    before = (key, number - 1)
                    where = f"{self._name}.{written(path)}"
                    part = self._part(before)
                    yield Mutant(self._file, where, "before the one above", "order", (edit,), part)
            for member, value in rule.items():
                if member in _WAYS:
                    yield from self._way((*path, member), value)
                elif member == "ErrorEquals":
                    yield from self._errors((*path, member), value)
                elif member != "Comment":
                    yield from self._value((*path, member), value)

    def _errors(self, path: Path, names: list[str]) -> Iterator[Mutant]:
        for number, name in enumerate(names):
            if len(names) > 1:
                yield self._mutant((*path, number), f"without {name}", "error name dropped", GONE)
            if name != "States.ALL":
                yield self._mutant((*path, number), f"{name} spelled wrong", "name", f"{name}x")

    def _way(self, path: Path, target: str) -> Iterator[Mutant]:
        """Another state to go to: the one that the state's other ways lead to."""
        others = [each for each in _targets(self._raw) if each != target]
        for other in others[:1]:
            yield self._mutant(path, f"{other} for {target}", "target", other)

    # ---- values: arguments, assignments, outputs, numbers ----

    def _value(self, path: Path, value: Any) -> Iterator[Mutant]:
        if isinstance(value, bool):
            yield self._mutant(path, f"{str(not value).lower()} for {str(value).lower()}", "boolean", not value)
        elif isinstance(value, int | float):
            for new in other_numbers(str(value)):
                number = float(new) if "." in new else int(new)
                yield self._mutant(path, f"{new} for {value}", "number", number)
        elif isinstance(value, str):
            yield from self._text(path, value)
        elif isinstance(value, Mapping):
            for member, inner in value.items():
                if self._may_go(path, str(member)):
                    yield self._mutant((*path, member), "dropped", _kind_of_member(path), GONE)
                yield from self._value((*path, member), inner)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                yield self._mutant((*path, number), f"without {inner}", "member dropped", GONE)
                yield from self._value((*path, number), inner)

    def _may_go(self, path: Path, member: str) -> bool:
        """Names and values of an expression go with what uses them; without its type a value is no value."""
        return "ExpressionAttributeNames" not in path and "ExpressionAttributeValues" not in path

    def _text(self, path: Path, text: str) -> Iterator[Mutant]:
        if text.startswith("{%"):
            inside = text.removeprefix("{%").removesuffix("%}").strip()
            for change in changes(inside):
                yield self._mutant(path, change.what, change.kind, "{% " + change.text + " %}")
            if path[-1] == "Condition" and not _has_clauses(inside):
                yield self._mutant(path, "not", "clause negated", "{% $not(" + inside + ") %}")
            return
        for change in _of_dynamodb(str(path[-1]), text):
            yield self._mutant(path, change.what, change.kind, change.text, *self._unused(path, change.text))
        name = path[-1] not in ("ConditionExpression", "UpdateExpression", "ProjectionExpression", "Cause")
        if name and " " not in text and "${" not in text:
            if text in ("FULL",):
                yield self._mutant(path, "NONE for FULL", "jitter", "NONE")
            else:
                yield self._mutant(path, f"{text} spelled wrong", "name", f"{text}x")

    def _unused(self, path: Path, new: str) -> Iterator[Edit]:
        """DynamoDB refuses names and values that no expression uses: they go, too, or nothing would be tested."""
        arguments = self._raw["Arguments"]
        texts = [new] + [each for key, each in arguments.items() if str(key).endswith("Expression") and key != path[-1]]
        used = {name for text in texts for name in conditions.placeholders(text)}
        for member in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
            kept = {name: each for name, each in arguments.get(member, {}).items() if name in used}
            if member in arguments and kept != arguments[member]:
                yield Edit((*self._path, "Arguments", member), kept or GONE)


def _of_dynamodb(member: str, text: str) -> Iterator[Change]:
    if member in ("ConditionExpression", "KeyConditionExpression"):
        yield from conditions.changes(text)
    elif member == "UpdateExpression":
        yield from conditions.updates(text)
    elif member == "ProjectionExpression":
        yield from conditions.projections(text)


def _kind_of_member(path: Path) -> str:
    return "Assign dropped" if "Assign" in path else "Output dropped" if "Output" in path else "argument dropped"


def _asks_alike(rule: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return rule.get("Next") != before.get("Next") or rule.get("Assign") != before.get("Assign")


def _has_clauses(text: str) -> bool:
    return " and " in text or " or " in text


def _targets(raw: Mapping[str, Any]) -> list[str]:
    rules = [rule for key in ("Choices", "Catch") for rule in raw.get(key, [])]
    found = [rule["Next"] for rule in rules if "Next" in rule] + [raw[key] for key in _WAYS if key in raw]
    return list(dict.fromkeys(found))
