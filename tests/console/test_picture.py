"""The picture of a machine: every box in its place, and the path of a run drawn in."""

from __future__ import annotations

import datetime
import json
import re
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from machine_pictures import drawing
from path_pictures import path_pictures
from scenario import charge

from oncekit.console.drawing.graph import Definition, Edge, Node, Taken, edges, nodes
from oncekit.console.drawing.layout import layout
from oncekit.console.drawing.svg import embedded
from oncekit.console.here import run_here
from oncekit.console.picture import picture
from oncekit.console.run import Run
from oncekit.local import LocalCloud
from oncekit.local.deployment.deploy import rendered_definitions

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
MACHINES = rendered_definitions(TEMPLATE)
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SVG = "{http://www.w3.org/2000/svg}"


def drawn(definition: Definition, run: Run) -> tuple[dict[str, str], set[str]]:
    """The sign on each state, and the ways that were taken, as the picture has them."""
    root = ElementTree.fromstring(picture(definition, run))
    signs, ways = {}, set()
    for group in root.iter(f"{SVG}g"):
        title = group.findtext(f"{SVG}title") or ""
        sign = group.find(f"{SVG}g[@class='badge sign']/{SVG}text")
        if sign is not None:
            signs[re.split(r"[ :]", title)[0]] = sign.text or ""
        if " → " in title and "taken" in (group.get("class") or "").split():
            ways.add(title.partition(":")[0])
    return signs, ways


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_has_a_box_and_no_two_overlap(name: str) -> None:
    definition = MACHINES[name]
    boxes = layout(nodes(definition), edges(definition)).boxes
    assert set(boxes) == set(definition["States"])
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart, f"{one} overlaps {other}"


@pytest.mark.parametrize("name", MACHINES)
def test_no_line_goes_through_a_state_or_along_one_to_another_state(name: str) -> None:
    drawn = layout(nodes(MACHINES[name]), edges(MACHINES[name]))
    parts = [(edge, *sorted(part)) for edge, points in drawn.lines.items() for part in pairwise(points)]
    for edge, (left, top), (right, bottom) in parts:
        for state, box in drawn.boxes.items():
            beside = right <= box.x - box.width / 2 or left >= box.x + box.width / 2
            assert beside or bottom <= box.y - box.height / 2 or top >= box.y + box.height / 2, (edge, state)
    for (edge, (x, y), end), (other, (its_x, its_y), its_end) in combinations(parts, 2):
        if edge.source != other.source and edge.target != other.target:
            level = x == end[0] and its_x == its_end[0] and abs(x - its_x) < 1, y == end[1] and abs(y - its_y) < 1
            assert not level[0] or min(end[1], its_end[1]) <= max(y, its_y), (edge, other)
            assert not level[1] or its_y != its_end[1] or min(end[0], its_end[0]) <= max(x, its_x), (edge, other)


@pytest.mark.parametrize("lane", ["operation", "fast"])
def test_sections_of_a_machines_file_are_the_headings_of_its_picture(lane: str) -> None:
    file = TEMPLATE.parent / "statemachine" / f"{lane}.asl.yaml"
    sections = re.findall(r"^  # -+ (.+?) -+$", file.read_text("utf-8"), re.MULTILINE)
    texts = ElementTree.fromstring(drawing(MACHINES[lane], lane)).iter(f"{SVG}text")
    assert sections and [each.text for each in texts if each.get("class") == "section"] == ["All goes well", *sections]


@pytest.mark.parametrize("lane", ["operation", "fast"])
def test_each_way_that_a_record_decides_says_when_it_is_taken(lane: str) -> None:
    ways = {each.target: each.reason for each in edges(MACHINES[lane]) if each.source == "ExistingStatus"}
    assert all(ways.values()) and len(set(ways.values())) == len(ways)
    texts = [each.text for each in ElementTree.fromstring(drawing(MACHINES[lane], lane)).iter(f"{SVG}text")]
    assert set(ways.values()) <= set(texts)


def test_nothing_is_drawn_below_an_end_as_if_it_came_next() -> None:
    task = {"Type": "Task", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Undo"}], "End": True}
    states = {
        "Pay": task,
        "Undo": {"Type": "Pass", "Next": "Sorry"},
        "Sorry": {"Type": "Fail"},
        "Done": {"Type": "Succeed"},
    }
    every = nodes({"StartAt": "Pay", "States": states})
    drawn = layout(every, edges({"StartAt": "Pay", "States": states}))
    first, second, *_ = drawn.lines[Edge("Pay", "Undo", True, "States.ALL")]
    assert first[1] == second[1], "it leaves sideways"
    assert drawn.boxes["Sorry"].x == drawn.boxes["Done"].x > drawn.boxes["Pay"].x == drawn.boxes["Undo"].x


def test_colours_are_values_that_every_program_which_shows_svg_knows() -> None:
    svg = drawing(MACHINES["operation"], "The full lane")
    assert "var(" not in svg and "fill: #" in svg
    assert "@media (prefers-color-scheme: dark)" in svg


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
    definition = json.loads(cloud.executions.find(last.arn).machine.definition)
    signs, ways = drawn(definition, run)
    at_top = [each for each in run.visits if each.parent is None]
    assert set(signs) == {each.state for each in at_top}
    assert ways == {f"{a.state} → {b.state}" for a, b in pairwise(at_top)}
    assert (signs[at_top[-1].state] == "✗") == (run.status == "FAILED")


def test_names_and_comments_are_text_in_the_picture_and_never_markup() -> None:
    evil = "\"'><script>alert(1)</script>&\x1b]52;c;\x07\u202e\ud800\n"
    drawn = [Node(f"A{evil}", f"task{evil}", evil), Node("B", "success", "")]
    svg = embedded(drawn, [Edge(drawn[0].name, "B", True, evil)], Taken([drawn[0].name, "B"]), evil)
    root = ElementTree.fromstring(svg)
    assert not [each.tag for each in root.iter() if "script" in each.tag]
    assert not [name for each in root.iter() for name in each.attrib if name.startswith("on")]
    assert "\x1b" not in svg and "\u202e" not in svg and r"\x1b]52;c;\x07\u202e\ud800\n" in svg


def test_the_paths_in_docs_are_those_that_runs_take(cloud: LocalCloud) -> None:
    """`make pictures` draws them."""
    for name, text in path_pictures(cloud):
        assert (TEMPLATE.parent / "docs" / name).read_text("utf-8") == text, name
