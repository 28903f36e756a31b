"""Mutants of the definitions and the templates: one place of the text is replaced, and its comments stay.

Of a definition: a clause of a condition, a member of a list, which way a comparison goes, what an update removes, a
catch, a rule of a Choice, and where the last two lead. Of a template: an action that is allowed or denied, the
condition of a statement, a resource that becomes a wider one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from oncekit.proof.mutants.equivalent import reason

ROOT = Path(__file__).parents[3]
TEMPLATE = "template.yaml"
FULL, FAST = "statemachine/operation.asl.yaml", "statemachine/fast.asl.yaml"
PARTS = ("api/template.yaml", "examples/template.yaml")
"""The templates inside it that have roles."""
NO_CALLS_HERE = ("logs:", "xray:", "kms:", "s3:ListBucket", "sts:", "codedeploy:", "cloudwatch:DescribeAlarms")
"""Actions, by their beginning, of which the local cloud makes no call: nothing on this machine can miss them."""
CONDITIONS = ("ConditionExpression", "KeyConditionExpression")
"""Arguments of DynamoDB."""
_POLICIES = re.compile(r"AWS::(IAM::(Role|Policy|ManagedPolicy)|S3::BucketPolicy|SQS::QueuePolicy)")


@dataclass(frozen=True)
class Mutant:
    """One replaced place; `state` is where it is in a definition, empty in the template.

    Of a state that both lanes have it is replaced in both: that one lane alone is another is what the gate finds.
    """

    file: str
    name: str
    state: str
    start: int
    end: int
    new: str
    twin: Mutant | None = None
    """The same in the other lane."""

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


def all_mutants() -> list[Mutant]:
    """All that must be noticed."""
    return [each for each in every_mutant() if not reason(each.name)]


def every_mutant() -> list[Mutant]:
    """Those as well that nobody can notice."""
    found = [
        each for path in sorted((ROOT / "statemachine").glob("*.yaml")) for each in _once(of_definition(_File(path)))
    ]
    fast = {_same(each): each for each in found if each.file == FAST}
    full = {_same(each) for each in found if each.file == FULL}
    found = [each for each in found if each.file != FAST or _same(each) not in full]
    found = [replace(each, twin=fast.get(_same(each))) if each.file == FULL else each for each in found]
    return found + [each for name in (TEMPLATE, *PARTS) for each in of_template(_File(ROOT / name))]


def _once(mutants: Iterator[Mutant]) -> list[Mutant]:
    """Two clauses of one condition may be the same."""
    return list({(each.name, each.start, each.new): each for each in mutants}.values())


def _same(mutant: Mutant) -> tuple[str, str]:
    return mutant.name.partition(":")[2], mutant.new


class _File:
    """A parsed text whose nodes know where they stand."""

    def __init__(self, path: Path) -> None:
        self.name = str(path.relative_to(ROOT))
        self.text = path.read_text()
        root = yaml.compose(self.text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        assert root is not None
        self.root: yaml.Node = root

    def replaced(self, node: yaml.Node, new: str, where: str, what: str, state: str = "") -> Mutant:
        start = node.start_mark.index
        end = start + len(self.text[start : node.end_mark.index].rstrip())
        return Mutant(self.name, f"{Path(self.name).name.partition('.')[0]}:{where}: {what}", state, start, end, new)


def _members(node: yaml.Node | None) -> Mapping[str, yaml.Node]:
    return {key.value: value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}


def _items(node: yaml.Node | None) -> list[yaml.Node]:
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


# ---- definitions ----


def of_definition(file: _File) -> Iterator[Mutant]:
    for state, members, others in _states(file.root):
        for number, choice in enumerate(_items(members.get("Choices"))):
            condition = _members(choice)["Condition"]
            never = condition.value.strip().replace("{%", "{% false and (", 1).removesuffix("%}") + ") %}"
            yield file.replaced(condition, _quoted(never), f"{state}.Choices[{number}]", "dropped", state)
        for number, catch in enumerate(_items(members.get("Catch"))):
            yield file.replaced(_members(catch)["ErrorEquals"], "[Never]", f"{state}.Catch[{number}]", "dropped", state)
        arguments = _members(members.get("Arguments"))
        for name in CONDITIONS:
            if name in arguments:
                yield from _clauses(file, arguments[name], f"{state}.{name}", state)
        if "UpdateExpression" in arguments:
            yield from _removals(file, arguments, state)
        yield from _ways(file, state, members, others)
        yield from _caught(file, state, members)
        for item in _items(members.get("Items")):
            yield file.replaced(item, "nobody", f"{state}.Items", f"without {item.value}", state)
        for where, node in _expressions(members):
            for what, new in changed(node.value):
                yield file.replaced(node, _quoted(new), f"{state}.{where}", what, state)
            if node.value.startswith("{%") and where.rpartition(".")[2] not in CONDITIONS:
                yield from _clauses(file, node, f"{state}.{where}", state)


def _states(machine: yaml.Node) -> Iterator[tuple[str, Mapping[str, yaml.Node], Sequence[str]]]:
    """Every state, those inside of a Map included, and those to which it could lead: all beside it, and itself."""
    states = _members(_members(machine)["States"])
    for name, node in states.items():
        yield name, _members(node), list(states)
        if "ItemProcessor" in _members(node):
            yield from _states(_members(node)["ItemProcessor"])


def _ways(file: _File, state: str, members: Mapping[str, yaml.Node], others: Sequence[str]) -> Iterator[Mutant]:
    """Each rule, catch and Default leads where its neighbours do; if all lead there, to the next state in the file."""
    ways = [
        (f"{kind}[{number}].Next", _members(way)["Next"])
        for kind in ("Choices", "Catch")
        for number, way in enumerate(_items(members.get(kind)))
    ]
    ways += [("Default", members["Default"])] if "Default" in members else []
    targets = [node.value for _, node in ways]
    follows = [members["Next"].value] if "Next" in members and members["Next"].value not in targets else []
    for number, (where, node) in enumerate(ways):
        before, after = reversed(targets[:number]), [*targets[number + 1 :], *follows]
        near = {next((each for each in side if each != node.value), "") for side in (before, after)} - {""}
        beside = [*others[others.index(state) + 1 :], *others[: others.index(state)]]
        for target in sorted(near) or [next(each for each in beside if each != node.value)]:
            yield file.replaced(node, target, f"{state}.{where}", f"{target} for {node.value}", state)


def _caught(file: _File, state: str, members: Mapping[str, yaml.Node]) -> Iterator[Mutant]:
    """An error that is caught, or not tried again, beside others."""
    for kind in ("Catch", "Retry"):
        for number, way in enumerate(_items(members.get(kind))):
            errors = _items(_members(way)["ErrorEquals"])
            for error in errors if len(errors) > 1 else ():
                yield file.replaced(error, "Never", f"{state}.{kind}[{number}]", f"without {error.value}", state)


def _expressions(members: Mapping[str, yaml.Node], where: str = "") -> Iterator[tuple[str, yaml.Node]]:
    """JSONata, and conditions of a table, that a state evaluates itself, with where they stand in it."""
    for name, node in members.items():
        if name not in ("Comment", "ItemProcessor"):
            yield from _within(node, f"{where}{name}")


def _within(node: yaml.Node, where: str) -> Iterator[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.ScalarNode):
        if node.value.startswith("{%") or where.rpartition(".")[2] in CONDITIONS:
            yield where, node
        return
    yield from _expressions(_members(node), f"{where}.")
    for number, each in enumerate(_items(node)):
        yield from _within(each, f"{where}[{number}]")


def _clauses(file: _File, node: yaml.Node, where: str, state: str) -> Iterator[Mutant]:
    for clause, new in without_clauses(node.value):
        yield file.replaced(node, _quoted(new), where, f"without {_short(clause)}", state)


def _removals(file: _File, arguments: Mapping[str, yaml.Node], state: str) -> Iterator[Mutant]:
    """What is added or removed gets another name. A `#name` does so in the list of names, since each must be used."""
    update, names = arguments["UpdateExpression"], _members(arguments.get("ExpressionAttributeNames"))
    for section, items in re.findall(r"\b(ADD|REMOVE) (.*?)(?= (?:SET|ADD|REMOVE|DELETE) |$)", update.value):
        for item in re.findall(r"(?:^|,)\W*?(#?\w+)", items):
            what = f"without {section} {item}"
            if item in names:
                yield file.replaced(names[item], "nobody", f"{state}.UpdateExpression", what, state)
            else:
                new = update.value.replace(items, re.sub(rf"(?<!\w){item}\b", "nobody", items))
                yield file.replaced(update, _quoted(new), f"{state}.UpdateExpression", what, state)


# ---- clauses: those of JSONata, and of DynamoDB's conditions ----

_JSONATA = re.compile(
    r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | /(?:[^/\\\[\s]|\\.|\[(?:[^\]\\]|\\.)*\])+/i?
    | \$*\w+ | := | [!<>]= | [^\s]""",
    re.VERBOSE,
)
_DYNAMODB = re.compile(r"[:#]?\w+|<>|[<>]=|[^\s]")
_ENDS = frozenset({"?", ":", ",", ";", ":=", "{%", "%}"})


def without_clauses(text: str) -> Iterator[tuple[str, str]]:
    """Each side of `and` and `or`, and the text in which it decides nothing any more.

    DynamoDB refuses values that no condition uses: there a clause becomes one that always, or never, holds.
    """
    inner = re.fullmatch(r"\{%(.*)%\}", text.strip(), re.DOTALL)
    offset, body = (inner.start(1), inner[1]) if inner else (0, text)
    tokens = list((_JSONATA if inner else _DYNAMODB).finditer(body))
    seen = set()
    for number, token in enumerate(tokens):
        word = token[0].lower()
        if word not in ("and", "or"):
            continue
        stops = _ENDS | ({"and", "or"} if word == "and" else {"or"})
        for way in (-1, 1):
            last = _reach([each[0].lower() for each in tokens], number, way, stops)
            first, last = sorted((number + way, last))
            start, end = tokens[first].start(), tokens[last].end()
            if (start, end) not in seen:
                seen.add((start, end))
                clause = body[start:end]
                yield clause, text[: offset + start] + _decided(clause, word, bool(inner)) + text[offset + end :]


def _decided(clause: str, word: str, is_jsonata: bool) -> str:
    if is_jsonata:
        return "true" if word == "and" else "false"
    return f"(({clause}) {'OR' if word == 'and' else 'AND'} NOT ({clause}))"


def _reach(words: list[str], number: int, way: int, stops: frozenset[str] | set[str]) -> int:
    """The last token of the operand on one side of an operator."""
    opens, closes = ("([{", ")]}") if way > 0 else (")]}", "([{")
    depth = 0
    while 0 <= (following := number + way) < len(words):
        word = words[following]
        depth += (word in opens) - (word in closes)
        if depth < 0 or (depth == 0 and word in stops):
            break
        number = following
    return number


# ---- members of lists, and comparisons ----

_TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "!=", "!=": "="}
_TURNED_IN_A_TABLE = _TURNED | {"=": "<>", "<>": "="}
_TEXTS = re.compile(r"'[^']*'(, '[^']*')*(?=\])")
"""Members of a list, all of them texts."""
_OF_A_TABLE = re.compile(r"(?!SET )[#\w].*([<>=]|IN \() ?:\w", re.DOTALL)
"""A condition of a table: something is compared with a value that has a name."""


def changed(text: str) -> Iterator[tuple[str, str]]:
    """What is another member or comparison, and the text that has it. Conditions of a table may be texts in JSONata."""
    inner = re.fullmatch(r"\{%(.*)%\}", text.strip(), re.DOTALL)
    if not inner:
        yield from _changed_in_a_table(text)
        return
    body = inner[1]
    tokens = list(_JSONATA.finditer(body))

    def by(start: int, end: int, new: str) -> str:
        return "{%" + body[:start] + new + body[end:] + "%}"

    for token in tokens:
        start, end = token.span()
        if token[0] in _TURNED:
            yield f"{_TURNED[token[0]]} in {_around(body, start, end)}", by(start, end, _TURNED[token[0]])
        elif token[0] == "[" and (listed := _TEXTS.match(body, end)):
            members = listed[0].split(", ")
            for member in members:
                left = ", ".join(each for each in members if each != member)
                yield f"without {member} in {_around(body, start, end)}", by(end, listed.end(), left)
        elif token[0].startswith("'") and _OF_A_TABLE.match(token[0][1:-1]):
            for what, new in (*_changed_in_a_table(token[0][1:-1]), *_without(token[0][1:-1])):
                yield what, by(start, end, f"'{new}'")


def _without(condition: str) -> Iterator[tuple[str, str]]:
    return ((f"without {_short(clause)}", new) for clause, new in without_clauses(condition))


def _changed_in_a_table(text: str) -> Iterator[tuple[str, str]]:
    for token in _DYNAMODB.finditer(text):
        start, end = token.span()
        if turned := _TURNED_IN_A_TABLE.get(token[0]):
            yield f"{turned} in {_around(text, start, end)}", text[:start] + turned + text[end:]
    # A member that is nowhere else may not go: DynamoDB refuses values that no condition uses.
    for found in re.finditer(r"([#\w]+) IN \(([^)]*)\)", text):
        for member in found[2].split(", "):
            new = f"({found[0]} AND {found[1]} <> {member})"
            yield f"without {member} in {found[0]}", text[: found.start()] + new + text[found.end() :]


def _around(text: str, start: int, end: int) -> str:
    """An operator with the words on both sides of it, which tell it from others like it."""
    return " ".join(f"{text[max(0, start - 30) : start]}{text[start:end]}{text[end : end + 30]}".split())


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:60]}...{text[-16:]}"


# ---- the template ----


def of_template(file: _File) -> Iterator[Mutant]:
    for name, resource in _members(_members(file.root)["Resources"]).items():
        members = _members(resource)
        if _POLICIES.fullmatch(members["Type"].value) and "Condition" not in members:  # else it may not be deployed
            for number, statement in enumerate(_statements(members["Properties"])):
                yield from _of_statement(file, f"{name}[{number}]", statement)


def _statements(node: yaml.Node) -> Iterator[Mapping[str, yaml.Node]]:
    members = _members(node)
    if {"Effect", "Action"} <= set(members):
        yield members
        return
    for inner in (*members.values(), *_items(node)):
        yield from _statements(inner)


def _of_statement(file: _File, where: str, statement: Mapping[str, yaml.Node]) -> Iterator[Mutant]:
    actions = _items(statement["Action"]) or [statement["Action"]]
    if "Condition" in statement:
        yield file.replaced(statement["Condition"], "{}", where, "without its condition")
    called = [each for each in actions if not each.value.startswith(NO_CALLS_HERE)]
    for action in called:
        yield file.replaced(action, "once:Nothing", where, f"without {action.value}")
    if called and statement["Effect"].value == "Allow" and "Resource" in statement:
        for resource in _items(statement["Resource"]) or [statement["Resource"]]:
            text = file.text[resource.start_mark.index : resource.end_mark.index].rstrip()
            wider = re.sub(r"/\w+/\*", "/*", text)
            if isinstance(resource, yaml.ScalarNode) and resource.value != "*":
                new = wider if wider != text else '"*"'
                yield file.replaced(resource, new, where, f"{new} for {text}")
