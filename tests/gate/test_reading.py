"""What the gate makes of one expression: no false alarm for what AWS takes, and no silence for what it does not."""

from __future__ import annotations

import pytest

from oncekit.gate.reading import read


@pytest.mark.parametrize(
    "source",
    [
        "$map($list, function($e, $i) { $e.name & $i })",
        "( $f := function($n) { $n < 2 ? 1 : $n * $f($n - 1) }; $f(5) )",
        "$list[name = 'a' and $.size > 3].{ 'name': name, 'first': $split(path, '/')[0] }",
        "$count($list[$ = 'FAILED'])",
        "$sort([$list.items], function($a, $b) { $a.lease > $b.lease }).{ 'id': id }",
        "$reduce($list, $append, [])",
        "$list ~> $map(function($v) { $v + 1 }) ~> $sum",
        "$list^(>size, name).name",
        "$list{ kind: $sum(size) }",
        "$states.input.name.$uppercase($)",
        "$replace($text, /[^ -~]/, '....')",
        "$map($list, $substring(?, 0, 2))",
        "$hash($uuid(), 'SHA-256') & $string($random()) & $string($range(1, 3, 1)) & $string($partition($list, 2))",
        "\"$$ in a string\" & '$eval'",
        "[1..$size] ~> $join",
        "/* a comment */ $not($x in [1, 2])",
        "$list ~> |items|{ 'seen': true }, 'size'|",
    ],
)
def test_what_aws_evaluates_is_no_problem(source: str) -> None:
    assert read(source).problems == []


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("$filter($list, function($e) { $.size > $e })", "$ stands for nothing"),
        ("$list.($$.name)", "$$ is the input"),
        ("name", "name is a name without anything"),
        ("$map($list, function($e) { size })", "size is a name without anything"),
        ("$x.name ?? 'none'", "does not parse it"),
        ("$eval($x)", "no function $eval"),
        ("$x.$shout()", "no function $shout"),
        ("$keys($states)", "uses $states as a whole"),
        ("$x +", "does not parse it"),
        ("$contains($x, /(a/)", "does not parse it"),
    ],
)
def test_what_aws_refuses_is_a_problem(source: str, says: str) -> None:
    assert says in " ".join(read(source).problems)


@pytest.mark.parametrize(
    "source",
    [
        "$exists($x)",
        "$exists($x.y) ? $x.z : 0",
        "$exists($x) and $x.y = 1",
        "$not($exists($x)) or $x.y = 1",
        "$not($exists($x)) ? 0 : $x",
        "$exists($x) and ($a = 1 or $x = 2)",
        "$exists($x) ? { 'a': [$x, $map($x, function($e) { $e & $x })] } : {}",
    ],
)
def test_a_use_after_the_question_is_guarded(source: str) -> None:
    assert "x" not in read(source).uses


@pytest.mark.parametrize(
    "source",
    [
        "$x",
        "$x.y.z",
        "$exists($lookup($x, 'y'))",
        "$exists($x) or $x.y = 1",
        "$exists($x) ? 0 : $x",
        "$exists($y[$x = 1])",
        "$not($exists($x)) and $x = 1",
        "( $x = 1 ) and $exists($x)",
        "$list[size = $x]",
        "{ 'a': { 'b': [$x] } }",
        "( $y := $x; $y )",
        "function($a) { $x + $a }",
    ],
)
def test_a_use_without_the_question_is_not(source: str) -> None:
    assert "x" in read(source).uses


def test_names_of_an_expression_are_no_variables() -> None:
    assert read("( $y := 1; $f := function($z) { $z + $y }; $f($y) + $w )").uses == ["w"]


def test_what_the_truth_of_an_expression_says() -> None:
    facts = read("$exists($a) and $not($b = 1 or $not($exists($c)))").facts
    assert (facts.when_true, facts.when_false) == ({"a", "c"}, set())
    assert read("$not($exists($a)) and $not($exists($b))").facts.when_false == set()
    assert read("$not($exists($a)) or $not($exists($b))").facts.when_false == {"a", "b"}
