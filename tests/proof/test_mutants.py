"""Mutants are made by rule: each rule makes what it should, and a change stays in its place."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from oncekit.proof.mutants import conditions, definitions, expressions, velocity
from oncekit.proof.mutants.excuses import EXCUSES
from oncekit.proof.mutants.hunt import all_harmless, all_mutants, documents
from oncekit.proof.mutants.mutant import GONE, Edit, Mutant, told_apart
from oncekit.proof.mutants.results import Result, Results, change_of, share_killed, table
from oncekit.proof.mutants.suite import NO_JUDGES, PATHS, QUICK, Suite, judges

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return documents()


@pytest.fixture(scope="module")
def made(found: dict[str, Any]) -> list[Mutant]:
    return all_mutants(found)


def texts(expression: str, kind: str) -> set[str]:
    return {each.text for each in expressions.changes(expression) if each.kind == kind}


def test_each_clause_is_dropped_and_negated_with_what_and_or_bind() -> None:
    assert texts("$a and $b or $c", "clause dropped") == {"$b or $c", "$a or $c", "$c", "$a and $b"}
    assert texts("$a and ($b or $c)", "clause negated") == {
        "$not($a) and ($b or $c)",
        "$a and $not(($b or $c))",
        "$a and ($not($b) or $c)",
        "$a and ($b or $not($c))",
    }


def test_what_decides_between_two_values_is_negated() -> None:
    assert texts("{ 'a': $b > 1 ? 2 : 3 }", "clause negated") == {"{ 'a': $not($b > 1) ? 2 : 3 }"}


def test_a_comparison_is_off_by_one_and_turned() -> None:
    assert texts("$a < $b", "comparison") == {"$a <= $b", "$a > $b"}
    assert texts("$a != $b", "comparison") == {"$a = $b"}


def test_every_number_becomes_the_next_one_and_half_of_it() -> None:
    assert texts("$f(300)", "number") == {"$f(301)", "$f(150)"}
    assert texts("$x[0]", "number") == {"$x[1]"}


def test_every_member_of_a_list_and_of_an_object_is_dropped_and_no_filter() -> None:
    assert texts("$s in ['A', 'B', 'C']", "member dropped") == {
        "$s in ['B', 'C']",
        "$s in ['A', 'C']",
        "$s in ['A', 'B']",
    }
    assert texts("{ 'a': 1, 'b': $f({}, [2]) }", "member dropped") == {"{ 'b': $f({}, [2]) }", "{ 'a': 1 }"}
    assert texts("$list[name = 'a', 1]", "member dropped") == set()


def test_names_are_spelled_wrong_and_sentences_are_left_alone() -> None:
    assert texts("$a.b = 'C.D'", "name") == {"$a.bx = 'C.D'", "$a.b = 'C.Dx'"}
    assert texts("'a sentence ' & $a", "name") == set()


def test_a_pattern_loses_its_anchors_and_gets_other_counts() -> None:
    assert texts("$contains($a, /^x{0,39}$/)", "pattern") == {
        "$contains($a, /x{0,39}$/)",
        "$contains($a, /^x{0,39}/)",
        "$contains($a, /^x{1,39}$/)",
        "$contains($a, /^x{0,40}$/)",
        "$contains($a, /^x{0,19}$/)",
    }


def test_a_condition_of_dynamodb_loses_each_clause_and_each_status_of_a_list() -> None:
    condition = "a = :a AND (b < :b OR attribute_not_exists(c)) AND #s IN (:x, :y)"
    dropped = {each.text for each in conditions.changes(condition) if each.kind == "clause dropped"}
    assert "a = :a AND (b < :b) AND #s IN (:x, :y)" in dropped
    assert "a = :a AND #s IN (:x, :y)" in dropped
    lists = {each.text for each in conditions.changes(condition) if each.kind == "member dropped"}
    assert lists == {condition.replace(":x, :y", ":y"), condition.replace(":x, :y", ":x")}


def test_an_update_loses_each_set_and_each_remove() -> None:
    changed = {each.text for each in conditions.updates("SET a = :a, b = if_not_exists(b, :z) + :o REMOVE c, d")}
    assert changed == {
        "SET b = if_not_exists(b, :z) + :o REMOVE c, d",
        "SET a = :a REMOVE c, d",
        "SET a = :a, b = if_not_exists(b, :z) + :o REMOVE d",
        "SET a = :a, b = if_not_exists(b, :z) + :o REMOVE c",
        "SET a = :a, b = if_not_exists(b, :z) - :o REMOVE c, d",
        "SET a = :a, b = :z + :o REMOVE c, d",
    }


def of_a_template(line: str, kind: str) -> set[str]:
    return {each.text for each in velocity.changes(line) if each.kind == kind}


def test_a_mapping_template_loses_an_encoding_a_clause_and_an_override_and_says_other_words() -> None:
    line = '{"body":"$util.urlEncode($input.params("x"))"}##'
    assert of_a_template(line, "encoding dropped") == {'{"body":"$input.params("x")"}##'}
    line = '#elseif($name.equalsIgnoreCase("K") && $a != "")##'
    assert of_a_template(line, "clause negated") == {'#elseif(!($name.equalsIgnoreCase("K") && $a != ""))##'}
    assert of_a_template(line, "clause dropped") == {'#elseif($name.equalsIgnoreCase("K"))##', '#elseif($a != "")##'}
    assert of_a_template(line, "comparison") == {'#elseif($name.equalsIgnoreCase("K") && $a == "")##'}
    assert of_a_template("#set($context.responseOverride.status = $s)##", "override dropped") == {"##"}
    assert of_a_template('#set($type = "not-found")##', "name") == {'#set($type = "not-foundx")##'}
    assert of_a_template("#set($status = 404)##", "number") == {"#set($status = 405)##"}
    assert of_a_template('#set($s = $id.replaceAll("[+]", "%20"))##', "call dropped") == {"#set($s = $id)##"}
    assert of_a_template('#if($d != ""),"d":"$d"#end##', "clause negated") == {'#if(!($d != "")),"d":"$d"#end##'}


def test_what_only_requests_by_http_meet_is_judged_by_their_tests() -> None:
    tests = (
        "tests/statemachine/test_http_answers.py::a",
        "tests/template/test_request_api.py::b",
        "tests/states/x.py::c",
    )
    suite = Suite(dict.fromkeys(tests, 1.0), dict.fromkeys(tests, frozenset({"S"})))
    mutant = Mutant("template.yaml", "HttpTemplates.StartOperation.Request", "x", "k", ())
    assert set(suite.for_mutant(mutant)) == set(tests[:2])


def test_what_an_expression_no_longer_uses_goes_with_it_for_dynamodb_refuses_what_is_left_over() -> None:
    state = {
        "Type": "Task",
        "Arguments": {
            "ConditionExpression": "#a = :a AND b = :b",
            "UpdateExpression": "SET b = :b",
            "ExpressionAttributeNames": {"#a": "a"},
            "ExpressionAttributeValues": {":a": {"S": "x y"}, ":b": {"S": "x y"}},
        },
    }
    document = {"TimeoutSeconds": 1, "States": {"S": state}}
    [without] = [each for each in definitions.mutants("f", document) if each.what == "without #a = :a"]
    arguments = without.applied(document)["States"]["S"]["Arguments"]
    assert arguments["ConditionExpression"] == "b = :b"
    assert "ExpressionAttributeNames" not in arguments
    assert arguments["ExpressionAttributeValues"] == {":b": {"S": "x y"}}
    assert document["States"]["S"] is state and "#a" in str(state), "the document itself stays as it is"


def test_every_mutant_changes_its_document_and_has_a_name_of_its_own(made: list[Mutant], found: dict[str, Any]) -> None:
    assert [name for name, count in Counter(each.name for each in made).items() if count > 1] == []
    for each in made[::37]:
        assert each.applied(found[each.file]) != found[each.file], each.name


def test_every_kind_of_the_rules_is_there(made: list[Mutant]) -> None:
    kinds = Counter(each.kind for each in made)
    wanted = "clause dropped, clause negated, comparison, number, member dropped, Catch dropped, Retry dropped"
    more = "SET dropped, REMOVE dropped, Assign dropped, name, target, order, property dropped, item dropped, turned"
    assert {each for each in f"{wanted}, {more}".split(", ") if kinds[each] == 0} == set()
    assert len(made) > 4000


def test_every_state_and_every_resource_has_mutants(made: list[Mutant], found: dict[str, Any]) -> None:
    places = {each.place for each in made}
    for file in definitions.FILES:
        ends = {"AcquireLock", "ReadRecord"} - places
        assert not ends
        for path, state in definitions.states(found[file]):
            assert path[-1] in places or state["Type"] in ("Succeed", "Fail"), path
    missing = {name for name in found["template.yaml"]["Resources"] if name not in places and "Dashboard" not in name}
    assert missing == set()


def test_two_mutants_that_change_the_same_are_one() -> None:
    twice = [Mutant("f", "S", "a", "k", (Edit(("S",), GONE),)), Mutant("f", "S", "b", "k", (Edit(("S",), GONE),))]
    assert [each.what for each in told_apart(twice)] == ["a"]


def test_harmless_mutants_mean_the_same(found: dict[str, Any]) -> None:
    controls = all_harmless(found)
    assert {each.file for each in controls} == set(found)
    assert all(each.kind == "control" for each in controls)


def test_a_test_judges_a_mutant_only_when_it_visits_what_is_changed() -> None:
    visits = {
        "tests/a::enters": frozenset({"S"}),
        "tests/a::fails": frozenset({"S", "S!"}),
        "tests/a::other": frozenset(),
    }
    suite = Suite({"tests/a::enters": 1.0, "tests/a::fails": 2.0, "tests/a::other": 0.1}, visits)
    retry = Mutant("d", "S.Retry[0]", "dropped", "k", (), "S!")
    assert suite.for_mutant(retry) == ["tests/a::fails"]
    assert suite.for_mutant(Mutant("d", "S.Next", "x", "k", (), "S")) == ["tests/a::enters", "tests/a::fails"]
    suite.killed(retry, "tests/a::fails")
    assert suite.for_mutant(Mutant("d", "S.Next", "x", "k", (), "S")) == ["tests/a::fails", "tests/a::enters"]


def test_a_test_that_compares_texts_judges_nothing() -> None:
    assert not judges("tests/gate/test_gate.py::test_a_broken_variant_is_refused_by_name[x]")
    assert judges("tests/gate/test_gate.py::test_the_project_has_no_finding")
    for name in NO_JUDGES:
        file, _, test = name.partition("::")
        assert f"def {test}" in (ROOT / file).read_text(), name


def test_the_tests_that_judge_are_there() -> None:
    assert [path for path in (*PATHS, *QUICK) if not (ROOT / path).exists()] == []


def test_what_is_known_of_a_mutant_is_forgotten_when_the_mutant_changes(tmp_path: Path) -> None:
    mutant = Mutant("d", "S", "x", "k", (Edit(("S",), 1),))
    results = Results(tmp_path / "r.json")
    results.add(Result(mutant.name, "k", "killed", "t", "", 1.0, 0.5, change_of(mutant)))
    results.save(1)
    again = Results(tmp_path / "r.json")
    known = again.of(mutant)
    assert known is not None and known.outcome == "killed"
    assert again.of(Mutant("d", "S", "x", "k", (Edit(("S",), 2),))) is None


def test_a_time_out_is_counted_neither_as_killed_nor_as_survived() -> None:
    outcomes = ("killed", "survived", "timed out", "stillborn", "survived")
    results = [Result(str(n), "k", outcome, "", "", 1.0, 0.5, "") for n, outcome in enumerate(outcomes)]
    last = table(results, {"4": "a reason"}).splitlines()[-1].split()
    assert last == ["all", "5", "1", "1", "1", "1", "1", "0", "33.3", "%"]


def test_every_excuse_is_of_a_mutant_that_there_is(made: list[Mutant]) -> None:
    assert set(EXCUSES) - {each.name for each in made} == set()
    assert all(len(reason) > 20 for reason in EXCUSES.values())


def test_a_sample_is_judged_by_the_share_that_is_killed_and_what_is_excused_does_not_count() -> None:
    outcomes = ["killed"] * 3 + ["survived"] * 2 + ["timed out", "stillborn"]
    results = [Result(str(n), "k", outcome, "", "", 1.0, 0.5, "") for n, outcome in enumerate(outcomes)]
    assert share_killed(results, {"3": "why"}) == 75
    assert share_killed(results[-2:], {}) == 0, "nothing was judged"
