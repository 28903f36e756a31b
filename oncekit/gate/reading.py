"""Reads one JSONata expression: what it uses, and what in it AWS does not have.

A use of a variable is no fault where the expression asks first whether there is one: inside of `$exists(...)`, or in
what is only evaluated after such a question was answered with yes.
"""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from jsonata.jexception import JException
from jsonata.parser import Parser

from oncekit.asl.expression import strict_syntax
from oncekit.asl.javascript import Pattern

_BUILT_IN = """abs append assert average base64decode base64encode boolean ceil clone contains count decodeUrl
decodeUrlComponent distinct each encodeUrl encodeUrlComponent error exists filter floor formatBase formatInteger
formatNumber fromMillis join keys length lookup lowercase map match max merge millis min not now number pad parseInteger
power random reduce replace reverse round shuffle sift single sort split spread sqrt string substring substringAfter
substringBefore sum toMillis trim type uppercase zip"""
_OF_STEP_FUNCTIONS = "hash parse partition range uuid"
FUNCTIONS = frozenset(f"{_BUILT_IN} {_OF_STEP_FUNCTIONS}".split())
"""What can be called on AWS: JSONata 2.0.6 without $eval, and what Step Functions adds."""

_PARTS = (
    "lhs", "rhs", "expression", "procedure", "condition", "then", "_else", "body", "pattern", "update", "delete",
)  # fmt: skip
"""Attributes of a node that are nodes."""
_Names = frozenset[str]
_NONE: _Names = frozenset()


@dataclass(frozen=True)
class Facts:
    """The variables that are there if an expression is true, and those if it is false."""

    when_true: _Names = _NONE
    when_false: _Names = _NONE


@dataclass
class Reading:
    """What an expression uses; `$x` stands in the lists without its dollar sign."""

    problems: list[str] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)
    """Variables of the workflow that it reads without having asked for them."""
    states: list[str] = field(default_factory=list)
    """Members of $states: `result`."""
    facts: Facts = Facts()


@functools.lru_cache(maxsize=4096)
def read(source: str) -> Reading:
    """What `source`, the text between `{%` and `%}`, uses. One that does not parse has one problem and no uses."""
    try:
        with strict_syntax():
            tree = Parser().parse(source, Pattern)
    except (JException, IndexError, AttributeError, TypeError) as error:  # the last three at an unfinished text
        return Reading([f"AWS's JSONata, 2.0.6, does not parse it: {error}"])
    reader = _Reader(source)
    reader.reading.facts = reader.visit(tree, _NONE)
    return reader.reading


class _Reader:
    """Visits nodes with the variables that are known to be there, and with whether `$` and names stand for anything."""

    def __init__(self, source: str) -> None:
        self.reading = Reading()
        bound = re.findall(r"\$\w+\s*:=|\bfunction\s*\([^)]*\)", source)
        self._own = frozenset(re.findall(r"\$(\w+)", " ".join(bound)))
        """The names that the expression binds itself: its own wherever in it they stand."""

    def visit(self, node: Any, known: _Names, inside: bool = False) -> Facts:
        """Reads `node`; gives what its truth or untruth says about variables."""
        if node is None:
            return Facts()
        facts: Facts = getattr(self, f"_{node.type}", self._parts)(node, known, inside)
        for each in (*(node.predicate or ()), *(node.stages or ())):
            self.visit(each.expr, known, inside=True)
        if node.group is not None:
            self._parts(node.group, known, inside=True)
        return Facts() if node.predicate else facts

    def _parts(self, node: Any, known: _Names, inside: bool) -> Facts:
        inside = inside or node.type in ("sort", "transform")
        lists = (node.expressions, node.arguments, node.terms, *(node.lhs_object or ()))
        for each in itertools.chain(*(each or () for each in lists), (getattr(node, name) for name in _PARTS)):
            self.visit(each, known, inside)
        return Facts()

    def _problem(self, text: str) -> None:
        if text not in self.reading.problems:
            self.reading.problems.append(text)

    # ---- names ----

    def _variable(self, node: Any, known: _Names, inside: bool) -> Facts:
        name = node.value
        if name == "$":
            self._problem("$$ is the input of an expression, and on AWS there is none; name it: $states.input")
        elif name == "" and not inside:
            self._problem("$ stands for nothing here, and AWS refuses it; use $states.input or a variable")
        elif name == "states":
            self._problem("uses $states as a whole; name the member: $states.input, .context, .result or .errorOutput")
        elif name and name not in self._own | known | FUNCTIONS | {*self.reading.uses}:
            self.reading.uses.append(name)
        return Facts()

    def _name(self, node: Any, known: _Names, inside: bool) -> Facts:
        if not inside:
            self._problem(
                f"{node.value} is a name without anything that it could be a member of, and AWS refuses that; "
                f"write ${node.value} for a variable or $states.input.{node.value}, or quote it as a string"
            )
        return Facts()

    def _path(self, node: Any, known: _Names, inside: bool) -> Facts:
        first, *rest = node.steps
        if rest and first.type == "variable" and first.value == "states":
            self.reading.states.append(rest[0].value if rest[0].type == "name" else "*")
        else:
            self.visit(first, known, inside)
        for step in rest:
            self.visit(step, known, inside=True)
        return Facts()

    def _function(self, node: Any, known: _Names, inside: bool) -> Facts:
        procedure, arguments = node.procedure, node.arguments or []
        called = procedure.value if procedure.type == "variable" else None
        if called is None:
            self.visit(procedure, known, inside)
        elif called not in self._own | FUNCTIONS:
            self._problem(f"AWS's JSONata has no function ${called}, and a variable cannot hold one; see its list")
        asked = _root(arguments[0]) if called == "exists" and len(arguments) == 1 else _NONE
        facts = [self.visit(each, known | asked, inside) for each in arguments]
        if called == "not" and len(facts) == 1:
            return Facts(facts[0].when_false, facts[0].when_true)
        return Facts(asked)

    # ---- what is evaluated only after an answer ----

    def _binary(self, node: Any, known: _Names, inside: bool) -> Facts:
        left = self.visit(node.lhs, known, inside)
        if node.value == "and":
            right = self.visit(node.rhs, known | left.when_true, inside)
            return Facts(left.when_true | right.when_true, left.when_false & right.when_false)
        if node.value == "or":
            right = self.visit(node.rhs, known | left.when_false, inside)
            return Facts(left.when_true & right.when_true, left.when_false | right.when_false)
        self.visit(node.rhs, known, inside)
        return Facts()

    def _condition(self, node: Any, known: _Names, inside: bool) -> Facts:
        facts = self.visit(node.condition, known, inside)
        self.visit(node.then, known | facts.when_true, inside)
        self.visit(node._else, known | facts.when_false, inside)
        return Facts()

    def _block(self, node: Any, known: _Names, inside: bool) -> Facts:
        return [Facts(), *(self.visit(each, known, inside) for each in node.expressions)][-1]


def _root(node: Any) -> _Names:
    """`x` of `$x` and of `$x.y`."""
    first = node.steps[0] if node.type == "path" else node
    return frozenset([str(first.value)]) if first.type == "variable" and first.value not in ("", "$") else _NONE
