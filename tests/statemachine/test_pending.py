"""An operation whose work goes on elsewhere: nobody waits for it, and its ticket ends it, whenever it comes."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from scenario import LANES, cause, dead, ends_in, record_of, released, result, run

from oncekit.contract.lanes import Lane
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.interceptors import answer_lost
from oncekit.local.once_cloud import PREFIX

FUNCTION = Path(__file__).parents[1] / "functions" / "goes_on"
HOUR, DAY = 3600, 86_400
WORKS = {"pending": HOUR}


class Elsewhere:
    """Work that business logic has started: the tickets that it was given, and the calls that it makes."""

    def __init__(self, cloud: LocalCloud, folder: Path) -> None:
        self.cloud, self.folder = cloud, folder

    @property
    def tickets(self) -> list[str]:
        """Of each attempt."""
        log = self.folder / "tickets"
        return log.read_text().splitlines() if log.exists() else []

    def wait_for_attempts(self, count: int) -> None:
        end = time.monotonic() + 20
        while len(self.tickets) < count:
            assert time.monotonic() < end, f"{len(self.tickets)} attempts after 20 s, {count} expected"
            time.sleep(0.005)

    def open(self, latch: str) -> None:
        (self.folder / latch).touch()

    def call(self, name: str, *arguments: Any, ticket: str = "", **named: Any) -> dict[str, Any]:
        """A function that calls the library, with the last ticket unless another is given."""
        event = {"call": name, "arguments": [ticket or self.tickets[-1], *arguments], "named": named}
        told = self.cloud.client("lambda").invoke(FunctionName=f"{PREFIX}goes-on", Payload=json.dumps(event))
        answer: dict[str, Any] = json.loads(told["Payload"].read())
        return answer

    def complete(self, result: Any = "done", ticket: str = "") -> tuple[str, bool]:
        told = self.call("complete", result, ticket=ticket)
        return told["status"], told["changed"]


@pytest.fixture
def elsewhere(cloud: LocalCloud, latches_folder: Path) -> Elsewhere:
    environment = {"LATCHES": str(latches_folder), "STOCK": cloud.outputs["StockTableName"]}
    cloud.add_function("goes-on", FUNCTION, timeout=30, environment=environment)
    return Elsewhere(cloud, latches_folder)


def asked(*script: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"operation": "goes-on", "idempotencyKey": "order-1", "payload": {"script": list(script)}, **more}


def later(cloud: LocalCloud, seconds: float) -> None:
    cloud.clock.advance(seconds)  # type: ignore[attr-defined]  # the clock of tests is virtual


def begun(cloud: LocalCloud, lane: Lane, *script: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request that is pending, and whose sender was told so."""
    request = asked(*script or (WORKS,), **more)
    assert run(cloud, request, lane).output["disposition"] == "IN_PROGRESS"
    assert "pendingSince" in record_of(cloud, request)
    return request


Recover = Callable[[], Execution]


@LANES
def test_a_duplicate_is_told_that_it_goes_on_and_then_gets_the_result(
    cloud: LocalCloud, elsewhere: Elsewhere, lane: Lane
) -> None:
    request = begun(cloud, lane)
    lease = record_of(cloud, request)["leaseExpiresAt"]
    assert lease == int(cloud.clock.now()) + HOUR
    assert run(cloud, request, lane).output["disposition"] == "IN_PROGRESS"
    assert run(cloud, request | {"onConflict": "reject"}, lane).error == "OperationInProgress"
    assert elsewhere.complete({"share": 0.30000000000000004}) == ("COMPLETED", True)
    again = run(cloud, request, lane)
    assert (again.output["disposition"], again.output["result"]) == ("REPLAYED", '{"share":0.30000000000000004}')
    assert len(elsewhere.tickets) == 1


@LANES
def test_who_waits_gets_the_result_of_the_ticket(cloud: LocalCloud, elsewhere: Elsewhere, lane: Lane) -> None:
    request = begun(cloud, lane)
    with cloud.clock.held():
        waiting = cloud.start(request | {"onConflict": "wait"}, lane=lane)
        elsewhere.complete("done")
    assert result(cloud, cloud.wait(waiting)) == "done"


@LANES
@pytest.mark.parametrize("script", [WORKS, {"return": "done here"}], ids=["pending", "with a result"])
def test_work_that_ends_before_its_function_has_won(
    cloud: LocalCloud, elsewhere: Elsewhere, lane: Lane, script: dict[str, Any]
) -> None:
    request = asked({"await": "go"} | script)
    arn = cloud.start(request, lane=lane)
    elsewhere.wait_for_attempts(1)
    assert elsewhere.complete("done elsewhere") == ("COMPLETED", True)
    elsewhere.open("go")
    ended = cloud.wait(arn)
    assert (result(cloud, ended), ended.output["disposition"]) == ("done elsewhere", "REPLAYED")
    assert "pendingSince" not in record_of(cloud, request)


@LANES
def test_an_answer_to_a_pending_that_is_lost_changes_nothing(
    cloud: LocalCloud, elsewhere: Elsewhere, lane: Lane
) -> None:
    with cloud.intercept(answer_lost(state="KeepOpen")):
        request = begun(cloud, lane)
    assert elsewhere.complete() == ("COMPLETED", True)
    assert result(cloud, run(cloud, request, lane)) == "done"
    assert len(elsewhere.tickets) == 1


@LANES
def test_a_failure_is_told_to_every_duplicate(cloud: LocalCloud, elsewhere: Elsewhere, lane: Lane) -> None:
    request = begun(cloud, lane)
    assert elsewhere.call("fail", "card declined")["status"] == "FAILED"
    again = run(cloud, request, lane)
    assert (again.error, cause(again)["name"], cause(again)["message"]) == (
        "OperationFailed",
        "PermanentError",
        "card declined",
    )


@pytest.mark.parametrize("end", ["complete", "fail"])
def test_a_ticket_leaves_a_record_as_the_state_machine_does(cloud: LocalCloud, elsewhere: Elsewhere, end: str) -> None:
    here = asked({"step": "mug"} | ({"return": 1} if end == "complete" else {"pending": 0}), idempotencyKey="here")
    cloud.run(here)
    there = begun(cloud, "full", {"step": "mug"} | WORKS)
    elsewhere.call(end, "x")
    if end == "complete":
        assert set(record_of(cloud, there)) == set(record_of(cloud, here))
    else:
        shape = {"id", "status", "owner", "fence", "attempts", "fingerprint", "onCrash", "acquiredAt"}
        assert set(record_of(cloud, there)) == shape | {"error", "steps", "finishedAt", "expiresAt"}
    assert record_of(cloud, there)["expiresAt"] == int(cloud.clock.now()) + 30 * DAY


@LANES
def test_a_large_result_is_fetched_from_the_bucket(cloud: LocalCloud, elsewhere: Elsewhere, lane: Lane) -> None:
    request = begun(cloud, lane)
    elsewhere.complete("x" * 5000)
    assert result(cloud, run(cloud, request, lane)) == "x" * 5000


# ---- its time is up ----


@LANES
def test_nobody_starts_it_before_its_time_is_up(
    cloud: LocalCloud, elsewhere: Elsewhere, recover: Recover, lane: Lane
) -> None:
    request = begun(cloud, lane)
    later(cloud, HOUR - 1)
    recover()
    assert (len(elsewhere.tickets), "pendingSince" in record_of(cloud, request)) == (1, True)


@LANES
def test_another_attempt_has_the_same_ticket(
    cloud: LocalCloud, elsewhere: Elsewhere, recover: Recover, lane: Lane
) -> None:
    request = begun(cloud, lane)
    later(cloud, HOUR + 61)
    recover()
    first, second = elsewhere.tickets
    assert first == second
    assert record_of(cloud, request)["attempts"] == 2
    assert elsewhere.complete() == ("COMPLETED", True)
    assert result(cloud, run(cloud, request, lane)) == "done"


@LANES
@pytest.mark.parametrize("then", [{"return": "here"}, {"step": "mug", "return": "here"}, WORKS, {"exit": 1}], ids=str)
def test_an_attempt_that_is_under_way_returns_what_the_ticket_said(
    cloud: LocalCloud, elsewhere: Elsewhere, recover: Recover, lane: Lane, then: dict[str, Any]
) -> None:
    """It finds out at its end, or at its first step, which is not made."""
    request = begun(cloud, lane, WORKS, {"await": "go"} | then)
    later(cloud, HOUR + 61)
    arn = cloud.start(request)  # a duplicate of the full lane takes over as a recovery does
    elsewhere.wait_for_attempts(2)
    assert elsewhere.complete() == ("COMPLETED", True)
    elsewhere.open("go")
    assert result(cloud, cloud.wait(arn)) == "done"
    assert cloud.client("dynamodb").scan(TableName=cloud.outputs["StockTableName"])["Items"] == []
    recover()
    assert len(elsewhere.tickets) == 2


@LANES
def test_what_is_quarantined_when_its_time_is_up_is_ended_by_its_ticket(
    cloud: LocalCloud, elsewhere: Elsewhere, recover: Recover, lane: Lane
) -> None:
    request = begun(cloud, lane, onCrash="quarantine")
    later(cloud, HOUR + 61)
    recover()
    record = record_of(cloud, request)
    assert (record["status"], record["error"]["name"]) == ("QUARANTINED", "PendingTimedOut")
    assert elsewhere.call("extend", HOUR)["status"] == "QUARANTINED"
    assert run(cloud, request, lane).error == "NeedsAttention"
    assert elsewhere.complete() == ("COMPLETED", True)
    assert result(cloud, run(cloud, request, lane)) == "done"
    assert len(elsewhere.tickets) == 1


@LANES
def test_a_ticket_that_is_late_but_before_any_sweep_ends_it(
    cloud: LocalCloud, elsewhere: Elsewhere, recover: Recover, lane: Lane
) -> None:
    request = begun(cloud, lane)
    later(cloud, HOUR + 61)
    assert elsewhere.complete() == ("COMPLETED", True)
    recover()
    assert result(cloud, run(cloud, request, lane)) == "done"
    assert len(elsewhere.tickets) == 1


@LANES
def test_a_heartbeat_keeps_it_open(cloud: LocalCloud, elsewhere: Elsewhere, recover: Recover, lane: Lane) -> None:
    request = begun(cloud, lane)
    for _ in range(3):
        later(cloud, HOUR - 60)
        assert elsewhere.call("extend", HOUR)["changed"]
        recover()
    assert len(elsewhere.tickets) == 1
    assert record_of(cloud, request)["leaseExpiresAt"] == int(cloud.clock.now()) + HOUR
    later(cloud, HOUR + 61)
    recover()
    assert len(elsewhere.tickets) == 2


@LANES
def test_a_time_that_is_none_is_quarantined_and_work_that_began_ends_it(
    cloud: LocalCloud, elsewhere: Elsewhere, lane: Lane
) -> None:
    request = asked({"pending": 0})
    ended = run(cloud, request, lane)
    assert ended.error == "NeedsAttention"
    assert "a whole number of seconds, 1 to 7776000 (90 days), not 0" in cause(ended)["message"]
    assert elsewhere.complete() == ("COMPLETED", True)
    assert result(cloud, run(cloud, request, lane)) == "done"


def test_time_that_is_moved_far_leaves_out_sweeps_that_would_find_nothing_but_what_is_pending(
    cloud: LocalCloud, elsewhere: Elsewhere
) -> None:
    request = asked({"pending": 40 * DAY})
    sweeps = functools.partial(cloud.executions.of, cloud.outputs["RecoveryStateMachineArn"])
    with cloud.delivering():
        cloud.run(request)
        began = record_of(cloud, request)["pendingSince"]
        later(cloud, 39 * DAY)
        assert len(sweeps()) < 3
        later(cloud, 2 * DAY)
    assert len(elsewhere.tickets) == 2
    waited = datetime.fromisoformat(record_of(cloud, request)["pendingSince"]) - datetime.fromisoformat(began)
    assert timedelta(days=40) <= waited < timedelta(days=40, minutes=3)


# ---- the ticket of another try ----


@LANES
def test_a_failure_that_is_tried_again_has_another_ticket(cloud: LocalCloud, elsewhere: Elsewhere, lane: Lane) -> None:
    request = begun(cloud, lane)
    elsewhere.call("fail", "no")
    later(cloud, 2)
    run(cloud, request | {"onFailed": "retry"}, lane)
    first, second = elsewhere.tickets
    assert first != second
    for name, argument in (("complete", "late"), ("fail", "late"), ("extend", 2 * HOUR)):
        assert elsewhere.call(name, argument, ticket=first)["error"] == "TicketError"
    assert elsewhere.complete("second") == ("COMPLETED", True)
    assert result(cloud, run(cloud, request, lane)) == "second"


@LANES
def test_what_an_operator_released_is_not_ended_by_its_ticket(
    cloud: LocalCloud, elsewhere: Elsewhere, lane: Lane
) -> None:
    request = begun(cloud, lane)
    released(cloud, request)
    assert elsewhere.call("complete", "late")["error"] == "TicketError"
    begun(cloud, lane)
    first, second = elsewhere.tickets
    assert elsewhere.call("complete", "late", ticket=first)["error"] == "TicketError"
    assert elsewhere.complete(ticket=second) == ("COMPLETED", True)


# ---- owners that die ----


def test_work_that_has_begun_ends_what_its_owner_left(
    cloud: LocalCloud, elsewhere: Elsewhere, recover: Recover
) -> None:
    request = asked(WORKS)
    dead(cloud, request, "KeepOpen")
    assert elsewhere.complete() == ("COMPLETED", True)
    later(cloud, HOUR)
    recover()
    assert (len(elsewhere.tickets), record_of(cloud, request)["status"]) == (1, "COMPLETED")


def test_work_whose_owner_died_is_begun_again_under_the_same_name(
    cloud: LocalCloud, elsewhere: Elsewhere, recover: Recover
) -> None:
    request = asked(WORKS)
    ends_in(cloud, request, "KeepOpen")
    later(cloud, HOUR)
    recover()
    first, second = elsewhere.tickets
    assert first == second
    assert "pendingSince" in record_of(cloud, request)
    assert elsewhere.complete() == ("COMPLETED", True)
