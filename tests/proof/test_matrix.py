"""Some cells of the crash matrix, and that they go red when a promise is broken; `make proof` runs them all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def bad(cells: list[list[Any]]) -> list[list[Any]]:
    return [cell for cell in cells if cell[3]]


def test_no_death_at_a_call_leaves_a_charge_stuck_lost_or_twice(in_world: Callable[..., Any]) -> None:
    deaths = ["dies before", "dies after", "dies before, event lost", "late"]
    cells = in_world("cells", "new, small", ["call"], deaths)
    assert len(cells) >= 11
    assert not bad(cells)
    assert {outcome for _, _, outcome, _ in cells} == {"completed"}


def test_no_death_of_a_function_makes_a_fenced_step_happen_twice(in_world: Callable[..., Any]) -> None:
    cells = in_world("cells", "fenced steps", ["point"], ["function dies", "connection breaks"])
    assert len(cells) >= 8
    assert not bad(cells)


def test_a_request_that_only_its_dead_execution_holds_is_kept_by_its_name(in_world: Callable[..., Any]) -> None:
    cells = in_world("cells", "escapes, recovered", ["boundary"], ["dies"], "enter AcquireLock")
    assert [cell[2:] for cell in cells] == [["refused", []]]


@pytest.mark.parametrize(
    ("path", "kinds", "faults"),
    [
        ("fast: new", ["call"], ["dies before", "dies after", "slow"]),
        ("fast: new", ["boundary"], ["hangs to its end"]),
        ("fast: twice at once", ["call"], ["answer lost"]),
        ("fast: operation for the full lane", ["call"], ["answer lost", "the other lane"]),
        ("mixed: fast duplicate of a dead full owner", ["call"], ["never arrives"]),
    ],
)
def test_no_death_in_the_fast_lane_leaves_a_request_stuck_lost_or_twice(
    in_world: Callable[..., Any], path: str, kinds: list[str], faults: list[str]
) -> None:
    cells = in_world("cells", path, kinds, faults)
    assert len(cells) >= 5
    assert not bad(cells)
    assert {outcome for _, _, outcome, _ in cells} == {"completed"}


def test_plain_function_whose_owner_in_the_fast_lane_died_after_it_is_run_again(in_world: Callable[..., Any]) -> None:
    """What docs/lanes.md says is different there: nobody can ask that owner what its function did."""
    assert in_world("starts", "fast: plain function, its owner dies") == 2
    assert in_world("starts", "plain function, its owner dies") == 1


def test_places_are_those_of_the_run(in_world: Callable[..., Any]) -> None:
    places = in_world("places", "new, small")
    assert ["call", "Finalize update_item"] in places
    assert ["boundary", "enter ExecuteBusinessLogic"] in places
    assert ["point", "payment after put_item"] in places


def test_recovery_that_could_see_no_dead_execution_keeps_its_request_when_it_can(in_world: Callable[..., Any]) -> None:
    found = ["DescribeDeadExecution describe_execution", "ReadItsHistory get_execution_history"]
    for label in found:
        cells = in_world("cells", "fast: refused in the full lane", ["call"], ["refused for ever"], label)
        assert {each[2] for each in cells} == {"refused"}, cells


# What is replaced by what; then the path, the place, the fault, and what the cell must come to.
BREAKAGES = {
    "business logic that succeeded is started again": (
        "$history.succeeded or ($history.decided",
        "false and ($history.decided",
        ("new, small", "leave ExecuteBusinessLogic", "dies"),
        "twice",
    ),
    "business logic that must not be started again is": (
        "$record.onCrash.S = 'quarantine'",
        "$record.onCrash.S = 'never'",
        ("quarantine, success", "ExecuteBusinessLogic invoke", "dies after"),
        "twice",
    ),
    "a refused request is forgotten": (
        "Next: RefuseRequest",
        "Next: RequestRefused",
        ("refused", "enter ReceiveRequest", "dies"),
        "lost",
    ),
    "an execution takes the lock from itself": (
        "' expiresAt < :now' %}",
        "' expiresAt < :now OR (#owner = :me AND #status = :inProgress)' %}",
        ("new, small", "AcquireLock update_item", "arrives late"),
        "broken",
    ),
    "a throttled redrive counts as refused": (
        "[Sfn.ExecutionNotRedrivableException, Sfn.ExecutionDoesNotExistException]\n        Assign",
        "[States.ALL]\n        Assign",
        ("redrive by a duplicate", "RedriveOwner redrive_execution", "fails for good"),
        "broken",
    ),
    "recovery that could ask for no owner is content": (
        "$count($outcomes[$ = 'FAILED']) > 0",
        "$count($outcomes[$ = 'FAILED']) > 9",
        ("recovered by its event", "AskOwner describe_execution", "refused for ever"),
        "stuck",
    ),
    "a request that only its dead execution holds is named to nobody": (
        "'executionArn': $execution.arn, 'refusedAt'",
        "'executionArn': 'unknown', 'refusedAt'",
        ("escapes, recovered", "enter AcquireLock", "dies"),
        "lost",
    ),
    "two runs of one execution are one owner": (
        "('${Lane}' = 'fast' ? ':' & $uuid() : '')",
        "('${Lane}' = 'fast' ? ':' & 'nonce' : '')",
        ("fast: twice at once", "Finalize update_item", "answer lost"),
        "twice",
    ),
    "the fast lane keeps no request with its lock": (
        "'kept': '${Lane}' = 'full' ?",
        "'kept': true ?",
        ("fast: new", "AcquireLock update_item", "never arrives"),
        "lost",
    ),
    "a lease in the fast lane ends before its owner": (
        "$string($max([$floor($millis() / 1000), $stopsAt]) + $number('${BusinessTimeoutSeconds}')",
        "$string($floor($millis() / 1000) + $number('${BusinessTimeoutSeconds}')",
        ("mixed: in progress for long", "Finalize update_item", "slow"),
        "twice",
    ),
    "who released the lock must not be started again": (
        "$not($exists($record.mayStartAgain))",
        "$not($exists($record.mayStart))",
        ("fast: no time left, quarantine", "HandOver start_execution", "answer lost"),
        "broken",
    ),
    "what recovery should start again it takes for alive": (
        "'SUCCEEDED', 'LEASE_OVER', 'UNREADABLE']",
        "'SUCCEEDED', 'UNREADABLE']",
        ("fast: new", "Finalize update_item", "dies before"),
        "stuck",
    ),
    "a new lock skips a fence": (
        '":one": { N: "1" }',
        '":one": { N: "2" }',
        ("new, small", "AcquireLock update_item", "never arrives"),
        "broken",
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_cells_go_red_when_a_promise_is_broken(
    in_world: Callable[..., Any], broken: Callable[[str, str], Path], breakage: str
) -> None:
    old, new, (path, label, fault), outcome = BREAKAGES[breakage]
    cells = in_world("cells", path, ["call", "boundary"], [fault], label, root=broken(old, new))
    assert outcome in {each[2] for each in cells}, cells
