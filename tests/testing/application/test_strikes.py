"""Each strike of a matrix, and each fault by name, arrives: seen by a function that says how far it came, and by what
the dead have left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from oncekit.contract.lanes import Lane
from oncekit.local import LocalCloud
from oncekit.local.engine.service_calls import Call
from oncekit.testing import answer_lost, function_crashes, owner_dies, runs_twice
from oncekit.testing.kit_cloud import Fault, TestCloud
from oncekit.testing.plugin import RunMatrix
from oncekit.testing.report import Report
from oncekit.testing.strikes import Strike

UPDATE, CHARGE = "dynamodb.update_item", "POST https://api.provider.example/charges"
OF_A_CALL = (
    "the function dies after {}",
    "the answer of {} is lost",
    "another owner has finished before {}",
    "the service is unavailable at {}",
)
STATES = ("ReceiveRequest", "AcquireLock", "ExecuteBusinessLogic", "JudgeAnswer", "Finalize")
"""Of a request that goes well."""


@dataclass(frozen=True)
class Seen:
    """What a strike has come to."""

    told: list[str]
    """By the function: the number of the attempt, and what it does."""
    updates: int
    charges: int
    crashes: int
    """Of processes of the function."""
    deaths: list[tuple[str, str]]
    """Of executions: the last event before, and its state."""


def deaths(cloud: LocalCloud) -> Iterator[tuple[str, str]]:
    executions = cloud.executions
    for each in [each for machine in executions.machines for each in executions.of(machine.arn)]:
        for last, event in pairwise(executions.describe(each.arn).events):
            if event["type"] == "ExecutionAborted":
                told = last.get("stateEnteredEventDetails") or last.get("stateExitedEventDetails") or {}
                yield re.sub("^(Task|Choice)", "", last["type"]), told.get("name", "")


def seen_in(cloud: TestCloud, told: Path) -> Seen:
    return Seen(
        told.read_text().splitlines(),
        sum(int(each["updates"]) for each in cloud.rows("Notes")),
        len(cloud.outside.sent),
        [each.outcome for each in cloud.invocations()].count("Runtime.ExitError"),
        list(deaths(cloud)),
    )


def asked(told: Path) -> dict[str, Any]:
    return {"operation": "counting", "idempotencyKey": "k", "payload": {"told": str(told)}}


def named(strike: str) -> str:
    """Without the line of code."""
    return re.sub(r"tests/.*?: ", "", strike)


@pytest.fixture(scope="module")
def found() -> dict[str, Seen]:
    """By strike."""
    return {}


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return []


@pytest.fixture
def seen(
    application: TestCloud,
    once_matrix: RunMatrix,
    found: dict[str, Seen],
    reports: list[Report],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Seen]:
    if found:
        return found
    told, injected = tmp_path / "told", Strike.injected

    @contextmanager
    def watched(strike: Strike, cloud: TestCloud) -> Iterator[None]:
        told.write_text("")
        with injected(strike, cloud):
            yield
        found[named(strike.what)] = seen_in(cloud, told)

    monkeypatch.setattr(Strike, "injected", watched)
    reports.append(once_matrix(asked(told), seconds=600, check=False))
    assert [named(each) for each in reports[0].strikes] == list(found)
    return found


def test_each_write_and_each_state_is_struck_in_each_way_and_a_read_is_not(seen: dict[str, Seen]) -> None:
    of_function = {
        "the function dies at its beginning",
        *(each.format(at) for each in OF_A_CALL for at in (UPDATE, CHARGE)),
    }
    of_owner = {f"the execution dies {when} {state}" for when in ("before", "after") for state in STATES}
    assert set(seen) == {*of_function, *of_owner}


WHOLE = ("begins", "makes the update", "has made the update", "makes the charge", "has made the charge", "ends")


def attempt(number: int, until: str = "ends", since: str = "begins") -> list[str]:
    return [f"{number} {each}" for each in WHOLE[WHOLE.index(since) : WHOLE.index(until) + 1]]


def interrupted(until: str, *then: str) -> list[str]:
    return [*attempt(1, until), *then, *attempt(2)]


@pytest.mark.parametrize(
    ("strike", "told", "updates", "charges", "crashes"),
    [
        ("the function dies at its beginning", attempt(2), 1, 1, 1),
        (f"the function dies after {UPDATE}", interrupted("makes the update"), 2, 1, 1),
        (f"the function dies after {CHARGE}", interrupted("makes the charge"), 2, 2, 1),
        (f"the answer of {UPDATE} is lost", attempt(1), 2, 1, 0),  # botocore sends it again
        (f"the answer of {CHARGE} is lost", interrupted("makes the charge", "1 got no answer to the charge"), 2, 2, 0),
        (
            f"another owner has finished before {UPDATE}",
            interrupted("makes the update") + attempt(1, since="has made the update"),
            2,
            2,
            0,
        ),
        (
            f"another owner has finished before {CHARGE}",
            interrupted("makes the charge") + attempt(1, since="has made the charge"),
            2,
            2,
            0,
        ),
        (
            f"the service is unavailable at {UPDATE}",
            interrupted("makes the update", "1 got no answer to the update"),
            1,
            1,
            0,
        ),
        (
            f"the service is unavailable at {CHARGE}",
            interrupted("makes the charge", "1 got no answer to the charge"),
            2,
            1,
            0,
        ),
    ],
)
def test_a_strike_at_a_function_arrives(
    seen: dict[str, Seen], strike: str, told: list[str], updates: int, charges: int, crashes: int
) -> None:
    found = seen[strike]
    assert (found.told, found.updates, found.charges, found.crashes) == (told, updates, charges, crashes)
    assert len(found.deaths) == strike.startswith("another owner")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("when", "last"), [("before", "StateEntered"), ("after", "StateExited")])
def test_a_strike_at_an_execution_arrives(seen: dict[str, Seen], state: str, when: str, last: str) -> None:
    found = seen[f"the execution dies {when} {state}"]
    assert found.deaths == [(last, state)]
    held = ("after", "AcquireLock"), ("before", "ExecuteBusinessLogic")
    if (when, state) in held:
        told = attempt(2)
    elif state in ("ReceiveRequest", "AcquireLock"):  # who stops it before it has a lock has to send it again
        told = []
    else:  # nobody knows how far the owner got, unless it has stored its answer
        told = attempt(1) + ([] if (when, state) == ("after", "Finalize") else attempt(2))
    assert found.told == told


@pytest.mark.parametrize(
    ("place", "times"), [("Notes", lambda seen: seen.updates), (CHARGE, lambda seen: seen.charges)], ids=["AWS", "HTTP"]
)
def test_a_finding_names_each_strike_after_which_the_effect_came_twice(
    seen: dict[str, Seen], reports: list[Report], place: str, times: Callable[[Seen], int]
) -> None:
    [finding] = [each for each in reports[0].findings if each.place == place]
    assert finding.kind == "twice" and len(reports[0].findings) == 2
    assert {named(each) for each in finding.strikes} == {strike for strike, found in seen.items() if times(found) > 1}


AT_THE_CHARGE = ("makes the charge", "1 got no answer to the charge")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (function_crashes(), Seen(attempt(2), 1, 1, 1, [])),
        (function_crashes(before=f"call:{UPDATE}"), Seen(interrupted("makes the update"), 1, 1, 1, [])),
        (function_crashes(after=f"call:{UPDATE}"), Seen(interrupted("makes the update"), 2, 1, 1, [])),
        (function_crashes(after="end"), Seen(interrupted("ends"), 2, 2, 1, [])),
        (answer_lost(of=f"call:{CHARGE}"), Seen(interrupted(*AT_THE_CHARGE), 2, 2, 0, [])),
        (owner_dies(before="Finalize"), Seen(attempt(1) + attempt(2), 2, 2, 0, [("StateEntered", "Finalize")])),
        (owner_dies(after="AcquireLock"), Seen(attempt(2), 1, 1, 0, [("StateExited", "AcquireLock")])),
    ],
    ids=["crash", "crash-before", "crash-after", "crash-at-end", "answer", "owner-before", "owner-after"],
)
def test_a_fault_by_name_arrives(application: TestCloud, tmp_path: Path, fault: Fault, expected: Seen) -> None:
    with application.fault(fault):
        application.finish(asked(tmp_path / "told"))
    assert seen_in(application, tmp_path / "told") == expected


@pytest.mark.parametrize(
    ("fault", "lane"),
    [(answer_lost(of="AcquireLock"), "full"), (runs_twice(), "fast")],
    ids=["answer-of-a-state", "runs-twice"],
)
def test_the_first_call_of_an_execution_is_made_again(
    application: TestCloud, tmp_path: Path, fault: Fault, lane: Lane
) -> None:
    calls: list[str] = []

    def count(call: Call, proceed: Callable[[], Any]) -> Any:
        calls.append(call.state)
        return proceed()

    with application.fault(fault), application.intercept(count):
        application.run(asked(tmp_path / "told"), lane=lane)
        application.settle()
    assert calls.count(calls[0]) > 1
