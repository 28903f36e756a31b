"""Reads one JSONata expression: what it uses, and what is wrong with it wherever it stands.

A use of a variable is *guarded* where the
expression asks first whether there is one: inside of `$exists(...)` or `$type(...)`, or in what is only evaluated after
such a question was answered with yes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from oncekit.gate.syntax import NotJsonata, parsed

_BUILT_IN = """abs append assert average base64decode base64encode boolean ceil clone contains count decodeUrl
decodeUrlComponent distinct each encodeUrl encodeUrlComponent error exists filter floor formatBase formatInteger
formatNumber fromMillis join keys length lookup lowercase map match max merge millis min not now number pad parseInteger
power random reduce replace reverse round shuffle sift single sort split spread sqrt string substring substringAfter
substringBefore sum toMillis trim type uppercase zip"""
_OF_STEP_FUNCTIONS = "hash parse partition range uuid"
FUNCTIONS = frozenset(f"{_BUILT_IN} {_OF_STEP_FUNCTIONS}".split())
"""What can be called on AWS: JSONata 2.0.6 without $eval, and what Step Functions adds."""

_QUESTIONS = ("exists", "type")
_Names = frozenset[str]
_NONE: _Names = frozenset()


@dataclass(frozen=True)
class Use:
    """A variable of the workflow that an expression reads."""

    name: str
    guarded: bool


@dataclass
class Reading:
    """What an expression uses; `$x` stands in the lists without its dollar sign."""

    problems: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    states: list[tuple[str, ...]] = field(default_factory=list)
    """Members of $states: `("result", "Payload")`."""
    compared: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    """A member of $states, and a string that it is held against."""
    when_true: _Names = _NONE
    """Variables that are there if the expression is true."""
    when_false: _Names = _NONE


@dataclass(frozen=True)
class _Facts:
    when_true: _Names = _NONE
    when_false: _Names = _NONE


@dataclass(frozen=True)
class _At:
    """Where in an expression: its own names in sight, variables known to be there, and whether `$` is anything."""

    own: set[str]
    known: _Names = _NONE
    has_context: bool = False

    def block(self) -> _At:
        return replace(self, own=set(self.own))

    def knowing(self, names: _Names) -> _At:
        return replace(self, known=self.known | names)


@functools.lru_cache(maxsize=4096)
def read(source: str) -> Reading:
    """What `source`, the text between `{%` and `%}`, uses. One that does not parse has one problem and no uses."""
    try:
        tree = parsed(source)
    except NotJsonata as problem:
        return Reading([f"the JSONata does not parse: {problem}"])
    reader = _Reader()
    facts = reader.visit(tree, _At(set()))
    found = reader.reading
    found.when_true, found.when_false = facts.when_true, facts.when_false
    return found


class _Reader:
    def __init__(self) -> None:
        self.reading = Reading()

    def visit(self, node: Any, at: _At) -> _Facts:
        """Reads `node`; gives what its truth or untruth says about variables."""
        if node is None:
            return _Facts()
        method = getattr(self, f"_{node.type}", None)
        facts: _Facts = method(node, at) if method else _Facts()
        inside = replace(at, has_context=True)
        for each in node.predicate or []:
            self.visit(each.expr, inside)
        self._group(node.group, inside)
        return facts if not node.predicate else _Facts()

    def _all(self, nodes: Iterable[Any] | None, at: _At) -> None:
        for node in nodes or ():
            self.visit(node, at)

    def _group(self, group: Any, at: _At) -> None:
        for key, value in (group.lhs_object or []) if group is not None else []:
            self._all((key, value), at)

    def _problem(self, text: str) -> None:
        if text not in self.reading.problems:
            self.reading.problems.append(text)

    # ---- Names ----

    def _variable(self, node: Any, at: _At, guarded: bool = False) -> _Facts:
        name = node.value
        if name == "$":
            self._problem("$$ is the input of an expression, and on AWS there is none; name it: $states.input")
        elif name == "":
            if not at.has_context:
                self._problem("$ stands for nothing here, and AWS refuses it; use $states.input or a variable")
        elif name == "eval":
            self._problem("AWS has no $eval; use $parse for JSON")
        elif name == "states":
            self._problem("uses $states as a whole; name the member: $states.input, .context, .result or .errorOutput")
        elif name not in at.own and name not in FUNCTIONS:
            self.reading.uses.append(Use(name, guarded or name in at.known))
        return _Facts()

    def _name(self, node: Any, at: _At) -> _Facts:
        if not at.has_context:
            self._problem(
                f"{node.value} is a name without anything that it could be a member of, and AWS refuses that; "
                f"write ${node.value} for a variable or $states.input.{node.value}, or quote it as a string"
            )
        return _Facts()

    _wildcard = _descendant = _parent = _name

    def _path(self, node: Any, at: _At, guarded: bool = False) -> _Facts:
        at, first = at.block(), True
        for step in node.steps:
            if step.type == "variable" and step.value == "states" and first and len(node.steps) > 1:
                names = [each.value if each.type == "name" else "*" for each in node.steps[1:]]
                self.reading.states.append(tuple(names))
            elif step.type == "variable" and first:
                self._variable(step, at, guarded)
            else:
                self._step(step, at)
            inside = replace(at, has_context=True)
            for stage in [*(step.stages or []), *((step.predicate or []) if step.type == "variable" and first else [])]:
                self._stage(stage, inside)
            if step.type == "variable" and first:
                self._group(step.group, inside)
            at.own.update(name for name in (step.focus, step.index) if name)
            at, first = inside, False
        return _Facts()

    def _step(self, step: Any, at: _At) -> None:
        if step.type == "sort":
            self._all((term.expression for term in step.terms), replace(at, has_context=True))
        else:
            self.visit(step, at)

    def _stage(self, stage: Any, at: _At) -> None:
        if stage.type == "index":
            at.own.add(stage.value)
        else:
            self.visit(stage.expr, at)

    def _bind(self, node: Any, at: _At) -> _Facts:
        name = node.lhs.value
        if name == "states":
            self._problem("$states is AWS's own and cannot be bound; take another name")
        if node.rhs.type == "lambda":  # it may call itself
            at.own.add(name)
        self.visit(node.rhs, at)
        at.own.add(name)
        return _Facts()

    def _lambda(self, node: Any, at: _At) -> _Facts:
        inside = at.block()
        inside.own.update(argument.value for argument in node.arguments or [])
        self.visit(node.body, inside)
        return _Facts()

    # ---- What is made of parts ----

    def _function(self, node: Any, at: _At) -> _Facts:
        procedure, arguments = node.procedure, node.arguments or []
        called = procedure.value if procedure.type == "variable" else None
        if procedure.type == "path" and procedure.steps[0].type == "name" and len(procedure.steps) == 1:
            self._problem(f"{procedure.steps[0].value}(...) is not a call; a function is called with a dollar sign")
        elif called is None:
            self.visit(procedure, at)
        elif called == "eval":
            self._variable(procedure, at)
        elif called not in at.own and called not in FUNCTIONS:
            self._problem(f"AWS's JSONata has no function ${called}, and a variable cannot hold one; see its list")
        asked = called in _QUESTIONS and called not in at.own and len(arguments) == 1
        if asked and (root := _root(arguments[0])) is not None:
            visit = self._path if arguments[0].type == "path" else self._variable
            visit(arguments[0], at, guarded=True)
            for each in arguments[0].predicate or []:
                self.visit(each.expr, replace(at, has_context=True))
            return _Facts(frozenset([root])) if called == "exists" and root not in at.own else _Facts()
        if called == "not" and len(arguments) == 1:
            facts = self.visit(arguments[0], at)
            return _Facts(facts.when_false, facts.when_true)
        self._all(arguments, at)
        return _Facts()

    _partial = _function

    def _binary(self, node: Any, at: _At) -> _Facts:
        left = self.visit(node.lhs, at)
        if node.value == "and":
            right = self.visit(node.rhs, at.knowing(left.when_true))
            return _Facts(left.when_true | right.when_true, left.when_false & right.when_false)
        if node.value == "or":
            right = self.visit(node.rhs, at.knowing(left.when_false))
            return _Facts(left.when_true & right.when_true, left.when_false | right.when_false)
        self.visit(node.rhs, at)
        self._comparison(node)
        return _type_says(node, at)

    def _comparison(self, node: Any) -> None:
        for one, other in ((node.lhs, node.rhs), (node.rhs, node.lhs)):
            if node.value in ("=", "!=", "in") and one.type == "path" and _root(one) == "states":
                member = tuple(str(step.value) for step in one.steps[1:])
                texts = other.expressions if other.type == "unary" and other.value == "[" else [other]
                self.reading.compared += [(member, each.value) for each in texts if each.type == "string"]

    def _condition(self, node: Any, at: _At) -> _Facts:
        facts = self.visit(node.condition, at)
        self.visit(node.then, at.knowing(facts.when_true))
        self.visit(node._else, at.knowing(facts.when_false))
        return _Facts()

    def _block(self, node: Any, at: _At) -> _Facts:
        inside, facts = at.block(), _Facts()
        for each in node.expressions:
            facts = self.visit(each, inside)
        return facts

    def _unary(self, node: Any, at: _At) -> _Facts:
        self._all(node.expressions, at)
        for key, value in node.lhs_object or []:
            self._all((key, value), at)
        self.visit(node.expression, at)
        return _Facts()

    def _apply(self, node: Any, at: _At) -> _Facts:
        self._all((node.lhs, node.rhs), at)
        return _Facts()

    def _transform(self, node: Any, at: _At) -> _Facts:
        self._all((node.pattern, node.update, node.delete), replace(at, has_context=True))
        return _Facts()


def _root(node: Any) -> str | None:
    """`x` of `$x` and of `$x.y`."""
    first = node.steps[0] if node.type == "path" else node
    return str(first.value) if first.type == "variable" and first.value not in ("", "$") else None


def _type_says(node: Any, at: _At) -> _Facts:
    """`$type($x) = 'object'` is true only of an x that is there."""
    for one, other in ((node.lhs, node.rhs), (node.rhs, node.lhs)):
        asks = one.type == "function" and one.procedure.value == "type" and len(one.arguments) == 1
        if node.value == "=" and asks and other.type == "string":
            root = _root(one.arguments[0])
            return _Facts(frozenset([root])) if root and root not in at.own else _Facts()
    return _Facts()
