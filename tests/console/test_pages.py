"""What the pages of the console say, and do."""

from __future__ import annotations

import datetime
import gc
import getpass
import html
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
from moto.dynamodb.models.dynamo_type import Item
from once.step import CLOSINGS
from scenario import charge, dies, id_of
from visitor import Visitor, listed, moments_of, record_at, rows_of, run_at

from oncekit.cli.here.console import LocalActions
from oncekit.console.listing import CHUNK
from oncekit.console.local_source import LocalSource
from oncekit.console.server.app import ADDRESSES
from oncekit.console.server.records import MOST_RUNS
from oncekit.contract.lanes import Lane
from oncekit.local import LocalCloud
from oncekit.local.engine.dynamodb import DYNAMODB_LOCK
from oncekit.local.engine.interceptors import before, fails, times_out

ID = "acme#charge-payment#order-1"
ASKED = "acme#ask-somebody#order-1"
ASKED_2 = "acme#ask-somebody#order-2"
ELSEWHERE = "acme#work-elsewhere#order-1"
LEASE_AND_SWEEP_S = 160
MANY = 100
"""Executions that wait for the table."""
A_CALL_S = 0.01
"""Real time that each has the table, unless the page has been answered."""
LONG_S = 30
"""How long a page is waited for that should be there at once: a busy machine is no verdict."""
BAD = charge("bad") | {"onCrash": "never"}


def asking(key: str = "order-1") -> dict[str, object]:
    """A request whose function asks for an operator."""
    return charge(key) | {"operation": "ask-somebody"}


# ---- requests ----


def test_there_is_one_row_for_each_operation_with_what_happened(cloud: LocalCloud, visitor: Visitor) -> None:
    assert "once send events/charge-payment.json" in visitor.get("/").text
    for request in (charge(), charge(), asking("order-2"), charge(amount=1), charge("order-4", onConflict="x")):
        cloud.run(request)
    cloud.run(charge("fast"), lane="fast")
    cloud.run("{}")
    page = visitor.get("/").text
    assert listed(page)[1:] == [
        ("COMPLETED", "fast"),
        ("REFUSED", "order-4"),
        ("COMPLETED", "order-1"),
        ("QUARANTINED", "order-2"),
    ]
    assert "REFUSED" in rows_of(page)[0] and "has no id" in rows_of(page)[0]
    assert "1 duplicate got the stored answer. 1 request with another payload was refused." in rows_of(page)[3]
    assert "×1<" in rows_of(page)[3] and 'Completed <b data-count="COMPLETED">2</b>' in page
    assert "Nothing matches this filter" in visitor.get("/?text=nothing-like-it").text


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ("status=QUARANTINED", ["order-2"]),
        ("text=ask-somebody", ["order-2"]),
        ("text=acme&status=COMPLETED", ["order-1"]),
        ("text=ORDER-1", ["order-1"]),
        ("text=4200", ["order-2", "order-1"]),
        ("status=FAILED", []),
        ("text=order 12345 eur", ["order-2", "order-1"]),
        ("text=order eur ask", ["order-2"]),
        ("text=NeedsAttention", ["order-2"]),
        ("text=order 99999", []),
        ("text=123456789012", []),  # the account, in the ARN of each execution
        ("operation=ask-somebody", ["order-2"]),
        ("operation=ask-somebody&status=COMPLETED", []),
    ],
)
def test_requests_are_filtered(cloud: LocalCloud, visitor: Visitor, asked: str, keys: list[str]) -> None:
    for request in (charge(), charge(), asking("order-2")):
        cloud.run(request)
    assert [key for _, key in listed(visitor.get(f"/?{asked}").text)] == keys


@pytest.mark.parametrize("is_known", [True, False])
def test_an_answer_is_found_by_the_id_in_it(
    cloud: LocalCloud, actions: LocalActions, visitor: Visitor, is_known: bool
) -> None:
    done = json.loads(cloud.run(charge()).output["result"])["chargeId"]
    cloud.run(charge("order-2"))
    if not is_known:
        cloud.executions.forget()
    source = LocalSource(cloud)
    with source.watching():
        assert listed(Visitor(source, actions).get(f"/?text={done}").text) == [("COMPLETED", "order-1")]


@pytest.mark.parametrize("lane", ["full", "fast"])
def test_what_was_only_written_to_an_own_table_is_found_by_its_id(
    cloud: LocalCloud, visitor: Visitor, lane: Lane
) -> None:
    """It was charged, and the answer was lost: only its page and the ledger know the charge."""
    with cloud.intercept(times_out(applied=True, state="ExecuteBusinessLogic")):
        cloud.run(charge(onCrash="quarantine"), lane=lane)
    cloud.run(charge("order-2"))
    charged = re.findall(r"\bch_\w+", html.unescape(visitor.get(record_at(ID)).text))[0]
    assert listed(visitor.get(f"/?text={charged}").text) == [("QUARANTINED", "order-1")]


@pytest.mark.parametrize(
    "asked", [getpass.getuser(), "bank says", "resolved", "gave its answer", "retried", "had it run again"]
)
def test_an_operation_is_found_by_what_a_person_decided(cloud: LocalCloud, visitor: Visitor, asked: str) -> None:
    cloud.run(asking())
    cloud.run(charge("order-2"))
    assert visitor.act("retry", ASKED, because="not charged").status_code == 303
    cloud.settle()
    assert visitor.act("store", ASKED, result="1", because="the bank says so").status_code == 303
    assert listed(visitor.get(f"/?text={asked}").text) == [("COMPLETED", "order-1")]


@pytest.mark.parametrize("asked", ["refused", "Refused order-1", "in progress refused"])
def test_an_operation_is_found_by_the_words_of_its_status(cloud: LocalCloud, visitor: Visitor, asked: str) -> None:
    def look() -> None:
        cloud.run(charge(amount=1))
        found.append([key for _, key in listed(visitor.get(f"/?text={asked}").text)])

    found: list[list[str]] = []
    cloud.run(charge("order-2"))
    with cloud.intercept(before(look, state="ExecuteBusinessLogic")):
        cloud.run(charge())
    assert found == [["order-1"]]


def test_an_attempt_that_failed_is_found_by_its_error(cloud: LocalCloud, visitor: Visitor) -> None:
    with cloud.intercept(fails("Lambda.Unknown", state="ExecuteBusinessLogic", nth=1)):
        cloud.run(charge())
    cloud.run(charge("order-2"))
    assert listed(visitor.get("/?text=lambda.unknown").text) == [("COMPLETED", "order-1")]


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ("text=1:03", ["order-1"]),
        ("text=today", ["order-3", "order-2"]),
        ("text=yesterday", ["order-1"]),
        ("text=yesterday 1:58", []),
        ("text=order {date}", ["order-1"]),
        ("when=yesterday", ["order-1"]),
        ("when=60", ["order-3"]),
        ("when=5&text=order", ["order-3"]),
        ("when=5&text=1:00", []),
    ],
)
def test_requests_are_found_by_the_time_that_people_tell(
    cloud: LocalCloud, visitor: Visitor, asked: str, keys: list[str]
) -> None:
    """At 1:00 in Berlin, then at 3:00 and at 5:00 of the next day."""
    visitor.client.set_cookie("zone", "Europe/Berlin", domain="127.0.0.1")
    now = datetime.datetime.fromtimestamp(cloud.clock.now(), ZoneInfo("Europe/Berlin"))
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    cloud.clock.advance(25 * 3600 - (now - midnight).total_seconds())  # type: ignore[attr-defined]
    for key, later in (("order-1", 26 * 3600), ("order-2", 7200), ("order-3", 60)):
        cloud.run(charge(key))
        cloud.clock.advance(later)  # type: ignore[attr-defined]
    date = (midnight + datetime.timedelta(days=1)).date()
    assert [key for _, key in listed(visitor.get(f"/?{asked.format(date=date)}").text)] == keys


@pytest.mark.parametrize(
    "told",
    [
        "03:57:27 PM",
        "03:57:27\u202fPM",
        "03:57:27.123 p.m.",
        "3:57 pm",
        "3:57pm, order",
        "4pm",
        "4 PM",
        "15.57",
        "{date}T15:57",
        "{date}T15:57:27",
        "{date}T14:57:27Z",
        "15:57-15:58",
        "15:50 to 16:10",
        "3:50 pm – 4 pm",
        "15:50 - 3:50",
        "3-4pm",
        "3-4 pm",
        "3pm-4pm",
        "11-4 p.m.",
        "{date:%b} {date.day}",
        "{date.day} {date:%B}",
        "{date:%b} {date.day}, {date.year}",
    ],
)
def test_requests_are_found_by_a_time_as_the_page_or_a_record_shows_it(
    cloud: LocalCloud, visitor: Visitor, told: str
) -> None:
    """At 15:57:27 in Lagos, an hour before UTC all the year; the other one at 3:57:27 of the next."""
    told = told.format(date=_at_1557_in_lagos_and_twelve_hours_later(cloud, visitor))
    assert [key for _, key in listed(visitor.get(f"/?text={quote(told)}").text)] == ["order-1"]


@pytest.mark.parametrize(
    "told",
    [
        "15:59-16:10",
        "16.57",
        "{date}T03:57",
        "{date}T15:57Z",
        "12:57 am",
        "13 pm",
        "4-5am",
        "0001-01-01T00:00",
        "{date:%b} {date.day} {date.year} 3:57",
        "{date:%b} {date.day} 2001",
    ],
)
def test_another_time_finds_nothing_and_the_page_says_which_it_knows(
    cloud: LocalCloud, visitor: Visitor, told: str
) -> None:
    told = told.format(date=_at_1557_in_lagos_and_twelve_hours_later(cloud, visitor))
    page = visitor.get(f"/?text={quote(told)}").text
    assert not listed(page) and "Times that a search knows: 10:00, " in page


def test_a_number_with_a_point_may_be_text_as_well_as_a_time(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(charge(payload={"orderId": "12345", "amount": 4200, "currency": "EUR", "note": "pays 12.50"}))
    cloud.run(charge("order-2"))
    assert [key for _, key in listed(visitor.get("/?text=12.50").text)][-1] == "order-1"


@pytest.mark.parametrize("told", ["24:30", "10:00:75", "25:99 pm", "10:00-25:99", "2026-02-30", "2026-13-01", "May 45"])
def test_what_is_no_time_is_text(cloud: LocalCloud, visitor: Visitor, told: str) -> None:
    cloud.run(charge(payload={"orderId": "12345", "amount": 4200, "currency": "EUR", "note": f"code {told}"}))
    cloud.run(charge("order-2"))
    assert [key for _, key in listed(visitor.get(f"/?text={told}").text)] == ["order-1"]


@pytest.mark.parametrize(("days_ago", "keys"), [(0, ["order-1"]), (-1, []), (1, [])])
def test_a_day_without_a_year_is_the_last_one_that_is_not_to_come(
    cloud: LocalCloud, visitor: Visitor, days_ago: int, keys: list[str]
) -> None:
    visitor.client.set_cookie("zone", "UTC", domain="127.0.0.1")
    cloud.run(charge())
    day = datetime.datetime.fromtimestamp(cloud.clock.now(), datetime.UTC) - datetime.timedelta(days=days_ago)
    assert [key for _, key in listed(visitor.get(f"/?text={day:%B} {day.day}").text)] == keys


def _at_1557_in_lagos_and_twelve_hours_later(cloud: LocalCloud, visitor: Visitor) -> datetime.date:
    visitor.client.set_cookie("zone", "Africa/Lagos", domain="127.0.0.1")
    at = datetime.datetime.fromtimestamp(cloud.clock.now(), ZoneInfo("Africa/Lagos"))
    then = at.replace(hour=15, minute=57, second=27) + datetime.timedelta(days=1)
    cloud.clock.advance((then - at).total_seconds())  # type: ignore[attr-defined]
    cloud.run(charge())
    cloud.clock.advance(12 * 3600)  # type: ignore[attr-defined]
    cloud.run(charge("order-2"))
    return then.date()


def test_refused_counts_what_was_refused_for_another_payload_and_both_are_shown(
    cloud: LocalCloud, visitor: Visitor
) -> None:
    for request in (charge(), charge(amount=1), charge("order-2"), charge(amount=1)):
        cloud.run(request)
    page = visitor.get("/?status=REFUSED").text
    assert listed(page) == [("COMPLETED", "order-1")] and 'Refused <b data-count="REFUSED">1</b>' in page
    page = re.sub("</?span.*?>", "", html.unescape(visitor.get(record_at(ID)).text))
    first, refused = re.findall(r'payload[^"]*"><code>(.*?)</code>', page, re.DOTALL)
    assert '<mark>  "amount": 4200,</mark>' in first and '<mark>  "amount": 1,</mark>' in refused
    assert first.count("<mark>") == refused.count("<mark>") == 1
    assert "another payload under this key</h2>" not in visitor.get(record_at("acme#charge-payment#order-2")).text


def test_more_rows_come_when_they_are_asked_for(cloud: LocalCloud, visitor: Visitor) -> None:
    for _ in range(CHUNK + 3):
        cloud.run("{}")
    first = visitor.get("/").text
    assert len(rows_of(first)) == CHUNK and f"most={2 * CHUNK}#of-" in first
    all_of_them = visitor.get(f"/?most={2 * CHUNK}").text
    assert len(rows_of(all_of_them)) == CHUNK + 3 and "Show more" not in all_of_them
    assert len(rows_of(visitor.get("/?most=²").text)) == CHUNK


def test_the_list_says_that_a_dead_owner_is_looked_after(cloud: LocalCloud, visitor: Visitor) -> None:
    def kill() -> None:
        cloud.stop(cloud.executions.running()[0].arn)

    with cloud.intercept(before(kill, state="ExecuteBusinessLogic")):
        cloud.run(charge())
    assert "Waits until its lease is over: then a sweep starts it again." in visitor.get("/").text
    cloud.clock.advance(LEASE_AND_SWEEP_S)  # type: ignore[attr-defined]
    assert "Its lease is over: the next sweep" in visitor.get("/").text


def test_the_list_says_when_it_was_asked_last_not_when_a_sweep_went_on(cloud: LocalCloud, visitor: Visitor) -> None:
    with cloud.intercept(dies(cloud, "ExecuteBusinessLogic")):
        cloud.run(charge())
    cloud.run(charge("order-2"))
    pages = [visitor.get("/").text]
    with cloud.delivering():
        cloud.clock.advance(LEASE_AND_SWEEP_S)  # type: ignore[attr-defined]
        cloud.settle()
    pages += [visitor.get("/").text]
    assert listed(pages[1]) == [("COMPLETED", "order-2"), ("COMPLETED", "order-1")]
    before, after = ([re.findall("<time.*?>", row)[-1] for row in rows_of(page)] for page in pages)
    assert before == after


def test_what_a_person_decided_is_in_the_list(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(asking())
    assert '<b id="waits" class="badge">1</b>' in visitor.get("/").text
    visitor.act("release", ASKED)
    page = visitor.get("/").text
    assert listed(page) == [("RELEASED", "order-1")] and 'class="badge" hidden' in page


def test_a_request_that_died_without_a_lock_is_not_listed_as_in_progress(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(charge(payload={"amount": 4200, "_jsonata_lambda": True}))
    page = visitor.get("/").text
    assert listed(page) == [("FAILED", "order-1")] and "duplicate" not in page


@pytest.fixture
def after_a_restart(cloud: LocalCloud, actions: LocalActions) -> Iterator[Visitor]:
    """Somebody at a page whose cloud has records, and executions of none of them."""
    cloud.run(charge())
    cloud.clock.advance(1)  # type: ignore[attr-defined]
    cloud.run(asking("order-2"), lane="fast")
    cloud.executions.forget()
    source = LocalSource(cloud)
    with source.watching():
        yield Visitor(source, actions)


def test_records_are_listed_whose_executions_nobody_knows_any_more(cloud: LocalCloud, after_a_restart: Visitor) -> None:
    visitor = after_a_restart
    page = visitor.get("/").text
    assert listed(page) == [("QUARANTINED", "order-2"), ("COMPLETED", "order-1")]
    assert "Your function was started once. Its answer is stored: every duplicate gets it." in page
    assert 'Quarantined <b data-count="QUARANTINED">1</b>' in page
    assert [key for _, key in listed(visitor.get("/?text=order-2").text)] == ["order-2"]
    assert [key for _, key in listed(visitor.get("/?status=COMPLETED").text)] == ["order-1"]
    assert "its effect may have happened; a person decides" in visitor.get(record_at(ASKED_2)).text
    cloud.run(charge())
    assert "1 duplicate got the stored answer" in rows_of(visitor.get("/").text)[0]
    assert len(rows_of(visitor.get("/").text)) == 2


def test_a_kept_operation_is_decided_on_its_page(cloud: LocalCloud, after_a_restart: Visitor) -> None:
    assert after_a_restart.act("retry", ASKED_2).status_code == 303
    cloud.settle()
    assert "It was started again: your function may have run before." in after_a_restart.get("/").text


OVERDUE: dict[str, dict[str, Any]] = {
    **{name: {"N": "1"} for name in ("fence", "attempts", "leaseExpiresAt")},
    "id": {"S": ID},
    "status": {"S": "IN_PROGRESS"},
    "owner": {"S": "arn:gone"},
    "fingerprint": {"S": "0" * 64},
    "acquiredAt": {"S": "2026-01-01T00:00:00Z"},
    "openShard": {"S": "IN_PROGRESS#0"},
}
"""A record whose lease is over."""


@pytest.mark.parametrize(
    "odd",
    [
        {"id": {"S": "no id"}},
        *({name: {"NULL": True}} for name in OVERDUE if name not in ("id", "leaseExpiresAt", "openShard")),
        {"status": {"S": "LOST"}},
        {"attempts": {"BOOL": True}},
        *({"leaseExpiresAt": {"N": each}} for each in ("-1", "1.5", "1e100")),
        {"expiresAt": {"S": "noon"}},
        {"steps": {"L": []}},
        {"error": {"M": {"name": {"S": "E"}}}},
        {"resultRef": {"M": {"bucket": {"S": "b"}, "key": {"S": "k"}, "bytes": {"S": "many"}}}},
    ],
    ids=str,
)
def test_a_record_that_once_has_not_written_is_shown_nowhere(
    cloud: LocalCloud, visitor: Visitor, odd: dict[str, Any]
) -> None:
    cloud.client("dynamodb").put_item(TableName=cloud.outputs["TableName"], Item=OVERDUE | odd)
    assert "No request has come yet" in visitor.get("/").text
    assert "Nothing is in progress, and nothing is quarantined" in visitor.get("/waiting").text
    page = visitor.get(record_at((OVERDUE | odd)["id"]["S"]))
    assert page.status_code == 404 and "its record is not in the form that Once writes" in page.text


@pytest.mark.parametrize(
    "odd",
    [
        *({"acquiredAt": {"S": each}} for each in ("noon", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")),
        {"pendingSince": {"S": "0001-01-01T00:00:00+14:00"}},
        {"decisions": {"L": [{"M": {"verb": {"S": "retry"}, "at": {"S": "0001-01-01T00:00:00+14:00"}}}]}},
        {"decisions": {"L": [{"M": {"verb": {"L": []}}}, {"M": {"verb": {"S": "retry"}, "at": {"N": "1"}}}]}},
        {"request": {"S": "no JSON"}},
        {"steps": {"M": {"a": {"M": {"result": {"B": b"1"}}}}}},
        {"own": {"NS": ["1"]}},
    ],
    ids=str,
)
def test_what_a_function_wrote_over_parts_of_its_record_is_shown_as_far_as_it_can_be(
    cloud: LocalCloud, visitor: Visitor, odd: dict[str, Any]
) -> None:
    cloud.run(charge(amount=1))
    cloud.run(charge())
    cloud.client("dynamodb").put_item(TableName=cloud.outputs["TableName"], Item=OVERDUE | odd)
    assert listed(visitor.get("/").text) == [("IN_PROGRESS", "order-1")]
    assert listed(visitor.get("/waiting").text) == [("IN_PROGRESS", "order-1")]
    page = visitor.get(record_at(ID))
    assert page.status_code == 200 and "Run it again" in page.text and "The payload that counts" in page.text


# ---- runs ----


def test_a_run_has_its_path_and_each_state(cloud: LocalCloud, visitor: Visitor) -> None:
    with cloud.intercept(fails("ThrottlingException", state="AcquireLock", nth=1)):
        ended = cloud.run(charge())
    page = visitor.get(run_at(ended.arn)).text
    assert "<title>AcquireLock (succeeded, 1 retry): " in page and "✓ ↻1" in page and record_at(ID) in page
    assert page.count('<li id="visit-') == len(ended.states)
    lock = visitor.get(f"/visit/2/{ended.arn}").text
    assert "DynamoDB.ThrottlingException" in lock and "Attempt 2" in lock and "<summary>log</summary>" not in lock
    assert visitor.get(f"/visit/99/{ended.arn}").status_code == 404


def test_an_attempt_that_failed_says_its_error_among_the_states(cloud: LocalCloud, visitor: Visitor) -> None:
    with cloud.intercept(fails("Lambda.Unknown", state="ExecuteBusinessLogic", nth=1)):
        ended = cloud.run(charge())
    page = visitor.get(run_at(ended.arn)).text
    assert page.count("<small>Lambda.Unknown</small>") == 1 and page.count('<li id="visit-') == len(ended.states)


def test_a_state_shows_no_empty_variables_and_its_log_no_metrics(cloud: LocalCloud, visitor: Visitor) -> None:
    ended = cloud.run(charge() | {"operation": "ask-somebody"})
    first = visitor.get(f"/visit/1/{ended.arn}").text
    assert "variables: request, " in first and "isRecovery" not in first
    work = visitor.get(f"/visit/3/{ended.arn}").text
    assert "somebody has to look at it" in work and "_aws" not in work


def test_a_request_is_shown_once_among_the_states_of_its_execution(cloud: LocalCloud, visitor: Visitor) -> None:
    ended = cloud.run(charge())
    states = [visitor.get(f"/visit/{number}/{ended.arn}").text for number in range(1, len(ended.states) + 1)]
    assert not [each for each in states if ">input</summary>" in each or ">output</summary>" in each]
    assert all('input: <a href="#execution">the execution' in each for each in states[:2])
    assert 'output: <a href="#execution">the execution' in states[-1]


def test_only_the_newest_executions_are_kept(
    cloud: LocalCloud, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("local_source", "server.records"):
        monkeypatch.setattr(f"oncekit.console.{module}.KEPT", 2)
    first, *_ = (cloud.run(charge(key)) for key in ("order-1", "order-2", "order-3"))
    page = visitor.get("/").text
    assert [key for _, key in listed(page)] == ["order-3", "order-2", "order-1"]
    assert "The newest 2 executions are kept" in page
    assert visitor.get(run_at(first.arn)).status_code == 404
    assert "Your function was started once" in visitor.get(record_at(ID)).text


def test_executions_are_forgotten_while_an_older_one_still_runs(
    cloud: LocalCloud, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oncekit.console.local_source.KEPT", 2)
    others = []

    def others_come() -> None:
        others.extend(cloud.run(charge(key)).arn for key in ("order-2", "order-3", "order-4"))

    with cloud.intercept(before(others_come, state="ExecuteBusinessLogic", nth=1)):
        first = cloud.run(charge())
    assert [visitor.get(run_at(arn)).status_code for arn in (first.arn, *others)] == [200, 404, 404, 200]


def test_what_is_not_there_is_said(visitor: Visitor) -> None:
    unknown = "arn:aws:states:us-east-1:123456789012:execution:x:y"
    for address in (run_at(unknown), record_at("a#b#c"), "/no-such-page"):
        answer = visitor.get(address)
        assert answer.status_code == 404 and "To the requests" in answer.text


@pytest.mark.parametrize(("lane", "status"), [("full", 303), ("fast", 409)])
def test_an_owner_is_killed_on_its_page_but_in_the_fast_lane(
    cloud: LocalCloud, visitor: Visitor, lane: str, status: int
) -> None:
    pages: list[str] = []
    answers: list[int] = []
    answered = threading.Event()

    def kill() -> None:
        [running] = cloud.executions.running()
        pages.append(visitor.get(run_at(running.arn)).text)
        answers.append(visitor.post(run_at(running.arn), {}).status_code)
        answered.set()

    with cloud.intercept(before(kill, state="ExecuteBusinessLogic")):
        ended = cloud.run(charge(), lane=lane)  # type: ignore[arg-type]
    assert answered.wait(20) and answers == [status]
    assert ("Kill this owner" in pages[0]) == (lane == "full")
    assert ended.status == ("ABORTED" if lane == "full" else "SUCCEEDED")
    assert ("OwnerDied" in visitor.get("/").text) == (lane == "full")


# ---- records ----


def test_an_operation_shows_its_owner_and_in_one_line_its_duplicates(cloud: LocalCloud, visitor: Visitor) -> None:
    owner, *duplicates = (cloud.run(charge()) for _ in range(MOST_RUNS + 3))
    page = visitor.get(record_at(ID)).text
    assert "COMPLETED" in page and "Its answer is stored: every duplicate gets it" in page
    moments = moments_of(page)
    assert f'<a href="{run_at(owner.arn)}">{owner.name} got the lock</a>' in moments[1]
    [folded] = [each for each in moments if "got the stored answer" in each]
    assert (
        f"<summary>{len(duplicates)} duplicates got the stored answer</summary>" in folded
        and "The newest 50 of 52" in folded
    )
    assert re.findall(r'<a href="(/run/.*?)">', folded) == [run_at(each.arn) for each in duplicates[:1:-1]]


def test_who_decided_what_and_why_is_in_the_timeline(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(asking())
    long = visitor.act("retry", ASKED, because="x" * 600)
    assert long.status_code == 409 and "the reason has 600 bytes" in html.unescape(long.text)
    assert visitor.act("retry", ASKED, because="it was <b>not</b> charged").status_code == 303
    cloud.settle()
    page = visitor.get(record_at(ASKED)).text
    [said] = [each for each in moments_of(page) if "had it run again" in each]
    assert f"{getpass.getuser()} had it run again: it was &lt;b&gt;not&lt;/b&gt; charged" in said


def test_a_record_is_shown_whole_with_its_result_and_its_request_as_json(cloud: LocalCloud, visitor: Visitor) -> None:
    def shown(id: str) -> dict[str, Any]:
        page = html.unescape(re.sub("</?span.*?>", "", visitor.get(record_at(id)).text))
        [found] = re.findall(r'aria-label="attributes"><code>(.*?)</code>', page, re.DOTALL)
        return dict(json.loads(found))

    cloud.run(charge(), lane="fast")
    cloud.run(asking())
    record, result = cloud.record(ID) or {}, shown(ID)
    assert result == {**record, "result": json.loads(record["result"])} and next(iter(result)) == "result"
    assert shown(ASKED)["request"] == asking()


def test_a_record_that_has_expired_and_is_still_there_counts_no_more(cloud: LocalCloud, visitor: Visitor) -> None:
    said = "Its record has expired: the next request with this id starts afresh."
    cloud.run(charge())
    assert said not in visitor.get(record_at(ID)).text
    item = cloud.record_items()[0] | {"expiresAt": {"N": str(int(cloud.clock.now()) - 1)}}
    cloud.client("dynamodb").put_item(TableName=cloud.outputs["TableName"], Item=item)
    assert said in visitor.get(record_at(ID)).text


@pytest.mark.parametrize(("status", "lasts"), [("IN_PROGRESS", True), ("QUARANTINED", False), ("COMPLETED", False)])
def test_a_lease_counts_while_a_record_is_in_progress(
    cloud: LocalCloud, visitor: Visitor, status: str, lasts: bool
) -> None:
    lease = {"status": {"S": status}, "leaseExpiresAt": {"N": str(int(cloud.clock.now()) + 60)}}
    cloud.client("dynamodb").put_item(TableName=cloud.outputs["TableName"], Item=OVERDUE | lease)
    page = visitor.get(record_at(ID)).text
    assert (">Its lease lasts 1 min more.</p>" in page) is lasts
    assert ("Run it again" in page) is (status == "QUARANTINED")


@pytest.mark.parametrize("lane", ["full", "fast"])
def test_what_a_function_wrote_to_its_own_table_is_on_the_page_of_its_operation(
    cloud: LocalCloud, visitor: Visitor, lane: Lane
) -> None:
    """As often as it was written, not as often as the function ran."""
    with cloud.intercept(times_out(applied=True, state="ExecuteBusinessLogic", nth=1)):
        cloud.run(charge(), lane=lane)
    cloud.settle()
    cloud.run(charge("order-2"))
    page = html.unescape(re.sub("</?span.*?>", "", visitor.get(record_at(ID)).text))
    assert page.count("put into ProviderLedgerTable</summary>") == 1 and '"idempotencyKey": "' in page


def test_a_large_result_comes_when_it_is_asked_for(cloud: LocalCloud, visitor: Visitor) -> None:
    request = {"operation": "build-report", "tenant": "acme", "idempotencyKey": "r", "payload": {"bytes": 9000}}
    result = cloud.run(request).output["resultRef"]
    page = visitor.get(record_at("acme#build-report#r")).text
    assert f"{result['bytes']:,} bytes" in page and len(page) < 9000
    assert len(visitor.get("/result/acme%23build-report%23r").text) > 9000
    cloud.client("s3").delete_object(Bucket=result["bucket"], Key=result["key"])
    assert "is gone" in visitor.get("/result/acme%23build-report%23r").text
    [item] = cloud.record_items()
    for bucket in ("of-nobody", ""):
        item["resultRef"]["M"]["bucket"] = {"S": bucket}
        cloud.client("dynamodb").put_item(TableName=cloud.outputs["TableName"], Item=item)
        assert "is gone" in visitor.get("/result/acme%23build-report%23r").text


def test_a_quarantined_operation_is_resolved_from_its_record(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(asking())
    page = visitor.get(record_at(ASKED)).text
    assert "QUARANTINED" in page and all(f">{each}</button>" in page for each in ("Resolve it", "Run it again"))
    refused = visitor.act("resolve", ASKED, result="{", failed="typed")
    assert refused.status_code == 409 and "say either what its result is" in refused.text
    assert ">{</textarea>" in refused.text and 'value="typed"' in refused.text, "what was typed survives"
    assert "the result: not JSON" in visitor.act("resolve", ASKED, result="{").text
    asked = visitor.act("resolve", ASKED, result='{"a": 1.10}')
    assert asked.status_code == 200 and re.sub("<.*?>", "", asked.text).count("&#34;a&#34;: 1.1\n") == 1
    typed = '{\r\n "a": 1,\r\n "b": "\u200c"\r\n}'
    for failed in ("", "x"):
        sent_on = visitor.act("resolve", ASKED, result=typed, failed=failed).text
        assert typed in html.unescape(sent_on), "what is sent on is what was typed"
    assert (cloud.record(ASKED) or {})["status"] == "QUARANTINED"
    assert visitor.act("store", ASKED, asked.text, result='{"a": 1.10}').status_code == 303
    assert (cloud.record(ASKED) or {})["result"] == '{"a":1.1}'


def test_no_link_says_that_something_was_done(cloud: LocalCloud, visitor: Visitor) -> None:
    """Only what was done here, and once."""
    cloud.run(asking())
    for page in (record_at(ASKED), "/waiting"):
        assert "it was released" not in visitor.get(f"{page}?done=it was released").text
    done = visitor.act("release", ASKED)
    said = f"{ASKED}: released; the next request"
    assert said in visitor.after(done) and said not in visitor.after(done)


@pytest.mark.parametrize(
    ("action", "form"),
    [("resolve", {"result": "1"}), ("store", {"failed": "no"}), ("retry", {}), ("release", {})],
)
def test_what_is_decided_on_a_page_is_about_the_record_that_it_showed(
    cloud: LocalCloud, visitor: Visitor, action: str, form: dict[str, str]
) -> None:
    """Somebody else has decided meanwhile, and it asks for an operator again."""
    cloud.run(asking())
    shown = visitor.get(record_at(ASKED)).text
    asked = visitor.act("resolve", ASKED, result="1").text
    assert visitor.act("retry", ASKED).status_code == 303
    cloud.settle()
    before = cloud.record(ASKED) or {}
    assert before["status"] == "QUARANTINED"
    for page in (shown, asked):
        refused = visitor.act(action, ASKED, page, because="I saw it", **form)
        said = html.unescape(refused.text)
        assert refused.status_code == 409 and "changed since it was shown, nothing was done: it was QUARANTINED" in said
        assert "fence 1, owner arn:" in said and f"is QUARANTINED, fence {before['fence']}, owner" in said
        assert 'value="I saw it"' in said, "what was typed survives"
    assert cloud.record(ASKED) == before
    assert visitor.act(action, ASKED, refused.text, **form).status_code == (200 if form == {"result": "1"} else 303)


@pytest.mark.parametrize("action", ["retry", "release"])
@pytest.mark.parametrize(
    "then",
    [
        {"owner": {"S": "arn:another"}},
        {"status": {"S": "QUARANTINED"}},
        {"pendingSince": {"S": "2026-01-01T00:00:00Z"}},
    ],
    ids=str,
)
def test_what_is_decided_about_a_lock_is_not_done_to_another_one_with_its_fence(
    cloud: LocalCloud, visitor: Visitor, action: str, then: dict[str, Any]
) -> None:
    """Of a record that was deleted meanwhile, the next one begins with the first fence."""
    client, table = cloud.client("dynamodb"), cloud.outputs["TableName"]
    client.put_item(TableName=table, Item=OVERDUE)
    page = visitor.get(record_at(ID)).text
    client.put_item(TableName=table, Item=OVERDUE | then)
    refused = visitor.act(action, ID, page)
    assert refused.status_code == 409 and "changed since it was shown" in refused.text
    assert cloud.record_items() == [OVERDUE | then]


def test_the_address_of_what_was_refused_is_that_of_its_page(cloud: LocalCloud, visitor: Visitor) -> None:
    ended = cloud.run(asking())
    for page in (record_at(ASKED), run_at(ended.arn), "/waiting", "/start"):
        forms = re.findall(r'<form method="post" action="(.*?)"', visitor.get(page).text)
        assert {each.partition("?")[0] for each in forms} <= {page} and ADDRESSES.bind("").match(page, "POST")


def test_a_refused_start_shows_the_event_that_it_was_made_of(visitor: Visitor) -> None:
    at = "/start?event=place-order"
    assert f'action="{at}"' in visitor.get(at).text
    refused = visitor.post(at, {"request": "{bad", "times": "1", "lane": "full"})
    assert refused.status_code == 422 and 'place-order" aria-current' in refused.text


def test_who_decides_after_somebody_freed_the_key_is_told_that(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(asking())
    page = visitor.get(record_at(ASKED)).text
    assert visitor.act("release", ASKED).status_code == 303
    refused = visitor.act("retry", ASKED, page)
    assert refused.status_code == 409 and "changed since it was shown" in refused.text


def test_what_no_button_says_and_no_page_asks_is_no_error_of_the_page(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(asking())
    assert visitor.act("x", ASKED).status_code == 400 and visitor.get("/?most=0").status_code == 200


@pytest.mark.parametrize(
    ("action", "status", "said"), [("retry", "QUARANTINED", ""), ("release", "FAILED", "RELEASED")]
)
def test_a_quarantined_operation_is_started_again_or_released_from_its_record(
    cloud: LocalCloud, visitor: Visitor, action: str, status: str, said: str
) -> None:
    cloud.run(asking())
    assert visitor.act(action, ASKED).status_code == 303
    cloud.settle()
    assert (cloud.record(ASKED) or {})["status"] == status
    page = visitor.get(record_at(ASKED)).text
    assert f"</span> {said or status}</p>" in page and "expired" not in page


WAITS = charge() | {"operation": "work-elsewhere"}


@pytest.mark.parametrize(
    ("action", "form", "status"),
    [("store", {"failed": "lost"}, "FAILED"), ("retry", {}, "COMPLETED"), ("release", {}, "RELEASED")],
)
def test_a_pending_operation_says_until_when_and_is_ended_from_its_record(
    cloud: LocalCloud, visitor: Visitor, action: str, form: dict[str, str], status: str
) -> None:
    cloud.run(WAITS)
    at = record_at(ELSEWHERE)
    page = visitor.get(at).text
    assert "Waits for work elsewhere to end it" in page and "Its lease lasts 10 min more." in page
    assert all(f">{each}</button>" in page for each in ("Resolve it", "Run it again", "Free the key"))
    assert "Waits for work elsewhere to end it" in visitor.get("/waiting").text
    assert visitor.act(action, ELSEWHERE, **form).status_code == 303
    cloud.settle()
    page = visitor.get(at).text
    assert f"</span> {status}</p>" in page and "Waits for work elsewhere" not in page


def test_the_page_leads_to_what_was_written_where_that_is_known(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(asking())
    page = visitor.get(record_at(ASKED)).text
    assert "at the provider, and in the log of the owner&#39;s attempts.</p>" in page
    done = {"M": {"result": {"S": "1"}}}
    steps = {"steps": {"M": {"charged": done, CLOSINGS: done}}}
    item = cloud.client("dynamodb").get_item(TableName=cloud.outputs["TableName"], Key={"id": {"S": ASKED}})["Item"]
    cloud.client("dynamodb").put_item(TableName=cloud.outputs["TableName"], Item=item | steps)
    page = visitor.get(record_at(ASKED)).text
    assert "in the log of the owner&#39;s attempts, and in what it wrote.</p>" in page
    assert page.index("Finished steps</h2>") < page.index("Decide how it goes on") and CLOSINGS not in page


def test_a_traceback_of_lambdas_is_shown_line_by_line(cloud: LocalCloud, visitor: Visitor) -> None:
    """The runtime client writes it as one line, for CloudWatch."""
    arn = cloud.run(asking()).arn
    visits = re.findall(r'data-later="(/visit/.*?)"', visitor.get(run_at(arn)).text)
    logs = [
        html.unescape(log)
        for each in visits
        for log in re.findall('"log"><code>(.*?)</code>', visitor.get(each).text, re.DOTALL)
    ]
    assert any("\nTraceback (most recent call last):\n" in each for each in logs) and not any(
        "\\r" in each for each in logs
    )


# ---- what waits ----


def test_what_waits_is_shown_open_operations_refused_requests_and_queues(cloud: LocalCloud, visitor: Visitor) -> None:
    assert "Nothing is in progress" in visitor.get("/waiting").text
    cloud.run(asking())
    refused = cloud.run(BAD)
    page = visitor.get("/waiting").text
    assert listed(page) == [("QUARANTINED", "order-1")] and record_at(ASKED) in page
    assert "InvalidRequest" in page and run_at(refused.arn) in page and "acme#charge-payment#bad" in page
    assert "<span>RequestDeadLetterQueue</span> <b>0</b>" in page


def test_refused_requests_are_started_again_when_they_can_succeed(
    cloud: LocalCloud, source: LocalSource, visitor: Visitor
) -> None:
    cloud.run(charge())
    cloud.run(charge(amount=1))
    assert "its key belongs to another payload" in visitor.get("/waiting").text
    none = visitor.post("/waiting", {"replay": "PayloadMismatch"})
    assert none.status_code == 409 and "None of 1 refused request was started again: its key belongs to" in none.text
    cloud.client("dynamodb").delete_item(TableName=cloud.outputs["TableName"], Key={"id": {"S": ID}})
    assert "its key belongs to another payload" not in visitor.get("/waiting").text
    assert "1 of 1" in visitor.after(visitor.post("/waiting", {"replay": "PayloadMismatch"}))
    cloud.settle()
    assert [row.part.ending.kind for row in source.rows(ID)][-1:] == ["stored"] and len(source.rows(ID)) == 3


def test_where_no_refused_request_starts_again_it_is_said_why_and_what_to_do(
    cloud: LocalCloud, visitor: Visitor
) -> None:
    for request in (BAD, BAD, charge("no-function") | {"operation": "unheard-of"}):
        cloud.run(request)
    none = visitor.post("/waiting", {"replay": "InvalidRequest"})
    assert none.status_code == 409 and 'class="notice bad"' in none.text
    [told] = re.findall("None of 3 refused requests was started again: (.*?)</p>", none.text)
    assert told.count("its sender has to correct it") == 1 and "deploy the function, and name it in Operations" in told
    assert "let their senders send them again, or discard them" in told
    assert len(cloud.rejected()) == 3
    gone = visitor.post("/waiting", {"replay": "PayloadMismatch"})
    assert gone.status_code == 409 and "no refused request with PayloadMismatch is kept any more" in gone.text


def test_refused_requests_are_discarded_by_their_error(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(BAD)
    for amount in (1, 2, 3):
        cloud.run(charge("order-2", amount=amount))
    page = visitor.get("/waiting").text
    assert "Delete the refused requests with PayloadMismatch that are shown here?" in page
    nothing = visitor.post("/waiting", {"discard": "", "last": ""})
    assert nothing.status_code == 409 and "lost on purpose" in nothing.text
    cloud.run(charge("order-2", amount=4))
    [last] = re.findall(r'name="last" value="(.*?)"><button name="discard" value="PayloadMismatch"', page)
    done = visitor.post("/waiting", {"discard": "PayloadMismatch", "last": last})
    assert "2 refused requests with PayloadMismatch deleted" in visitor.after(done)
    assert [each["error"] for each in cloud.rejected()] == ["InvalidRequest", "PayloadMismatch"], "nobody saw the last"


def test_refused_requests_are_listed_also_where_nobody_knows_their_executions_any_more(
    cloud: LocalCloud, actions: LocalActions
) -> None:
    """As after a restart with --data."""
    for request in (BAD, charge(), charge(amount=1)):
        cloud.run(request)
    cloud.executions.forget()
    source = LocalSource(cloud)
    with source.watching():
        visitor = Visitor(source, actions)
        page = visitor.get("/?status=REFUSED").text
        assert '<b data-count="REFUSED">2</b>' in page and '<b id="waits" class="badge">2</b>' in page
        assert listed(page) == [("COMPLETED", "order-1"), ("REFUSED", "bad")]
        assert "1 request with another payload was refused." in rows_of(page)[0]
        assert "1 request was refused (InvalidRequest)." in rows_of(page)[1]
        assert "The first payload is not kept any more" in visitor.get(record_at(ID)).text


def test_a_folder_that_somebody_made_in_the_bucket_waits_for_nobody(cloud: LocalCloud, source: LocalSource) -> None:
    cloud.client("s3").put_object(Bucket=cloud.outputs["ResponseBucketName"], Key="rejected/")
    assert source.waiting() == 0


def test_only_a_clock_that_can_be_moved_is_moved(visitor: Visitor) -> None:
    answer = visitor.post("/waiting", {"advance": "300"})
    assert answer.status_code == 409 and "cannot be moved" in answer.text


# ---- start ----


def test_a_pasted_request_is_started_as_often_as_asked(cloud: LocalCloud, visitor: Visitor) -> None:
    answer = visitor.post("/start", {"request": json.dumps(charge()), "times": "3", "lane": "full"})
    assert (answer.status_code, answer.headers["Location"]) == (303, record_at(ID))
    cloud.settle()
    assert "×2<span" in visitor.get("/").text, "whether they came while it was in progress or afterwards"
    assert "charge-payment" in visitor.get("/start").text, "events of the folder"


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"request": "{", "times": "1"}, "not JSON"),
        *(({"request": "{}", "times": each}, "from 1 to 1000") for each in ("0", "1001", "²", "1.5", "9" * 5000, "")),
        ({"request": json.dumps("x" * 262_144), "times": "1"}, "at most 262,144"),
        ({"request": "{}", "times": "1", "fault": "unheard-of"}, "no fault"),
    ],
)
def test_what_cannot_be_started_is_refused_with_the_reason(
    cloud: LocalCloud, visitor: Visitor, form: dict[str, str], why: str
) -> None:
    answer = visitor.post("/start", form)
    assert answer.status_code == 422 and why in answer.text and "No request has come yet" in visitor.get("/").text


@pytest.mark.parametrize(
    ("fault", "path"),
    [
        ("dies-after", "TakeNextFence"),
        ("lost-finalize", "Finalize"),
        ("throttled", "Finalize"),
    ],
)
def test_what_goes_wrong_on_purpose_is_brought_to_its_end(
    cloud: LocalCloud, visitor: Visitor, fault: str, path: str
) -> None:
    assert f'value="{fault}"' in visitor.get("/start").text
    with cloud.delivering():
        form = {"request": json.dumps(charge()), "times": "1", "lane": "full", "fault": fault}
        started = visitor.post("/start", form)
        assert started.status_code == 303
        cloud.settle()
        cloud.clock.advance(LEASE_AND_SWEEP_S)  # type: ignore[attr-defined]
        cloud.settle()
    assert (cloud.record(ID) or {})["status"] == "COMPLETED"
    page = visitor.get(record_at(ID)).text
    shown = "".join(visitor.get(address).text for address in set(re.findall(r'href="(/run/[^"#]*)"', page)))
    assert f">{path} <" in shown
    assert any(each in shown for each in ("OwnerDied", "failed, caught", " retr")), "it is seen"


@pytest.mark.parametrize(("fresh", "key"), [("", "order-1"), ("&fresh=1", "order-1-")])
def test_a_request_is_sent_again_or_with_a_new_key(cloud: LocalCloud, visitor: Visitor, fresh: str, key: str) -> None:
    ended = cloud.run([charge()], lane="fast")
    page = html.unescape(visitor.get(f"/start?again={ended.arn}{fresh}").text)
    request = json.loads(re.findall(r"<textarea.*?>(.*?)</textarea>", page, re.DOTALL)[0])
    assert request["payload"] == charge()["payload"] and request["idempotencyKey"].startswith(key)
    assert 'name="times" value="1"' in page and "<option selected>fast</option>" in page
    assert (request["idempotencyKey"] == "order-1") is not bool(fresh)


OWN_EVENTS = [{"orderId": "1", "amount": 4200}, {"source": "shop", "detail": {"orderId": "1"}}, [{"a": 1}, {"a": 2}], 7]


@pytest.mark.parametrize("event", OWN_EVENTS)
def test_what_is_no_request_is_refused_before_anything_is_started(visitor: Visitor, event: object) -> None:
    answer = visitor.post("/start", {"request": json.dumps(event), "times": "3", "lane": "full"})
    page = html.unescape(answer.text)
    assert answer.status_code == 422 and "no request: it has neither operation nor idempotencyKey." in page
    assert "`once new` does in events/" in page and "No request has come yet" in visitor.get("/").text


def test_start_offers_requests_and_no_messages_of_a_queue_or_events_of_a_bus(
    cloud: LocalCloud, source: LocalSource, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    visitor = Visitor(source, LocalActions(cloud, tmp_path))
    for number, event in enumerate(OWN_EVENTS):
        (tmp_path / f"events/a-{number}-message.json").write_text(json.dumps(event))
    assert "No requests in events/ here." in visitor.get("/start").text
    (tmp_path / "events/charge.json").write_text(json.dumps(charge()))
    (tmp_path / "events/torn.json").write_text('{"operation": ')
    page = html.unescape(visitor.get("/start").text)
    assert re.findall(r'<a href="/start\?event=(.*?)"( aria-current)?', page) == [
        ("charge", " aria-current"),
        ("torn", ""),
    ]
    assert json.loads(re.findall(r"<textarea.*?>(.*?)</textarea>", page, re.DOTALL)[0]) == charge()


# ---- a storm ----


def test_a_page_does_not_wait_behind_all_executions_that_wait_for_the_table(visitor: Visitor) -> None:
    calls, before = [], []
    answered = threading.Event()

    def call() -> None:
        with DYNAMODB_LOCK:
            answered.wait(A_CALL_S)
            calls.append(1)

    def look() -> None:
        visitor.get("/")
        before.append(len(calls))
        answered.set()

    threads = [*(threading.Thread(target=call) for _ in range(MANY)), threading.Thread(target=look)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert before[0] < MANY / 2


def test_of_a_record_only_its_last_version_is_kept(cloud: LocalCloud, source: LocalSource) -> None:
    request = charge("whose-versions-are-counted")  # of no other test
    cloud.run(request)
    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, Item) and each.hash_key.value == id_of(request)]
    assert len(kept) == 1


def test_a_page_does_not_wait_for_those_that_wait_for_a_function(cloud: LocalCloud, visitor: Visitor) -> None:
    pages = []
    with cloud.functions._lock:  # as hundreds have it, one after the other
        look = threading.Thread(target=lambda: pages.append(visitor.get("/")), daemon=True)
        look.start()
        look.join(LONG_S)
    assert [each.status_code for each in pages] == [200]


# ---- what changes ----


def test_a_page_is_told_of_what_changes(cloud: LocalCloud, visitor: Visitor) -> None:
    before = visitor.get("/changes").text
    assert visitor.get("/changes").text == before
    cloud.run(charge())
    assert visitor.get("/changes").text != before
