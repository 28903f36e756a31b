"""Some cells of the crash matrix, and that they go red when a promise is broken; `make proof` runs them all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_world import cells, cells_of_another_library, cells_of_other_announcements, counts, places


@pytest.mark.parametrize(
    ("path", "kind", "faults", "at_least"),
    [
        ("new, small", "call", ["dies before", "dies after", "arrives late"], 11),
        ("fenced steps", "point", ["function dies", "connection breaks"], 8),
        ("fast: new", "call", ["dies before", "dies after", "slow"], 5),
        ("fast: new", "boundary", ["hangs to its end"], 5),
        ("fast: twice at once", "call", ["answer lost"], 5),
        ("fast: operation for the full lane", "call", ["answer lost", "the other lane"], 5),
        ("fast: retry, then success", "call", ["answer lost"], 9),
        ("pending", "point", ["function dies", "connection breaks"], 6),
        ("pending, early", "call", ["answer lost", "dies after"], 5),
        ("fast: pending, late", "call", ["answer lost"], 8),
        ("mixed: fast duplicate of a dead full owner", "call", ["never arrives"], 5),
        ("direct: new", "point", ["function dies", "hangs", "throttled", "arrives late"], 20),
        ("direct: failed, tried again", "point", ["hangs", "throttled"], 5),
        ("direct: dies after its effect", "point", ["hangs"], 5),
        ("direct: batch, dies in the middle", "point", ["function dies", "hangs"], 10),
        ("direct: batch", "point", ["function dies", "throttled"], 5),
        ("mixed: direct duplicate of a dead full owner", "point", ["function dies", "throttled"], 2),
    ],
)
def test_no_fault_leaves_a_request_stuck_lost_or_twice(
    in_world: Callable[..., Any], path: str, kind: str, faults: list[str], at_least: int
) -> None:
    found = in_world(cells, path, [kind], faults)
    assert len(found) >= at_least
    assert not [each for each in found if each.is_bad]
    assert {each.outcome for each in found} == {"completed"}


@pytest.mark.parametrize("path", ["recovered, large request", "fast: recovered"])
def test_business_logic_whose_owner_died_after_it_is_run_again(in_world: Callable[..., Any], path: str) -> None:
    """Two starts, one effect: nobody reads what the dead owner's function did."""
    assert in_world(counts, path) == (2, 1)


def test_places_are_those_of_the_run(in_world: Callable[..., Any]) -> None:
    found = {(each.kind, each.label) for each in in_world(places, "new, small")}
    wanted = {("call", "Finalize update_item"), ("boundary", "enter ExecuteBusinessLogic")}
    assert wanted | {("point", "payment after put_item")} <= found


# What is replaced by what; then the path, the place, the fault, and what the cell must come to.
BREAKAGES = {
    "business logic that must not be started again is": (
        "$record.onCrash.S = 'quarantine' and",
        "$record.onCrash.S = 'never' and",
        ("quarantine, success", "ExecuteBusinessLogic invoke", "dies after"),
        "twice",
    ),
    "a refused request is forgotten": (
        "Next: RefuseRequest",
        "Next: RequestRefused",
        ("mismatch", "ReadRecord get_item", "answer lost"),
        "lost",
    ),
    "an execution takes the lock from itself": (
        ": 'attribute_not_exists(id) OR expiresAt < :now' %}",
        ": 'attribute_not_exists(id) OR expiresAt < :now OR #owner = :me' %}",
        ("new, small", "AcquireLock update_item", "arrives late"),
        "broken",
    ),
    "the request is not kept with the lock": (
        "{ 'S': $kept.text }",
        "{ 'S': '{}' }",
        ("new, small", "AcquireLock update_item", "dies after"),
        "lost",
    ),
    "a lease in the fast lane ends before its owner": (
        "':lease': { 'N': $string($stopsAt",
        "':lease': { 'N': $string($floor($millis() / 1000)",
        ("mixed: in progress for long", "Finalize update_item", "slow"),
        "twice",
    ),
    "who released the lock must not be started again": (
        "$record.onCrash.S = 'quarantine' and $number($record.leaseExpiresAt.N) > 0",
        "$record.onCrash.S = 'quarantine'",
        ("fast: no time left, quarantine", "ReleaseLock update_item", "answer lost"),
        "broken",
    ),
    "a dead owner is taken for alive": (
        "'ABORTED'",
        "'STOPPED'",
        ("new, small", "Finalize update_item", "dies before"),
        "stuck",
    ),
    "recovery takes a free lock": (
        "{% $isRecovery or (",
        "{% (",
        ("recovered", "AcquireLock update_item", "operator releases"),
        "twice",
    ),
    "a new attempt leaves it pending": (
        "REMOVE pendingSince",
        "REMOVE resultRef",
        ("pending, late", "KeepOpen update_item", "answer lost"),
        "twice",
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_cells_go_red_when_a_promise_is_broken(
    in_world: Callable[..., Any], broken: Callable[[str, str], Path], breakage: str
) -> None:
    old, new, (path, label, fault), outcome = BREAKAGES[breakage]
    found = in_world(cells, path, ["call", "boundary"], [fault], label, root=broken(old, new))
    assert outcome in {each.outcome for each in found}, found


# What is replaced by what in the library; then the path, the fault, the point, and what the cell must come to.
BREAKAGES_OF_THE_LIBRARY = {
    "business logic begins when the lease is over": (
        "if is_over or self._invocation.seconds_left < self._asked.needs:",
        "if not is_over and is_over:",
        ("direct: new", "hangs", "after update_item"),
        "twice",
    ),
    "a lost lock is told to the sender": (
        "return self._converge(record)",
        'raise Refused("Unavailable", "the lock is lost")',
        ("direct: fenced steps", "hangs", "before transact_write_items"),
        "broken",
    ),
    "a result is told that nobody knows to be kept": (
        """        except (ClientError, BotoCoreError):
            return self._outcome("IN_PROGRESS", record)
        return self._told""",
        """        except (ClientError, BotoCoreError):
            return self._outcome("EXECUTED", record, text="1")
        return self._told""",
        ("direct: new", "throttled", "before update_item"),
        "broken",
    ),
    "a late owner writes its end": (
        '"#owner = :me AND fence = :mine AND #status {status}"',
        '"(#owner = :me OR fence >= :mine) AND #status {status}"',
        ("direct: new", "hangs", "before update_item"),
        "broken",
    ),
    "a lease ends before its owner": (
        "int(self._invocation.seconds_left) + MARGIN",
        "30",
        ("direct: new", "throttled", "before get_item"),
        "twice",
    ),
    "careful business logic is started again": (
        'if self._asked.on_crash == "quarantine" or isinstance(error, NeedsAttention):',
        "if isinstance(error, NeedsAttention):",
        ("direct: error, quarantine", "throttled", "before get_item"),
        "twice",
    ),
    "the request is not kept with the lock": (
        'value: Item = {"S": text}',
        'value: Item = {"S": "{}"}',
        ("direct: new", "throttled", "before get_item"),
        "lost",
    ),
    "another payload gets the result": (
        'if record["fingerprint"]["S"] != self._print:',
        "if False:",
        ("direct: mismatch", "throttled", "before get_item"),
        "lost",
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES_OF_THE_LIBRARY)
def test_cells_go_red_when_the_library_breaks_a_promise(in_world: Callable[..., Any], breakage: str) -> None:
    old, new, (path, fault, label), outcome = BREAKAGES_OF_THE_LIBRARY[breakage]
    found = in_world(cells_of_another_library, old, new, path, fault, label)
    assert outcome in {each.outcome for each in found}, found


# What is replaced by what; then the path, the fault, the place, and what the cell must come to.
BREAKAGES_OF_ANNOUNCEMENTS = {
    "an end that is said again is announced again": (
        '"OldImage": {"status": {"S": ["IN_PROGRESS", "QUARANTINED"]}},',
        "",
        ("new, small", "answer lost", "Finalize update_item"),
        "broken",
    ),
    "a failure is not announced": (
        '{"status": {"S": ["FAILED"]}',
        '{"status": {"S": ["FAILURE"]}',
        ("permanent error", "answer lost", "RecordFailure update_item"),
        "lost",
    ),
    "what an operator releases is announced": (
        '{"anything-but": ["ReleasedByOperator"]}',
        '{"exists": true}',
        ("fast: released, waited for", "operator releases", ""),
        "broken",
    ),
    "two ends of one id have one key": (
        "#{acquired_at}#{fence}#{status}",
        "",
        ("failed, tried again", "answer lost", "Finalize update_item"),
        "broken",
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES_OF_ANNOUNCEMENTS)
def test_cells_go_red_when_an_end_is_announced_wrongly(
    in_world: Callable[..., Any], broken: Callable[[str, str], Path], breakage: str
) -> None:
    old, new, (path, fault, label), outcome = BREAKAGES_OF_ANNOUNCEMENTS[breakage]
    found = in_world(cells_of_other_announcements, broken(old, new), path, fault, label)
    assert outcome in {each.outcome for each in found}, found
