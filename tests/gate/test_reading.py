"""What the gate makes of one expression. That what AWS takes is no problem, our definitions show."""

from __future__ import annotations

import pytest

from oncekit.gate.reading import read


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
