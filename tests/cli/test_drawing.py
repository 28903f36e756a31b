"""The layout of the picture."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from cli.drawing.geometry import geometry
from cli.drawing.svg import drawing
from cli.graph import _definition, edges, nodes

DEFINITION = _definition(Path(__file__).parents[2] / "template.yaml")


def test_no_two_boxes_overlap_and_every_state_has_one() -> None:
    boxes = geometry(nodes(DEFINITION), edges(DEFINITION)).boxes
    assert set(boxes) == set(DEFINITION["States"])
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart, f"{one} overlaps {other}"


def test_the_same_machine_is_drawn_as_the_same_text_with_every_state() -> None:
    first, second = (drawing(nodes(DEFINITION), edges(DEFINITION), (), "it") for _ in range(2))
    assert first == second
    assert all(f"<title>{name}: " in first for name in DEFINITION["States"])
