"""What pages tell further: log lines, time lines, owners, two runs side by side, results kept apart, HTTP calls."""

from __future__ import annotations

import json
import re

import pytest
from http_client import Client
from scenario import charge
from visitor import Visitor, record_at, run_at

from oncekit.console import kept_result
from oncekit.console.here import run_here
from oncekit.console.json_text import set_out
from oncekit.console.local_log import log_of
from oncekit.console.local_source import LocalSource
from oncekit.console.run_view import run_view
from oncekit.local import LocalCloud
from oncekit.local.faults import fails, times_out

ID = "acme#charge-payment#order-1"
LARGE = {"operation": "build-report", "tenant": "acme", "idempotencyKey": "r", "payload": {"bytes": 9000}}


def test_what_a_function_printed_is_in_the_state_and_attempt_that_made_it(cloud: LocalCloud, visitor: Visitor) -> None:
    ended, _ = cloud.run(charge()), cloud.run(charge("order-2"))
    log = log_of(cloud, run_here(ended))
    assert set(log) == {(3, 0)} and "#order-1" in "".join(log[3, 0]) and "#order-2" not in "".join(log[3, 0])
    page = visitor.get(run_at(ended.arn)).text
    visits = page.split('<li id="visit-')
    assert ["<summary>log</summary>" in each for each in visits[1:4]] == [False, False, True]


PLAIN = ("stopped on the console", '{"a": 1}\n{"b": 2}', '{"a": 1} and more', "[1 2]", '{"a":')


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_that_is_no_json_is_shown_as_it_is(text: str) -> None:
    assert set_out(text).unescape() == text


def test_numbers_of_json_are_shown_as_they_came() -> None:
    shown = re.sub("<.*?>", "", str(set_out('{"a":1e400,"b":[0.1000000000000000055,"<b>"]}'))).split()
    assert shown == [
        "{",
        "&#34;a&#34;:",
        "1e400,",
        "&#34;b&#34;:",
        "[",
        "0.1000000000000000055,",
        "&#34;&lt;b&gt;&#34;",
        "]",
        "}",
    ]


@pytest.mark.parametrize(("applied", "attempts"), [(True, {(3, 0), (7, 0)}), (False, {(7, 0)})])
def test_each_attempt_that_started_has_lines_of_its_own(
    cloud: LocalCloud, applied: bool, attempts: set[tuple[int, int]]
) -> None:
    with cloud.intercept(times_out(applied=applied, state="ExecuteBusinessLogic", nth=1)):
        run = run_here(cloud.run(charge()))
    assert set(log_of(cloud, run)) == attempts


def test_the_line_of_time_has_a_part_for_each_attempt_and_its_length(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("ThrottlingException", state="AcquireLock", nth=range(1, 3))):
        run = run_here(cloud.run(charge()))
    view = run_view(run, None, run.started_at)
    lock = view.visits[1]
    assert [kind for _, _, kind in lock.parts] == ["failed", "failed", ""] and len(view.scale) == 3
    assert lock.parts[0][0] < lock.parts[1][0] < lock.parts[2][0] < lock.bar_x + lock.bar_width
    assert view.visits[-1].bar_x + view.visits[-1].bar_width <= 1000


def test_nothing_that_happened_at_once_has_a_scale(cloud: LocalCloud) -> None:
    run = run_here(cloud.run(charge()))
    assert run_view(run, None, run.started_at).scale == []


def test_a_duplicate_names_its_owner_and_attempt_and_leads_to_it(cloud: LocalCloud, visitor: Visitor) -> None:
    owner, duplicate = cloud.run(charge()), cloud.run(charge())
    rows = re.findall(r"<li class=.*?</li>", visitor.get("/rows").text, re.DOTALL)
    assert f'href="{run_at(owner.arn)}" title="The execution that did the work' in rows[0] and ">itself<" in rows[1]
    assert all("attempt </span>1" in row for row in rows)
    page = visitor.get(run_at(duplicate.arn)).text
    beside = f"/beside?one={owner.arn}&amp;other={duplicate.arn}"
    assert beside in page
    both = visitor.get(beside.replace("&amp;", "&")).text
    assert both.index("EXECUTED") < both.index("REPLAYED") and both.count("Finalize") == 1
    assert f"{run_at(duplicate.arn)}#visit-3" in both
    assert visitor.get(f"/beside?one={duplicate.arn}&other={owner.arn}").text == both, "the owner is always the first"


def test_two_runs_are_asked_for_by_two_that_there_are(cloud: LocalCloud, visitor: Visitor) -> None:
    assert visitor.get(f"/beside?one={cloud.run(charge()).arn}").status_code == 404


def test_a_result_that_is_kept_apart_comes_when_it_is_asked_for(
    cloud: LocalCloud, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = cloud.run(LARGE).output["resultRef"]
    at = "/result/acme%23build-report%23r"
    page = visitor.get(record_at("acme#build-report#r")).text
    assert f'data-later="{at}"' in page and f"{result['bytes']:,} bytes" in page and len(page) < 9000
    assert len(visitor.get(at).text) > 9000
    monkeypatch.setattr(kept_result, "MOST_BYTES", 1000)
    refused = visitor.get(at)
    assert refused.status_code == 404 and "too many to be shown" in refused.text
    monkeypatch.undo()
    cloud.client("s3").put_object(Bucket=result["bucket"], Key=result["key"], Body=b"{}")
    assert "not what the record says" in visitor.get(at).text
    cloud.client("s3").delete_object(Bucket=result["bucket"], Key=result["key"])
    assert "cannot be read" in visitor.get(at).text
    cloud.run(charge())
    assert "refers to no result" in visitor.get("/result/acme%23charge-payment%23order-1").text


def test_calls_of_the_http_api_are_listed_with_what_became_of_them(
    cloud: LocalCloud, source: LocalSource, visitor: Visitor
) -> None:
    assert "No call has come yet" in visitor.get("/calls").text
    version = source.version()
    client, body = Client(cloud), json.dumps(charge()["payload"])
    sent = {"Idempotency_Key": "<key>", "Content_Type": "application/json"}
    client.send("POST", "/operations/charge-payment", body, **sent)
    client.send("GET", "/nowhere", signed=False)
    newest, first = source.calls() or ()
    assert (first.method, first.path, first.status, first.key) == ("POST", "/operations/charge-payment", 200, "<key>")
    assert (newest.status, newest.arn) == (403, "") and source.version() > version, "a page is told"
    page = visitor.get("/calls").text
    assert "&lt;key&gt;" in page and f'href="{run_at(first.arn)}"' in page
    assert "default#charge-payment#&lt;key&gt;" in visitor.get(run_at(first.arn)).text
    cloud.reset()
    assert source.calls() == []


@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("run", "once show arn:"),
        ("record", "once show 'acme#ask-somebody#order-1'"),
        ("record", "once retry 'acme#ask-somebody#order-1'"),
        ("record", "once release 'acme#ask-somebody#order-1'"),
        ("record", "once resolve 'acme#ask-somebody#order-1' --result FILE"),
        ("waiting", "once ls"),
        ("waiting", "once retry --rejected --error InvalidRequest"),
    ],
)
def test_each_action_can_be_copied_as_the_command_that_does_it(
    cloud: LocalCloud, visitor: Visitor, page: str, command: str
) -> None:
    cloud.run(charge("bad") | {"onCrash": "never"})
    ended = cloud.run(charge() | {"operation": "ask-somebody"})
    at = {"run": run_at(ended.arn), "record": record_at("acme#ask-somebody#order-1"), "waiting": "/waiting"}[page]
    copied = re.findall(r'data-copy-text="(.*?)"', visitor.get(at).text)
    assert any(each.replace("&#39;", "'").startswith(command) for each in copied), copied
