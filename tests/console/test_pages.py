"""What the pages of the console say, and do."""

from __future__ import annotations

import functools
import html
import json
import queue
import re
import threading
from collections.abc import Iterator

import pytest
from scenario import charge
from visitor import Visitor, record_at, run_at

from oncekit.console import pages, picture
from oncekit.console.listing import CHUNK
from oncekit.console.local_source import LocalSource
from oncekit.console.server import runs
from oncekit.local import LocalCloud
from oncekit.local.faults import before, fails

ID = "acme#charge-payment#order-1"


def listed(text: str) -> list[tuple[str, str]]:
    """Outcome and key of each row."""
    rows = re.findall(r"<li class=.*?</li>", text, re.DOTALL)
    return [
        (
            html.unescape(re.findall(r"</span><span>(.*?)</span>", row)[0]),
            html.unescape(re.findall(r"<b>(.*?)</b>", row)[0]),
        )
        for row in rows
    ]


def test_requests_are_listed_with_what_became_of_them_the_newest_first(cloud: LocalCloud, visitor: Visitor) -> None:
    for request in (charge(), charge(), charge("order-2") | {"operation": "ask-somebody"}, charge(amount=1)):
        cloud.run(request)
    cloud.run(charge("fast"), lane="fast")
    page = visitor.get("/").text
    assert listed(page) == [
        ("EXECUTED", "fast"),
        ("PayloadMismatch", "order-1"),
        ("NeedsAttention", "order-2"),
        ("REPLAYED", "order-1"),
        ("EXECUTED", "order-1"),
    ]
    assert 'Executed <b data-count="succeeded">2</b>' in page


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ("kind=failed", ["order-2"]),
        ("operation=ask-somebody", ["order-2"]),
        ("tenant=acme&kind=replayed", ["order-1"]),
        ("text=ORDER-1", ["order-1", "order-1"]),
        ("text=needsattention", ["order-2"]),
        ("group=id&text=order", ["order-2", "order-1", "order-1"]),
        ("kind=stopped", []),
    ],
)
def test_requests_are_filtered(cloud: LocalCloud, visitor: Visitor, asked: str, keys: list[str]) -> None:
    for request in (charge(), charge(), charge("order-2") | {"operation": "ask-somebody"}):
        cloud.run(request)
    assert [key for _, key in listed(visitor.get(f"/rows?{asked}").text)] == keys


def test_in_a_group_who_did_the_work_stands_above_who_was_answered(cloud: LocalCloud, visitor: Visitor) -> None:
    for key in ("order-1", "order-2", "order-1", "order-1"):
        cloud.run(charge(key))
    text = visitor.get("/rows?group=id").text
    assert listed(text) == [
        ("EXECUTED", "order-1"),
        ("REPLAYED", "order-1"),
        ("REPLAYED", "order-1"),
        ("EXECUTED", "order-2"),
    ]
    assert text.count("follows") == 2


def test_further_rows_follow_those_that_the_page_has(cloud: LocalCloud, visitor: Visitor) -> None:
    arns = [cloud.run("{}").arn for _ in range(CHUNK + 3)]
    first = visitor.get("/rows").text
    assert first.count("data-arn") == CHUNK and f'data-after="{arns[3]}"' in first
    rest = visitor.get(f"/rows?after={arns[3]}").text
    assert re.findall(r'data-arn="(.*?)"', rest) == arns[2::-1] and "data-after" not in rest


def test_what_other_pages_need_is_loaded_once_somebody_is_here(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: queue.Queue[str] = queue.Queue()
    for module in (pages, picture):
        monkeypatch.setattr(module, "prepare", functools.partial(loaded.put, module.__name__))
    visitor.get("/waiting")
    assert loaded.empty()
    for _ in range(2):
        visitor.get("/")
    assert {loaded.get(timeout=20), loaded.get(timeout=20)} == {pages.__name__, picture.__name__} and loaded.empty()


def test_an_empty_list_says_what_to_do(cloud: LocalCloud, visitor: Visitor) -> None:
    assert "once send events/charge-payment.json" in visitor.get("/").text
    cloud.run(charge())
    assert "Nothing matches this filter" in visitor.get("/?text=nothing-like-it").text


def test_a_run_has_its_path_each_state_and_every_event(cloud: LocalCloud, visitor: Visitor) -> None:
    with cloud.intercept(fails("ThrottlingException", state="AcquireLock", nth=1)):
        ended = cloud.run(charge())
    page = visitor.get(run_at(ended.arn)).text
    assert "<title>AcquireLock (succeeded, 1 retry): " in page and "✓ ↻1" in page
    assert "DynamoDB.ThrottlingException" in page and page.count("data-event") == len(ended.events)
    assert f"once show {ended.arn} --draw run.svg" in page and record_at(ID) in page


def test_a_run_of_the_fast_lane_is_shown_too(cloud: LocalCloud, visitor: Visitor) -> None:
    ended = cloud.run(charge(), lane="fast")
    page = visitor.get(run_at(ended.arn)).text
    assert "ReadRecord" in page and page.count('<li id="visit-') == len(ended.states)


def test_a_record_shows_who_wrote_it_and_which_write_was_refused(cloud: LocalCloud, visitor: Visitor) -> None:
    owner, duplicate = cloud.run(charge()), cloud.run(charge())
    page = visitor.get(record_at(ID)).text
    writes = re.findall(r'#visit-(\d+)"><b>(\w+)</b></a> <span class="ended">(.*?)</span>', page)
    assert writes == [
        ("2", "AcquireLock", "written"),
        ("5", "Finalize", "written"),
        ("2", "AcquireLock", "refused"),
    ]
    assert "COMPLETED" in page and page.count("fence 1") == 2
    assert f"{run_at(duplicate.arn)}#visit-2" in page and f"{run_at(owner.arn)}#visit-5" in page


def test_a_take_over_is_seen_in_the_record(cloud: LocalCloud, visitor: Visitor) -> None:
    with cloud.intercept(fails("Lambda.Unknown", state="ExecuteBusinessLogic", nth=1)):
        cloud.run(charge())
    page = visitor.get(record_at(ID)).text
    assert "RenewLock" in page and ">fence 2<" in page and "attempts 2" in page


def test_what_is_not_there_is_said(visitor: Visitor) -> None:
    for address in ("/run/arn:aws:states:us-east-1:123456789012:execution:x:y", record_at("a#b#c"), "/no-such-page"):
        answer = visitor.get(address)
        assert answer.status_code == 404 and "To the requests" in answer.text


def test_a_pasted_request_is_started_as_often_as_asked(cloud: LocalCloud, visitor: Visitor) -> None:
    answer = visitor.post("/start", {"request": json.dumps(charge()), "times": "3", "lane": "full"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/?group=id&text=acme%23charge-payment%23order-1")
    cloud.settle()
    assert listed(visitor.get("/rows?group=id").text)[0] == ("EXECUTED", "order-1")
    assert visitor.get("/rows").text.count("data-arn") == 3
    assert "charge-payment" in visitor.get("/start").text, "events of the folder"


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"request": "{", "times": "1"}, "not JSON"),
        ({"request": "{}", "times": "0"}, "from 1 to 1000"),
        ({"request": json.dumps("x" * 262_144), "times": "1"}, "at most 262,144"),
    ],
)
def test_what_cannot_be_started_is_refused_with_the_reason(
    cloud: LocalCloud, visitor: Visitor, form: dict[str, str], why: str
) -> None:
    answer = visitor.post("/start", form)
    assert answer.status_code == 422 and why in answer.text and visitor.get("/rows").text.count("data-arn") == 0


def test_a_quarantined_operation_is_resolved_from_its_record(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(charge() | {"operation": "ask-somebody"})
    at = "acme%23ask-somebody%23order-1"
    assert "QUARANTINED" in visitor.get(f"/record/{at}").text
    refused = visitor.post(f"/act/resolve/{at}", {"result": "", "failed": ""})
    assert refused.status_code == 409 and "say either what its result is" in refused.text
    done = visitor.post(f"/act/resolve/{at}", {"result": '{"a": 1.10}', "failed": ""})
    assert done.status_code == 303
    assert (cloud.record("acme#ask-somebody#order-1") or {})["result"] == '{"a":1.1}'
    again = visitor.post(f"/act/retry/{at}", {})
    assert again.status_code == 409 and "COMPLETED, not" in html.unescape(again.text)


def test_a_quarantined_operation_is_started_again_or_released_from_its_record(
    cloud: LocalCloud, visitor: Visitor
) -> None:
    for action, status in (("retry", "QUARANTINED"), ("release", "FAILED")):
        cloud.run(charge(action) | {"operation": "ask-somebody"})
        done = visitor.post(f"/act/{action}/acme%23ask-somebody%23{action}", {})
        assert done.status_code == 303
        cloud.settle()
        assert (cloud.record(f"acme#ask-somebody#{action}") or {})["status"] == status


def told(visitor: Visitor, address: str) -> Iterator[str]:
    """Server-sent events, one after the other as they are waited for."""
    for each in visitor.get(address).response:
        yield each.decode() if isinstance(each, bytes) else each


def test_a_page_is_told_of_what_changes(cloud: LocalCloud, source: LocalSource, visitor: Visitor) -> None:
    events = told(visitor, "/changes")
    assert next(events).endswith(f"data: {source.version()}\n\n")
    cloud.run(charge())
    assert next(events) == f"data: {source.version()}\n\n"


def test_a_run_is_told_of_as_it_goes_on(cloud: LocalCloud, source: LocalSource, visitor: Visitor) -> None:
    ended = cloud.run(charge())
    events = told(visitor, f"/steps/{ended.arn}")
    assert [next(events), next(events)][1] == f"data: {len(ended.events)}.{source.version()}\n\n"
    assert visitor.get("/steps/arn:aws:states:no:such:execution:a:b").status_code == 404


def test_what_waits_is_shown_open_operations_refused_requests_and_queues(cloud: LocalCloud, visitor: Visitor) -> None:
    assert "Nothing is in progress" in visitor.get("/waiting").text
    cloud.run(charge() | {"operation": "ask-somebody"})
    refused = cloud.run(charge("bad") | {"onCrash": "never"})
    page = visitor.get("/waiting").text
    assert "QUARANTINED" in page and record_at("acme#ask-somebody#order-1") in page
    assert "InvalidRequest" in page and run_at(refused.arn) in page and "acme#charge-payment#bad" in page
    assert "<span>RejectedRequestsQueue</span> <b>1</b>" in page


def test_refused_requests_are_started_again_when_they_can_succeed(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(charge())
    cloud.run(charge(amount=1))
    assert "0%20of%201" in visitor.post("/replay", {"error": "PayloadMismatch"}).headers["Location"]
    cloud.client("dynamodb").delete_item(TableName=cloud.outputs["TableName"], Key={"id": {"S": ID}})
    done = visitor.post("/replay", {"error": "PayloadMismatch"})
    assert done.status_code == 303 and "1%20of%201" in done.headers["Location"]
    cloud.settle()
    assert visitor.get("/rows").text.count("data-arn") == 3


def test_refused_requests_are_discarded_by_their_error(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(charge() | {"onCrash": "never"})
    for amount in (1, 2, 3):
        cloud.run(charge("order-2", amount=amount))
    page = visitor.get("/waiting").text
    assert "once release --rejected --error PayloadMismatch" in page and "What is deleted is lost" in page
    nothing = visitor.post("/discard", {})
    assert nothing.status_code == 409 and "lost on purpose" in nothing.text
    done = visitor.post("/discard", {"error": "PayloadMismatch"})
    assert done.status_code == 303 and "2%20refused%20requests%20with%20PayloadMismatch" in done.headers["Location"]
    assert [each["error"] for each in cloud.rejected()] == ["InvalidRequest"]


def test_a_request_that_would_be_refused_again_says_so_before_it_is_started(
    cloud: LocalCloud, visitor: Visitor
) -> None:
    cloud.run(charge())
    cloud.run(charge(amount=1))
    page = html.unescape(visitor.get("/waiting").text)
    assert "Started again: its key belongs to another payload" in page
    assert "Start all refused requests with PayloadMismatch again? 1 of 1 would be refused again" in page
    cloud.client("dynamodb").delete_item(TableName=cloud.outputs["TableName"], Key={"id": {"S": ID}})
    page = html.unescape(visitor.get("/waiting").text)
    assert "1 of 1 would be refused" not in page


@pytest.mark.parametrize(
    ("fault", "path"),
    [
        ("dies-after", "TakeOverLock"),
        ("dies-before", "TakeOverLock"),
        ("crashes", "RenewLock"),
        ("crashes-after", "RenewLock"),
        ("lost-lock", "Finalize"),
        ("lost-finalize", "Finalize"),
        ("throttled", "Finalize"),
    ],
)
def test_what_goes_wrong_on_purpose_is_brought_to_its_end(
    cloud: LocalCloud, visitor: Visitor, fault: str, path: str
) -> None:
    assert f'value="{fault}"' in visitor.get("/start").text
    with cloud.delivering():
        started = visitor.post(
            "/start", {"request": json.dumps(charge()), "times": "1", "lane": "full", "fault": fault}
        )
        assert started.status_code == 303
        cloud.settle()
    assert (cloud.record(ID) or {})["status"] == "COMPLETED"
    page = visitor.get(record_at(ID)).text
    assert f"<b>{path}</b>" in page
    runs = re.findall(r'href="/run/(.*?)"><span class="sign"', page)
    signs = [each for arn in runs for each in ("OwnerDied", "↷", "↻") if each in visitor.get(run_at(arn)).text]
    assert signs, "it is seen"


def test_an_owner_is_killed_on_its_page(cloud: LocalCloud, visitor: Visitor) -> None:
    answers: list[int] = []
    answered = threading.Event()

    def kill() -> None:
        [running] = cloud.executions.running()
        assert "Kill this owner" in visitor.get(run_at(running.exec_arn)).text
        answers.append(visitor.post(f"/stop/{running.exec_arn}", {}).status_code)
        answered.set()

    with cloud.intercept(before(kill, state="ExecuteBusinessLogic")):
        assert cloud.run(charge()).status == "ABORTED"
    assert answered.wait(20) and answers == [303]
    assert "OwnerDied" in visitor.get("/").text


def test_only_a_clock_that_can_be_moved_is_moved(visitor: Visitor) -> None:
    answer = visitor.post("/advance", {"seconds": "300"})
    assert answer.status_code == 409 and "cannot be moved" in answer.text
    assert "how far" in visitor.post("/advance", {"seconds": "1e9"}).text


def test_a_long_run_tells_of_a_state_when_it_is_opened(
    cloud: LocalCloud, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = cloud.run(charge())
    whole = visitor.get(run_at(ended.arn)).text
    monkeypatch.setattr(runs, "LONG", 2)
    page = visitor.get(run_at(ended.arn)).text
    assert "dynamodb:updateItem" in whole and "dynamodb:updateItem" not in page and "data-event" not in page
    assert f'data-later="/visit/2/{ended.arn}"' in page and f'data-later="/events/{ended.arn}"' in page
    assert "dynamodb:updateItem" in visitor.get(f"/visit/2/{ended.arn}").text
    assert visitor.get(f"/events/{ended.arn}").text.count("data-event") == len(ended.events)
    assert visitor.get(f"/visit/99/{ended.arn}").status_code == 404


def test_a_very_long_run_tells_of_its_further_states_when_they_are_asked_for(
    cloud: LocalCloud, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "LONG", 2)
    monkeypatch.setattr(runs, "FIRST", 3)
    ended = cloud.run(charge())
    page, rest = visitor.get(run_at(ended.arn)).text, visitor.get(f"/further/{ended.arn}").text
    assert re.findall(r'<li id="visit-(\d)"', page) == ["1", "2", "3"] and "Show 2 more states" in page
    assert re.findall(r'<li id="visit-(\d)"', rest) == ["4", "5"] and f'data-later="/further/{ended.arn}"' in page
    assert "<title>Finalize (succeeded)" in page, "the picture is whole"
