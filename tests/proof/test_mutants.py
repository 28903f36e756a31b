"""Mutants are made by rule: each changes one place, means what its name says, and can be deployed."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import yaml
from one_state import states_of

from oncekit.local.deployment.deploy import rendered_definitions
from oncekit.proof.mutants import judges
from oncekit.proof.mutants.changes import (
    FAST,
    FULL,
    ROOT,
    TEMPLATE,
    Mutant,
    all_mutants,
    changed,
    every_mutant,
    without_clauses,
)
from oncekit.proof.mutants.equivalent import EQUIVALENT, reason


@pytest.fixture(scope="module")
def made() -> list[Mutant]:
    return all_mutants()


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("{% $a and $b or $c %}", {"{% true and $b or $c %}", "{% $a and true or $c %}", "{% false or $c %}"}),
        ("{% $f($a or $b) ? 1 : 2 %}", {"{% $f(false or $b) ? 1 : 2 %}", "{% $f($a or false) ? 1 : 2 %}"}),
        ("{% ($x := $y; $x = ' and ' and $z) %}", {"{% ($x := $y; true and $z) %}"}),
        ("{% $contains($a, /^( and )$/) and $b %}", {"{% true and $b %}"}),
        ("a = :a AND (b IN (:b) OR c < :c)", {"a = :a AND (((b IN (:b)) AND NOT (b IN (:b))) OR c < :c)"}),
        ("a = :a AND b <> :b", {"((a = :a) OR NOT (a = :a)) AND b <> :b", "a = :a AND ((b <> :b) OR NOT (b <> :b))"}),
    ],
)
def test_clause_decides_nothing_any_more(text: str, new: set[str]) -> None:
    assert new <= {changed for _, changed in without_clauses(text)}


def test_clause_reaches_to_the_operators_around_it() -> None:
    assert [clause for clause, _ in without_clauses("a = :a AND b = :b OR c = :c")] == [
        "a = :a",
        "b = :b",
        "a = :a AND b = :b",
        "c = :c",
    ]


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("{% $a in ['x', 'y'] %}", {"{% $a in ['y'] %}", "{% $a in ['x'] %}"}),
        ("{% $not($k in ['x']) and $b %}", {"{% $not($k in []) and $b %}"}),
        ("{% $map(['x', 'y'], $f)[$a[0]] %}", {"{% $map(['y'], $f)[$a[0]] %}", "{% $map(['x'], $f)[$a[0]] %}"}),
        ("{% $a < 1 %}", {"{% $a <= 1 %}"}),
        ("{% $a >= 1 ? ' < ' : /[<>=]/ %}", {"{% $a > 1 ? ' < ' : /[<>=]/ %}"}),
        ("{% ($a := $b; $a != 1) %}", {"{% ($a := $b; $a = 1) %}"}),
        ("{% $a ? 'x < :x' : 'SET y = :y' %}", {"{% $a ? 'x <= :x' : 'SET y = :y' %}"}),
        ("a <> :a", {"a = :a"}),
        ("#a IN (:a, :b)", {"(#a IN (:a, :b) AND #a <> :a)", "(#a IN (:a, :b) AND #a <> :b)"}),
    ],
)
def test_member_is_missing_or_comparison_turned(text: str, new: set[str]) -> None:
    assert {each for _, each in changed(text)} == new


def test_rule_and_catch_lead_to_another_state_that_is_there(made: list[Mutant]) -> None:
    named = {name for each in rendered_definitions(ROOT / TEMPLATE).values() for name, _ in states_of(each)}
    led = [each for each in made if re.search(r"(\.Next|\.Default): ", each.name)]
    assert {each.new for each in led} <= named
    assert not [each.name for each in led if each.name.endswith(f": {each.new} for {each.new}")]
    assert {each.state for each in made if ".Catch[" in each.name} <= {each.state for each in led}


def test_a_state_of_both_lanes_is_changed_in_both(made: list[Mutant]) -> None:
    [finalize] = [each for each in made if each.name.endswith("Finalize.ConditionExpression: without fence = :mine")]
    assert finalize.twin and (finalize.file, finalize.twin.file, finalize.new) == (FULL, FAST, finalize.twin.new)
    assert {each.file for each in made if each.twin} == {FULL} and [each for each in made if each.file == FAST]


def test_each_change_that_nobody_can_notice_is_there(made: list[Mutant]) -> None:
    known = [reason(each.name) for each in every_mutant()]
    assert [each for each in EQUIVALENT if each not in known] == []
    assert not [each.name for each in made if reason(each.name)]


def test_every_mutant_changes_one_place_of_a_text_that_stays_yaml(made: list[Mutant]) -> None:
    texts = {file: (ROOT / file).read_text() for file in {each.file for each in made}}
    for each in made[::5]:
        before, after = texts[each.file], each.applied(texts[each.file])
        assert after != before and after.startswith(before[: each.start]), each.name
        yaml.compose(after, Loader=yaml.CSafeLoader)


def test_mutants_of_every_kind_are_in_every_file(made: list[Mutant]) -> None:
    files = Counter(each.file for each in made)
    assert {"statemachine/operation.asl.yaml", "statemachine/recovery.asl.yaml", TEMPLATE} <= set(files)
    kinds = (".Choices[", ".Catch[", ".ConditionExpression: without", "REMOVE", "its condition", "dynamodb:")
    for kind in (*kinds, "].Next: ", " in [", " IN (", ": <= in ", ": != in ", ": <> in "):
        assert [each for each in made if kind in each.name], kind


def test_mutant_of_a_definition_is_what_is_deployed(
    made: list[Mutant], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("mutant")
    for name in ("api", "operations", "announcements", "examples", "functions", "shared", TEMPLATE):
        (folder / name).symlink_to(ROOT / name)
    (folder / "statemachine").mkdir()
    for path in (ROOT / "statemachine").glob("*.yaml"):
        (folder / "statemachine" / path.name).write_text(path.read_text())
    wanted = "operation:Finalize.ConditionExpression: without fence = :mine"
    [mutant] = [each for each in made if each.name == wanted]
    (folder / mutant.file).write_text(mutant.applied((ROOT / mutant.file).read_text()))
    finalize = rendered_definitions(folder / TEMPLATE)["operation"]["States"]["Finalize"]
    assert "((fence = :mine) OR NOT (fence = :mine)) AND" in finalize["Arguments"]["ConditionExpression"]


def test_tests_that_judge_are_there() -> None:
    assert [
        path
        for path in (*judges.STATES, *judges.MODEL, *judges.SCENARIOS, *judges.PERMISSIONS)
        if not (ROOT / path.partition("::")[0]).exists()
    ] == []
