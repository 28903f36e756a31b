"""The picture of a machine, whatever the machine: every box in its place, and the path of every run drawn in."""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from engine_machines import END, create, start
from scenario import charge

from oncekit.console.drawing.geometry import geometry
from oncekit.console.drawing.svg import style
from oncekit.console.here import run_here
from oncekit.console.machine import Definition, edges, nodes
from oncekit.console.picture import picture, picture_in_page
from oncekit.console.run import Run
from oncekit.local import LocalCloud
from oncekit.local.deploy import rendered_definitions

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
MACHINES = rendered_definitions(TEMPLATE)


def hundred_states() -> dict[str, Any]:
    """Tasks one after the other, each with a way out on an error, and every tenth with a way back."""
    states: dict[str, Any] = {}
    for n in range(50):
        onward = f"Check{n + 1}" if n < 49 else "Done"
        states[f"Check{n}"] = {"Type": "Choice", "Choices": [{"Next": f"Work{n}"}], "Default": onward}
        states[f"Work{n}"] = {"Type": "Task", "Next": onward, "Catch": [{"ErrorEquals": ["E"], "Next": "Failed"}]}
        if n % 10 == 9:
            states[f"Work{n}"]["Next"] = f"Check{n - 5}"
    return {"StartAt": "Check0", "States": {**states, "Done": END, "Failed": {"Type": "Fail"}}}


@pytest.mark.parametrize("name", [*MACHINES, "hundred"])
def test_every_state_has_a_box_and_no_two_overlap(name: str) -> None:
    definition = hundred_states() if name == "hundred" else MACHINES[name]
    boxes = geometry(tuple(nodes(definition)), tuple(edges(definition))).boxes
    assert set(boxes) == set(definition["States"])
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart, f"{one} overlaps {other}"


def drawn(definition: Definition, run: Run) -> tuple[dict[str, str], set[str]]:
    """The sign on each state, and the ways that were taken, as the picture has them."""
    root = ElementTree.fromstring(picture(definition, run, "it"))
    signs, ways = {}, set()
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        title = group.findtext("{http://www.w3.org/2000/svg}title") or ""
        sign = group.find("{http://www.w3.org/2000/svg}g[@class='sign']/{http://www.w3.org/2000/svg}text")
        if sign is not None:
            signs[re.split(r"[ :]", title)[0]] = sign.text or ""
        if " → " in title and "taken" in (group.get("class") or "").split():
            ways.add(title.partition(":")[0])
    return signs, ways


@pytest.mark.parametrize(
    ("requests", "lane"),
    [
        ([charge()], "full"),
        ([charge(), charge()], "full"),
        ([charge(), charge(amount=1)], "full"),
        ([charge() | {"operation": "no-such"}], "full"),
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


def test_a_map_with_branches_is_one_state_of_the_path(cloud: LocalCloud) -> None:
    branch = {"StartAt": "Inner", "States": {"Inner": {"Type": "Pass", "Next": "Out"}, "Out": END}}
    states: dict[str, Any] = {
        "Each": {"Type": "Map", "Items": list(range(16)), "ItemProcessor": branch, "Next": "Last"},
        "Last": END,
    }
    run = run_here(cloud.wait(start(cloud, create(cloud, states))))
    assert drawn({"StartAt": "Each", "States": states}, run) == ({"Each": "✓", "Last": "✓"}, {"Each → Last"})
    assert len(run.visits) == 2 + 2 * 16


def test_the_rules_of_a_picture_in_a_page_hold_for_nothing_else_in_it(cloud: LocalCloud) -> None:
    selectors = re.findall(r"^([^{}@\n][^{]*) \{", style("graph"), re.MULTILINE)
    assert selectors and all(each.startswith(".graph ") for rule in selectors for each in rule.split(", "))
    ended = cloud.run(charge())
    shown = picture_in_page(MACHINES["operation"], run_here(ended))
    assert shown.startswith('<svg class="graph"') and "<style" not in shown and " style=" not in shown
