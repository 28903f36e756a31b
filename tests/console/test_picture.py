"""The picture of a machine, whatever the machine: every box in its place, and the path of every run drawn in."""

from __future__ import annotations

import datetime
import json
import re
from collections import deque
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from scenario import charge

from oncekit.console import picture
from oncekit.console.drawing.graph import Definition, Edge, Node, Taken, edges, nodes
from oncekit.console.drawing.layout import layout
from oncekit.console.drawing.svg import STYLE, drawing
from oncekit.console.here import run_here
from oncekit.console.run import Run, Visit
from oncekit.local import LocalCloud
from oncekit.local.deploy import rendered_definitions

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
MACHINES = rendered_definitions(TEMPLATE)
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SVG = "{http://www.w3.org/2000/svg}"


def drawn(definition: Definition, run: Run) -> tuple[dict[str, str], set[str]]:
    """The sign on each state, and the ways that were taken, as the picture has them."""
    root = ElementTree.fromstring(picture.picture(definition, run, "it"))
    signs, ways = {}, set()
    for group in root.iter(f"{SVG}g"):
        title = group.findtext(f"{SVG}title") or ""
        sign = group.find(f"{SVG}g[@class='badge sign']/{SVG}text")
        if sign is not None:
            signs[re.split(r"[ :]", title)[0]] = sign.text or ""
        if " → " in title and "taken" in (group.get("class") or "").split():
            ways.add(title.partition(":")[0])
    return signs, ways


def hundred_states() -> dict[str, Any]:
    """Tasks one after the other, each with a way out on an error, and every tenth with a way back."""
    states: dict[str, Any] = {}
    for n in range(49):
        onward = f"Check{n + 1}" if n < 48 else "Done"
        states[f"Check{n}"] = {"Type": "Choice", "Choices": [{"Next": f"Work{n}"}], "Default": onward}
        states[f"Work{n}"] = {"Type": "Task", "Next": onward, "Catch": [{"ErrorEquals": ["E"], "Next": "Failed"}]}
        if n % 10 == 9:
            states[f"Work{n}"]["Next"] = f"Check{n - 5}"
    return {"StartAt": "Check0", "States": {**states, "Done": {"Type": "Succeed"}, "Failed": {"Type": "Fail"}}}


@pytest.mark.parametrize("name", [*MACHINES, "hundred"])
def test_every_state_has_a_box_and_no_two_overlap(name: str) -> None:
    definition = hundred_states() if name == "hundred" else MACHINES[name]
    boxes = layout(tuple(nodes(definition)), tuple(edges(definition))).boxes
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


def test_the_rules_of_a_picture_hold_for_nothing_else_in_a_page(cloud: LocalCloud) -> None:
    rules = re.findall(r"^ *([^{}@/\n][^{}]*?) \{$|^([^{}@/\n][^{}]*?) \{ ", STYLE.read_text("utf-8"), re.MULTILINE)
    selectors = [each for rule in rules for each in "".join(rule).split(", ")]
    assert len(selectors) > 20 and all(re.match(r"\.graph\b", each) for each in selectors)
    shown = picture.picture_in_page(MACHINES["operation"], run_here(cloud.run(charge())))
    assert shown.startswith("<svg") and "<style" not in shown and " style=" not in shown


def test_the_same_machine_is_drawn_as_the_same_text_with_every_state() -> None:
    machine = MACHINES["operation"]
    first = picture.picture(machine, None, "it")
    layout.cache_clear()
    assert first == picture.picture(machine, None, "it")
    assert all(f"<title>{name}: " in first for name in machine["States"])


def test_names_and_comments_are_text_in_the_picture_and_never_markup() -> None:
    evil = "\"'><script>alert(1)</script>&\x1b]52;c;\x07\u202e\ud800\n"
    drawn = [Node(f"A{evil}", f"task{evil}", evil), Node("B", "success", "")]
    svg = drawing(drawn, [Edge(drawn[0].name, "B", True, evil)], Taken([drawn[0].name, "B"]), evil)
    root = ElementTree.fromstring(svg)
    assert not [each.tag for each in root.iter() if "script" in each.tag]
    assert not [name for each in root.iter() for name in each.attrib if name.startswith("on")]
    assert "\x1b" not in svg and "\u202e" not in svg and r"\x1b]52;c;\x07\u202e\ud800\n" in svg


def walks(definition: Definition) -> Iterator[list[str]]:
    """Ways from the start that take every transition of the machine, in few walks."""
    onward: dict[str, list[str]] = {}
    for edge in edges(definition):
        onward.setdefault(edge.source, []).append(edge.target)
    left = {(one, other) for one, targets in onward.items() for other in targets}
    while left:
        before_it, walk = len(left), [definition["StartAt"]]
        while (way := _to_a_new_one(walk[-1], onward, left)) is not None:
            left -= set(zip([walk[-1], *way], way, strict=False))
            walk += way
        assert len(left) < before_it, f"nothing leads to {left}"
        yield walk


def _to_a_new_one(begin: str, onward: dict[str, list[str]], left: set[tuple[str, str]]) -> list[str] | None:
    ways: deque[list[str]] = deque([[begin]])
    seen = {begin}
    while ways:
        way = ways.popleft()
        for target in onward.get(way[-1], ()):
            if (way[-1], target) in left:
                return [*way[1:], target]
            if target not in seen:
                seen.add(target)
                ways.append([*way, target])
    return None


def walked(definition: Definition, walk: list[str]) -> Run:
    """A run that went so: a state left by a way that only an error takes was caught."""
    on_error = {(each.source, each.target) for each in edges(definition) if each.on_error}
    visits = [
        Visit(
            number=number,
            state=state,
            type=definition["States"][state]["Type"],
            outcome="caught" if (state, after) in on_error else "succeeded",
            entered_at=NOW,
            exited_at=NOW,
        )
        for number, (state, after) in enumerate(zip(walk, [*walk[1:], ""], strict=True), 1)
    ]
    return Run("arn:aws:states:r:1:execution:m:n", "SUCCEEDED", NOW, NOW, None, None, None, None, visits, [])


@pytest.mark.parametrize("name", [*MACHINES, "hundred"])
def test_every_way_of_a_machine_is_drawn_when_it_is_taken(name: str) -> None:
    definition = hundred_states() if name == "hundred" else MACHINES[name]
    taken: set[str] = set()
    for walk in walks(definition):
        run = walked(definition, walk)
        signs, ways = drawn(definition, run)
        last = {each.state: "↷" if each.outcome == "caught" else "✓" for each in run.visits}
        assert (signs, ways) == (last, {f"{a} → {b}" for a, b in pairwise(walk)})
        taken |= ways
    assert taken == {f"{each.source} → {each.target}" for each in edges(definition)}
