"""The layout of the picture."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

from oncekit.cli.drawing import definition_of
from oncekit.console.drawing.geometry import geometry
from oncekit.console.drawing.svg import drawing
from oncekit.console.drawing.vertices import Edge, Node, Taken
from oncekit.console.machine import edges, nodes

DEFINITION = definition_of(Path(__file__).parents[2] / "template.yaml")


def test_no_two_boxes_overlap_and_every_state_has_one() -> None:
    boxes = geometry(tuple(nodes(DEFINITION)), tuple(edges(DEFINITION))).boxes
    assert set(boxes) == set(DEFINITION["States"])
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart, f"{one} overlaps {other}"


def test_the_same_machine_is_drawn_as_the_same_text_with_every_state() -> None:
    first, second = (drawing(nodes(DEFINITION), edges(DEFINITION), heading="it") for _ in range(2))
    assert first == second
    assert all(f"<title>{name}: " in first for name in DEFINITION["States"])


def test_both_lanes_have_the_same_states_and_another_one_comes_first() -> None:
    fast = definition_of(Path(__file__).parents[2] / "template.yaml", "fast")
    assert {each.name for each in nodes(fast)} == {each.name for each in nodes(DEFINITION)}
    of_full, of_fast = ({(each.source, each.target) for each in edges(lane)} for lane in (DEFINITION, fast))
    assert ("ReceiveRequest", "AcquireLock") in of_full - of_fast
    assert ("ReceiveRequest", "ReadRecord") in of_fast - of_full


def test_names_and_comments_are_text_in_the_picture_and_never_markup() -> None:
    evil = "\"'><script>alert(1)</script>&\x1b]52;c;\x07\u202e\ud800\n"
    drawn = [Node(f"A{evil}", f"task{evil}", evil), Node("B", "success", "")]
    svg = drawing(drawn, [Edge(drawn[0].name, "B", True, evil)], Taken([drawn[0].name, "B"]), evil)
    svg.encode()
    root = ElementTree.fromstring(svg)
    assert not [each.tag for each in root.iter() if "script" in each.tag]
    assert not [name for each in root.iter() for name in each.attrib if name.startswith("on")]
    assert "<script>" not in svg and "\x1b" not in svg and "\u202e" not in svg
    assert r"\x1b]52;c;\x07\u202e\ud800\n" in svg
