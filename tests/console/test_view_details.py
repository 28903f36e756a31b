"""Small things that pages and exports say, or must not say, each by itself."""

from __future__ import annotations

import dataclasses
import datetime

import pytest
from scenario import charge
from visitor import Visitor, run_at

from oncekit.console.here import run_here
from oncekit.console.json_text import set_out
from oncekit.console.listing import Filter, listing
from oncekit.console.local_log import log_of
from oncekit.console.picture import picture, taken
from oncekit.console.record_view import record_view
from oncekit.console.requests import id_of
from oncekit.console.rows import Row
from oncekit.console.run import run_of
from oncekit.console.run_view import kind_and_outcome
from oncekit.console.server.frame import Frame
from oncekit.local import LocalCloud
from oncekit.local.faults import before, fails

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
LATER = int(NOON.timestamp()) + 60
ROW = Row("arn:1", "1", "", "", "", "", "full", "failed", "InvalidRequest", NOON, NOON)


@pytest.mark.parametrize("text", ["<b>no JSON</b>", '{"a": <b>}', '"<b>"', f'"<b>{"x" * 300_000}"'])
def test_what_is_shown_as_data_is_text_whether_it_is_json_or_not(text: str) -> None:
    assert "<b>" not in set_out(text) and "&lt;b&gt;" in set_out(text)


def test_rows_that_name_no_id_are_no_group() -> None:
    rows = [dataclasses.replace(ROW, arn=f"arn:{n}", name=str(n), id=id) for n, id in enumerate(("", "a#b#c", "", ""))]
    found = listing(rows, Filter(grouped=True))
    assert [(each.row.name, each.follows) for each in found.rows] == [(str(n), False) for n in range(4)]


def test_a_filter_by_class_counts_the_other_classes_all_the_same() -> None:
    rows = [ROW, dataclasses.replace(ROW, arn="arn:2", kind="running")]
    found = listing(rows, Filter(kind="failed"))
    assert (found.counts["failed"], found.counts["running"], found.matching) == (1, 1, 1)


def test_lines_are_of_no_other_execution_under_the_same_fence(cloud: LocalCloud) -> None:
    cloud.run(charge())
    log = log_of(cloud, run_here(cloud.run(charge("order-2"))))
    assert set(log) == {(3, 0)} and "#order-2" in "".join(log[3, 0]) and "#order-1" not in "".join(log[3, 0])


@pytest.mark.parametrize(
    ("status", "lease", "can_be_retried"),
    [("IN_PROGRESS", "1 min more", False), ("QUARANTINED", "", True), ("COMPLETED", "", False)],
)
def test_a_lease_counts_and_a_retry_is_offered_by_status(status: str, lease: str, can_be_retried: bool) -> None:
    view = record_view("a#b#c", {"status": status, "leaseExpiresAt": LATER}, (), NOON)
    assert (view.lease, view.can_be_retried) == (lease, can_be_retried)


def test_writes_of_several_executions_stand_in_the_order_of_time(cloud: LocalCloud) -> None:
    first, second = run_here(cloud.run(charge())), run_here(cloud.run(charge()))
    later = [dataclasses.replace(each, began_at=NOON.replace(year=2100)) for each in second.visits[1].attempts]
    visits = [dataclasses.replace(each, attempts=later) if each.number == 2 else each for each in second.visits]
    view = record_view("a#b#c", {}, [dataclasses.replace(second, visits=visits), first], NOON)
    assert [each.owner for each in view.writes] == [first.name, first.name, second.name]


def test_only_an_array_of_one_is_a_request() -> None:
    assert id_of([charge()]) is not None and id_of([charge(), charge("order-2")]) is None and id_of([]) is None


def test_a_failure_that_ends_the_execution_is_told_once(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("AccessDeniedException", state="Finalize", nth=0)):
        run = run_here(cloud.run(charge()))
    assert len(run.visits[-1].failures) == 1


def test_a_call_that_succeeded_stays_so_when_its_answer_cannot_be_evaluated() -> None:
    at = {"timestamp": NOON.isoformat()}
    task = {"resourceType": "lambda", "resource": "invoke"}
    events = [
        {"id": 1, "type": "TaskStateEntered", "stateEnteredEventDetails": {"name": "Work"}},
        {"id": 2, "previousEventId": 1, "type": "TaskScheduled", "taskScheduledEventDetails": task},
        {"id": 3, "previousEventId": 2, "type": "TaskSucceeded", "taskSucceededEventDetails": task},
        {"id": 4, "previousEventId": 3, "type": "EvaluationFailed", "evaluationFailedEventDetails": {"error": "E"}},
    ]
    arn = "arn:aws:states:r:1:execution:m:n"
    run = run_of({"executionArn": arn, "status": "FAILED"}, [each | at for each in events])
    assert [each.failure for each in run.visits[0].attempts] == [None] and run.visits[0].outcome == "failed"


def test_an_answer_in_progress_executed_nothing() -> None:
    kinds = [
        kind_and_outcome("SUCCEEDED", f'{{"disposition": "{each}"}}', None)[0] for each in ("IN_PROGRESS", "EXECUTED")
    ]
    assert kinds == ["replayed", "succeeded"]


def test_an_execution_that_has_ended_lasts_no_longer() -> None:
    class Later:
        def now(self) -> datetime.datetime:
            return NOON + datetime.timedelta(hours=1)

    frame = Frame(Later(), None, "")  # type: ignore[arg-type]  # only the time is asked for
    assert frame.lasted(ROW) == "0 ms" and frame.lasted(dataclasses.replace(ROW, ended_at=None)) == "1 h"


def test_an_owner_in_the_fast_lane_is_not_killed_on_its_page(visitor: Visitor, cloud: LocalCloud) -> None:
    pages: list[str] = []

    def look() -> None:
        [running] = cloud.executions.running()
        pages.append(visitor.get(run_at(running.exec_arn)).text)

    with cloud.intercept(before(look, state="ExecuteBusinessLogic")):
        ended = cloud.run(charge(), lane="fast")
    assert "Kill this owner" not in pages[0] and "in the fast lane cannot be stopped" in pages[0]
    answer = visitor.post(f"/stop/{ended.arn}", {})
    assert answer.status_code == 409 and "cannot be stopped" in answer.text
    assert f"once show {ended.arn}" not in answer.text, "nobody can look it up"


def test_retries_of_all_visits_of_a_state_are_counted_on_it(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("ThrottlingException", state="AcquireLock", nth=1)):
        run = run_here(cloud.run(charge()))
    once_more = dataclasses.replace(run.visits[1], number=99, attempts=run.visits[1].attempts[:1])
    assert taken(dataclasses.replace(run, visits=[*run.visits, once_more])).marks["AcquireLock"].sign == "✓ ↻1"


def test_what_a_definition_says_is_text_in_its_picture() -> None:
    evil = "\"'><script>alert(1)</script>&"
    text = picture({"StartAt": evil, "States": {evil: {"Type": "Succeed", "Comment": evil}}}, None, evil)
    assert "<script>" not in text and text.count("&lt;script&gt;") >= 3
