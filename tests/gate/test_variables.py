"""The flow of variables through small machines: what is assigned on every way is no finding, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from oncekit.gate import variables
from oncekit.gate.machine import Machine


def findings(text: str) -> list[str]:
    """Of a machine whose states are given without what does not matter here."""
    states: dict[str, Any] = yaml.safe_load(text)
    definition = {"StartAt": next(iter(states)), "States": states}
    return [str(each) for each in variables.check(Machine("m.asl.yaml", definition, "STANDARD"))]


ASKS = """
First:
  Type: Choice
  Choices:
    - { Condition: "{% $states.input.a %}", Assign: { x: 1 }, Next: Second }
  Default: Second
Second:
  Type: Choice
  Choices:
    - { Condition: "{% CONDITION %}", Next: Third }
  Default: Fourth
Third: { Type: Pass, Assign: { y: "{% THIRD %}" }, End: true }
Fourth: { Type: Pass, Assign: { y: "{% FOURTH %}" }, End: true }
"""


@pytest.mark.parametrize(
    ("condition", "third", "fourth"),
    [
        ("$exists($x)", "$x", "1"),
        ("$not($exists($x))", "1", "$x"),
        ("$exists($x) and $x = 2", "$x", "1"),
        ("$not($exists($x)) or $x = 2", "1", "$x"),
    ],
)
def test_a_choice_that_asks_whether_there_is_one_answers_for_the_states_after_it(
    condition: str, third: str, fourth: str
) -> None:
    machine = ASKS.replace("CONDITION", condition)
    assert findings(machine.replace("THIRD", third).replace("FOURTH", fourth)) == []
    found = findings(machine.replace("THIRD", fourth).replace("FOURTH", third))
    assert len(found) == 1
    assert "$x is not assigned on every way here" in found[0]


def test_a_rule_knows_what_the_rules_before_it_found_out() -> None:
    machine = """
    First:
      Type: Choice
      Choices:
        - { Condition: "{% $states.input.a %}", Assign: { x: 1 }, Next: Second }
      Default: Second
    Second:
      Type: Choice
      Choices:
        - { Condition: "{% $not($exists($x)) %}", Next: Third }
        - { Condition: "{% $x > 1 %}", Assign: { y: "{% $x %}" }, Next: Third }
      Assign: { y: "{% $x %}" }
      Default: Third
    Third: { Type: Succeed }
    """
    assert findings(machine) == []
    assert len(findings(machine.replace("$not($exists($x))", "$exists($x)"))) == 3


def test_what_is_assigned_in_every_round_of_a_loop_is_not_assigned_in_the_first() -> None:
    machine = """
    Ask: { Type: Choice, Choices: [{ Condition: "{% $count($seen) > 3 %}", Next: Done }], Default: Count }
    Count: { Type: Pass, Assign: { seen: [1] }, Next: Ask }
    Done: { Type: Succeed }
    """
    assert findings(machine) == [
        "m.asl.yaml: Ask: Choices.0.Condition: $seen is not assigned on every way here; assign it, "
        "or ask $exists($seen)"
    ]
