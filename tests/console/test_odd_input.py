"""What was typed, pasted or written by others and is not as it should be: said, and never an error of the server."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from scenario import charge
from visitor import Visitor, record_at, run_at

from oncekit.cli.here.console import LocalActions
from oncekit.console.local_source import LocalSource
from oncekit.local import LocalCloud

ID = "acme#charge-payment#odd"


@pytest.mark.parametrize("number", ["²", "9" * 5000, "١", "-1", "1.5", "", "0"])
def test_a_number_that_is_none_is_refused_with_the_reason(visitor: Visitor, number: str) -> None:
    times = visitor.post("/start", {"request": "{}", "times": number})
    assert times.status_code == 422 and "from 1 to 1000" in times.text
    seconds = visitor.post("/advance", {"seconds": number})
    assert seconds.status_code == 409 and "how far" in seconds.text


@pytest.mark.parametrize(
    "odd",
    [
        {"resultRef": {"M": {}}},
        {"resultRef": {"M": {"bucket": {"S": "b"}, "key": {"S": "k"}, "bytes": {"S": "x"}, "sha256": {"S": "x"}}}},
        {"error": {"S": "a text"}},
        {"error": {"M": {"name": {"NULL": True}}}},
        {"steps": {"M": {"a": {"B": b"\xff"}, "b": {"NS": ["1", "2"]}}}},
        {"leaseExpiresAt": {"S": "soon"}},
        {"leaseExpiresAt": {"N": "1e40"}},
        {"expiresAt": {"S": "never"}},
        {"fence": {"S": "<b>"}, "owner": {"N": "1"}},
    ],
)
def test_a_record_with_attributes_that_once_writes_otherwise_is_shown(
    cloud: LocalCloud, visitor: Visitor, odd: dict[str, Any]
) -> None:
    item = {"id": {"S": ID}, "status": {"S": "IN_PROGRESS"}, "openShard": {"S": "IN_PROGRESS#0"}, **odd}
    item.setdefault("leaseExpiresAt", {"N": "1"})
    cloud.client("dynamodb").put_item(TableName=cloud.outputs["TableName"], Item=item)
    for page in (record_at(ID), "/waiting"):
        answer = visitor.get(page)
        assert answer.status_code == 200 and ID in answer.text and "<b>&lt;" not in answer.text
    assert visitor.get("/result/acme%23charge-payment%23odd").status_code == 404


ODD_MESSAGES = (
    "no JSON",
    "[]",
    "null",
    '{"error": {"a": 1}, "executionArn": 7, "inputText": 5}',
    '{"error": "Unavailable", "executionArn": "x", "inputText": "no JSON"}',
)


@pytest.mark.parametrize("body", ODD_MESSAGES)
def test_a_message_that_is_no_refused_request_does_not_hide_the_others(
    cloud: LocalCloud, visitor: Visitor, body: str
) -> None:
    cloud.run(charge() | {"onCrash": "never"})
    url = cloud.resources["RejectedRequestsQueue"]
    cloud.client("sqs").send_message(QueueUrl=url, MessageBody=body)
    page = visitor.get("/waiting")
    assert page.status_code == 200 and "requests with InvalidRequest again?" in page.text
    assert "requests with  again?" not in page.text
    assert "--error ` deletes it" not in page.text, "no command knows a message without an error"
    assert "<span>RejectedRequestsQueue</span> <b>2</b>" in page.text


def test_an_event_that_cannot_be_read_does_not_hide_the_others(source: LocalSource, tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    (events / "good.json").write_text('{"is": "good"}')
    (events / "folder.json").mkdir()
    (events / "lost.json").symlink_to("nowhere")
    Path(os.fsdecode(os.fsencode(events) + b"/\xff.json")).write_text("{}")
    visitor = Visitor(source, LocalActions(None, tmp_path))  # type: ignore[arg-type]  # only the folder is asked for
    page = visitor.get("/start?event=good")
    assert page.status_code == 200 and "is&#34;: &#34;good" in page.text
    listed = re.findall(r'href="/start\?event=.*?>(.*?)</a>', page.text)
    assert sorted(listed) == ["good", "\N{REPLACEMENT CHARACTER}"]


def test_the_most_that_is_started_and_moved_ahead_at_once(visitor: Visitor) -> None:
    assert visitor.post("/start", {"request": "{}", "times": "1001"}).status_code == 422
    assert "how far" in visitor.post("/advance", {"seconds": "604801"}).text
    assert "cannot be moved" in visitor.post("/advance", {"seconds": "604800"}).text


def test_a_run_with_much_data_tells_of_each_state_when_it_is_opened(cloud: LocalCloud, visitor: Visitor) -> None:
    """Its page is written anew with each event."""
    payload = {"orderId": "1", "amount": 1, "currency": "EUR", "note": "x" * 120_000}
    ended = cloud.run(charge() | {"payload": payload})
    page = visitor.get(run_at(ended.arn)).text
    assert f'data-later="/visit/2/{ended.arn}"' in page and page.count("x" * 1000) <= 2 * 120
    assert "x" * 120_000 in visitor.get(f"/visit/1/{ended.arn}").text
