"""The picture of a machine, whatever the machine: every box in its place, and the path of every run drawn in."""

from __future__ import annotations

import json
import re
import threading
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from golden_text import drawn, hundred_states
from scenario import charge

from oncekit.console import picture
from oncekit.console.drawing.geometry import geometry
from oncekit.console.drawing.svg import style
from oncekit.console.here import run_here
from oncekit.console.machine import edges, nodes
from oncekit.console.picture import picture_in_page
from oncekit.local import LocalCloud
from oncekit.local.deploy import rendered_definitions

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
MACHINES = rendered_definitions(TEMPLATE)


@pytest.mark.parametrize("name", [*MACHINES, "hundred"])
def test_every_state_has_a_box_and_no_two_overlap(name: str) -> None:
    definition = hundred_states() if name == "hundred" else MACHINES[name]
    boxes = geometry(tuple(nodes(definition)), tuple(edges(definition))).boxes
    assert set(boxes) == set(definition["States"])
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart, f"{one} overlaps {other}"


@pytest.mark.parametrize(
    ("requests", "lane"),
    [
        ([charge()], "full"),
        ([charge(), charge()], "full"),
        ([charge(), charge(amount=1)], "full"),
        ([charge() | {"operation": "ask-somebody"}], "full"),
        ([{}], "full"),
        ([charge()], "fast"),
        ([charge(), charge()], "fast"),
    ],
    ids=["executed", "replayed", "mismatch", "quarantined", "refused", "fast", "fast replayed"],
)
def test_each_path_of_an_operation_is_drawn_with_what_became_of_each_state(
    cloud: LocalCloud, requests: list[dict[str, Any]], lane: Any
) -> None:
    *_, last = [cloud.run(request, lane=lane) for request in requests]
    run = run_here(last)
    definition = json.loads(cloud.executions.find(last.arn).state_machine.definition)
    signs, ways = drawn(definition, run)
    at_top = [each for each in run.visits if each.parent is None]
    assert set(signs) == {each.state for each in at_top}
    assert ways == {f"{a.state} → {b.state}" for a, b in pairwise(at_top)}
    assert (signs[at_top[-1].state] == "✗") == (run.status == "FAILED")


def test_the_rules_of_a_picture_in_a_page_hold_for_nothing_else_in_it(cloud: LocalCloud) -> None:
    selectors = re.findall(r"^([^{}@\n][^{]*) \{", style("graph"), re.MULTILINE)
    assert selectors and all(each.startswith(".graph ") for rule in selectors for each in rule.split(", "))
    ended = cloud.run(charge())
    shown = picture_in_page(MACHINES["operation"], run_here(ended))
    assert shown.startswith('<svg class="graph"') and "<style" not in shown and " style=" not in shown


def test_a_picture_does_not_wait_for_another_one_that_is_being_laid_out() -> None:
    def machine(name: str) -> dict[str, Any]:
        return {"StartAt": name, "States": {name: {"Type": "Succeed"}}}

    def lay_out() -> None:
        picture.lay_out(machine("Other"))
        done.set()

    one, done = machine("One"), threading.Event()
    with picture._laying_out(tuple(nodes(one)), tuple(edges(one))):
        threading.Thread(target=lay_out, daemon=True).start()
        assert done.wait(20)
