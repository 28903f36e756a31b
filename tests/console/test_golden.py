"""Pictures as texts: every way of each machine is drawn when it is taken, and real runs are drawn as they were."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from engine_machines import END, create, start
from golden_text import FOLDER, definition_of, drawn, held, hundred_states, told, told_of
from real_paths import PATHS
from scenario import charge

from oncekit.console.drawing.geometry import geometry
from oncekit.console.here import run_here
from oncekit.console.machine import Definition, edges, nodes
from oncekit.console.run import Run, Visit
from oncekit.local import LocalCloud
from oncekit.local.deploy import rendered_definitions
from oncekit.local.faults import fails

MACHINES = rendered_definitions(Path(__file__).parents[2] / "template.yaml")
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


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
            input=None,
            output=None,
            variables={},
            attempts=(),
            failures=(),
            events=(),
        )
        for number, (state, after) in enumerate(zip(walk, [*walk[1:], ""], strict=True), 1)
    ]
    return Run("arn:aws:states:r:1:execution:m:n", "SUCCEEDED", NOW, NOW, None, None, None, None, visits, [])


@pytest.mark.parametrize("name", ["operation", "recovery", "hundred"])
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


def test_a_machine_of_a_hundred_states_is_laid_out_in_the_same_rows_and_drawn() -> None:
    definition = hundred_states()
    assert len(definition["States"]) == 100
    rows: dict[float, list[tuple[float, str]]] = {}
    for name, box in geometry(tuple(nodes(definition)), tuple(edges(definition))).boxes.items():
        rows.setdefault(box.y, []).append((box.x, name))
    text = "\n".join(" | ".join(name for _, name in sorted(rows[y])) for y in sorted(rows))
    walk = next(walks(definition))
    held("hundred", f"{text}\n\n{told(definition, walked(definition, walk))}\n")


def test_a_map_with_sixteen_branches_is_drawn_as_one_state(cloud: LocalCloud) -> None:
    branch = {"StartAt": "Inner", "States": {"Inner": {"Type": "Pass", "Next": "Out"}, "Out": END}}
    states: dict[str, Any] = {
        "Each": {"Type": "Map", "Items": list(range(16)), "ItemProcessor": branch, "Next": "Last"},
        "Last": END,
    }
    run = run_here(cloud.wait(start(cloud, create(cloud, states))))
    inner = sorted(f"{each.state} within {each.parent}" for each in run.visits if each.parent is not None)
    counted = "\n".join(f"{inner.count(each)} x {each}" for each in dict.fromkeys(inner))
    held("map", f"{told({'StartAt': 'Each', 'States': states}, run)}\n{counted}\n")


def test_real_runs_of_the_operation_are_drawn_as_they_were(cloud: LocalCloud) -> None:
    texts, taken = [], set[str]()
    kept = (FOLDER / "operation.txt").read_text("utf-8")
    for name, run in PATHS.items():
        # Up to three times: functions have two seconds of real time, which a busy machine may not give them.
        for _ in range(3):
            cloud.reset()
            ended = run(cloud)
            text = f"{name}\n  {told_of(cloud, ended)}\n"
            if text in kept:
                break
        taken |= drawn(definition_of(cloud, ended), run_here(ended))[1]
        texts.append(text)
    every = {f"{each.source} → {each.target}" for each in edges(MACHINES["operation"])}
    left = "".join(f"\n  {way}" for way in sorted(every - taken))
    held("operation", "\n".join([*texts, f"drawn only as walks\n{left.lstrip(chr(10))}\n"]))


def test_a_real_run_of_recovery_is_drawn_as_it_was(cloud: LocalCloud) -> None:
    machine = cloud.resources["RecoveryStateMachine"]
    nothing = cloud.wait(cloud.start_machine(machine, "{}", "nothing"))
    with cloud.intercept(fails("AccessDeniedException", state="Finalize", nth=0)):
        cloud.run(charge())
    cloud.clock.advance(200)  # type: ignore[attr-defined]  # the shared cloud's time is virtual
    sweep = cloud.wait(cloud.start_machine(machine, "{}", "sweep"))
    held("recovery", f"nothing is open\n  {told_of(cloud, nothing)}\n\na lease is over\n  {told_of(cloud, sweep)}\n")
