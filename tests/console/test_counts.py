"""How often business logic was started: whatever went wrong, and whatever a person decided then."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from scenario import A_LEASE, LANES, charge, id_of

from oncekit.cli.here.chosen_faults import FAULTS, fault_of
from oncekit.cli.here.console import LocalActions
from oncekit.console.here import run_here
from oncekit.console.parts import part_of
from oncekit.console.story import story
from oncekit.contract.lanes import MACHINES, Lane
from oncekit.local import LocalCloud

ID = id_of(charge())
_COUNTS = r"once|[Aa]ttempts? (?:\d+ to )?(\d+)|(\d+) times|was not started|before it started"


def counted(text: str) -> int | None:
    """How many starts a text claims, at most; None where it says that there may have been others, or claims none."""
    if "may have" in text:
        return None
    claims = re.finditer(_COUNTS, text)
    return max((int(each[1] or each[2] or each[0] == "once") for each in claims), default=None)


def nothing(_do: LocalActions, _again: Callable[[], object]) -> None: ...


def retried(do: LocalActions, _again: Callable[[], object]) -> None:
    do.retry(ID)


def released(do: LocalActions, again: Callable[[], object]) -> None:
    do.release(ID)
    again()


def resolved(do: LocalActions, again: Callable[[], object]) -> None:
    do.resolve(ID, '{"chargeId": "ch_1"}', None)
    again()


ACTS = (nothing, retried, released, resolved)
NEVER_QUARANTINED = ("lost-lock", "lost-finalize", "throttled")
TABLE = [
    *((fault, "retry", nothing) for fault in FAULTS),
    *((fault, "quarantine", act) for fault in FAULTS for act in ACTS[: 1 if fault in NEVER_QUARANTINED else None]),
]


@LANES
@pytest.mark.parametrize(("fault", "on_crash", "act"), TABLE)
def test_what_is_told_counts_as_many_starts_as_there_were_or_says_may(
    cloud: LocalCloud, fault: str, on_crash: str, act: Callable[..., None], lane: Lane
) -> None:
    request = charge(onCrash=on_crash)
    with cloud.intercept(fault_of(cloud, fault, "struck")):
        cloud.start(json.dumps(request), "struck", lane)
        cloud.settle()
    cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]
    cloud.wait(cloud.start_machine(cloud.outputs["RecoveryStateMachineArn"], "{}", "sweep"))
    cloud.settle()
    is_left = fault == "lost-lock" and lane == "fast"  # under it another run of this execution may be at work
    is_for_a_person = on_crash == "quarantine" and (is_left or fault not in NEVER_QUARANTINED)
    assert (cloud.record(ID) or {})["status"] == ("QUARANTINED" if is_for_a_person else "COMPLETED")
    act(LocalActions(cloud, Path()), lambda: cloud.run(request, lane=lane))
    cloud.settle()
    known = [each for machine in MACHINES.values() for each in cloud.executions.of(cloud.outputs[machine])]
    runs = sorted((run_here(cloud.describe(each.arn)) for each in known), key=lambda run: run.started_at)
    record = cloud.record(ID) or {}
    now = datetime.datetime.fromtimestamp(cloud.clock.now(), datetime.UTC)
    of_owner = [run for run in runs if record["owner"].startswith(run.arn)]
    tellings = {
        "the page": [part_of(run) for run in runs],
        "once show": [part_of(run) for run in of_owner],
        "once show, without a history": [],
        **{f"once show of {run.name}": [part_of(run)] for run in runs},
    }
    began = len(cloud.invocations("charge-payment"))
    for where, parts in tellings.items():
        text = story(parts, record, now).told
        assert counted(text) in (None, began), f"{where}: {began} starts: {text}"
