"""Log lines of functions on the console of a deployed stack: read in CloudWatch Logs when somebody asks for them."""

from __future__ import annotations

import datetime
import html
import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from scenario import charge
from visitor import Visitor, record_at, run_at

from oncekit.cli.deployed import log_lines, stack_log
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.deployed.stack_log import request_id_of
from oncekit.cli.deployed.stack_source import StackSource
from oncekit.cli.here.console import LocalActions
from oncekit.console.run import Attempt, Failure, Run
from oncekit.local import LocalCloud

ID = "acme#charge-payment#order-1"
GROUP = "once-ChargePaymentLogGroup"
"""As the template says."""
BEGAN = datetime.datetime.fromtimestamp(int(time.time()) - 3600, datetime.UTC)
"""By the clock of this machine: moto keeps no lines that are old by it."""
ONE, OTHER = "88fba57b-adbe-467f-abf4-daca36fc9028", "a009f025-b3a5-4435-bd23-623772f02bc1"


@pytest.fixture
def stack(cloud: LocalCloud) -> Stack:
    return replace(LocalActions(cloud, Path())._stack(), now=time.time)


@contextmanager
def logged(cloud: LocalCloud, *lines: tuple[float, str], stream: str = "a") -> Iterator[None]:
    """Lines in the log of the function, each with the seconds since the attempt began."""
    client = cloud.client("logs")
    client.create_log_group(logGroupName=GROUP)
    try:
        client.create_log_stream(logGroupName=GROUP, logStreamName=stream)
        begin = int(BEGAN.timestamp() * 1000)
        events = [{"timestamp": begin + int(at * 1000), "message": text} for at, text in lines]
        client.put_log_events(logGroupName=GROUP, logStreamName=stream, logEvents=events)
        yield
    finally:
        client.delete_log_group(logGroupName=GROUP)


def own(message: str, request_id: str = ONE, attempt: int = 1) -> str:
    return json.dumps({"message": message, "id": ID, "attempt": attempt, "function_request_id": request_id})


def opened(stack: Stack, arn: str, monkeypatch: pytest.MonkeyPatch, **call: Any) -> Visitor:
    """Somebody who opened the run, which was at that time; its call of business logic is another one in this."""
    source = StackSource(stack)
    source.look()
    run, definition = source.run(arn)
    visits = [replace(each, attempts=[_at(it, call) for it in each.attempts]) for each in run.visits]
    monkeypatch.setattr(source, "run", lambda _: (replace(run, visits=visits), definition))
    return Visitor(source, None)


def text_of(page: str) -> str:
    """What people read."""
    return html.unescape(re.sub("<.*?>", "", page))


def _at(call: Attempt, other: dict[str, Any]) -> Attempt:
    ended = BEGAN + datetime.timedelta(seconds=2)
    return replace(call, began_at=BEGAN, ended_at=ended, **other if call.invokes else {})


def answer(request_id: str) -> str:
    """Of a call of a function, as Step Functions has it in a history."""
    return json.dumps(
        {"StatusCode": 200, "Payload": {"requestId": OTHER}, "SdkResponseMetadata": {"RequestId": request_id}}
    )


def test_a_state_offers_the_log_of_its_function_and_no_other_does(
    cloud: LocalCloud, stack: Stack, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = cloud.run(charge())
    page = opened(stack, ended.arn, monkeypatch).get(run_at(ended.arn)).text
    assert re.findall(r'data-later="(/log/.*?)"', page) == [f"/log/3/0/{ended.arn}"]
    assert "data-anew" not in visitor.get(run_at(ended.arn)).text, "here each state has its lines"
    assert visitor.get(f"/log/3/0/{ended.arn}").status_code == 404


def test_the_lines_of_an_attempt_are_found_by_the_request_id_in_its_answer(
    cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = cloud.run(charge())
    lines = [
        (-3, f"START RequestId: {OTHER} Version: 1"),
        (-2, "of another one"),
        (-1, f"END RequestId: {OTHER}"),
        (0, f"START RequestId: {ONE} Version: 1"),
        (0.5, "a plain print with <b>"),
        (0.6, '{"id": 17, "message": "a line that has an id of its own"}'),
        (1, f"END RequestId: {ONE}"),
        (90, "of a later one"),
    ]
    with logged(cloud, *lines):
        told = opened(stack, ended.arn, monkeypatch, answer=answer(ONE)).get(f"/log/3/0/{ended.arn}")
    assert (
        told.status_code == 200 and "a plain print with &lt;b&gt;" in told.text and "has an id of its own" in told.text
    )
    assert "another one" not in told.text and "later one" not in told.text and "RequestId" not in told.text


def test_without_a_request_id_lines_with_the_id_are_shown(
    cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = cloud.run(charge())
    with logged(cloud, (-60, own("long before", OTHER)), (0.5, own("begins")), (0.6, "printed"), (1, own("ends"))):
        told = opened(stack, ended.arn, monkeypatch).get(f"/log/3/0/{ended.arn}").text
    assert "begins" in told and "printed" in told and "ends" in told and "long before" not in told


@pytest.mark.parametrize("lines", [[], [(0.5, "printed without a name")]])
def test_what_cannot_be_told_apart_is_said(
    cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch, lines: Sequence[tuple[float, str]]
) -> None:
    ended = cloud.run(charge())
    with logged(cloud, *lines or [(-90, "x")]):
        told = opened(stack, ended.arn, monkeypatch).get(f"/log/3/0/{ended.arn}").text
    assert f"No line of that time in {GROUP} names {ID}, and the history tells no request id" in told
    assert "open it again" in told
    never = opened(stack, ended.arn, monkeypatch, answer=answer(ONE)).get(f"/log/3/0/{ended.arn}").text
    assert f"No line of that time in {GROUP} names {ID} or the request id {ONE}" in never, (
        "a group that is not there, too"
    )


def test_more_lines_than_are_shown_are_said(cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "MOST_LINES", 2)
    ended = cloud.run(charge())
    with logged(cloud, (0.1, own("one")), (0.2, own("two")), (0.3, own("three"))):
        told = opened(stack, ended.arn, monkeypatch).get(f"/log/3/0/{ended.arn}").text
    assert "two" in told and "three" not in told and "more than these 2 lines" in told


def test_a_permission_that_is_missing_is_named_in_one_line(
    cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(**_: Any) -> None:
        message = "User: arn:aws:iam::1:user/u is not authorized to perform: logs:FilterLogEvents"
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": message}}, "FilterLogEvents")

    ended = cloud.run(charge())
    events = stack.client("logs").meta.events
    events.register("provide-client-params.cloudwatch-logs.FilterLogEvents", deny)
    try:
        told = opened(stack, ended.arn, monkeypatch).get(f"/log/3/0/{ended.arn}")
    finally:
        events.unregister("provide-client-params.cloudwatch-logs.FilterLogEvents", deny)
    [line] = re.findall(r"<p.*?>(.*)</p>", told.text)
    assert told.status_code == 200 and "to perform: logs:FilterLogEvents" in line and "--profile" in line


def test_a_log_that_is_too_large_is_not_searched_to_its_end(
    cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Pages:
        """CloudWatch Logs with pages that are empty, and never the last one."""

        exceptions = cloud.client("logs").exceptions

        def get_paginator(self, _: str) -> Pages:
            return self

        def paginate(self, **_: Any) -> Iterator[dict[str, Any]]:
            while True:
                asked.append(1)
                yield {"events": [], "nextToken": "more"}

    ended = cloud.run(charge())
    stack.clients["logs"] = Pages()
    told = html.unescape(opened(stack, ended.arn, monkeypatch).get(f"/log/3/0/{ended.arn}").text)
    assert f"`once logs '{ID}'` searches all of it" in told and len(asked) == stack_log.MOST_PAGES


@pytest.mark.parametrize("at", ["/log/2/0/", "/log/3/1/", "/log/99/0/"])
def test_where_no_function_was_invoked_is_no_log(
    cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    ended = cloud.run(charge())
    assert "invoked no function there" in opened(stack, ended.arn, monkeypatch).get(at + ended.arn).text


def test_of_the_fast_lane_the_log_is_read_by_the_id_on_the_page_of_the_record(
    cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = cloud.run(charge(), lane="fast")
    source = StackSource(stack)
    record = {
        **(source.record(ID) or {}),
        "acquiredAt": BEGAN.isoformat(),
        "finishedAt": BEGAN.isoformat(),
        "attempts": 2,
    }
    monkeypatch.setattr("oncekit.cli.deployed.records.find", lambda *_: record)
    visitor = Visitor(source, None)
    address = "/record-log/acme%23charge-payment%23order-1"
    assert f'data-later="{address}"' in visitor.get(record_at(ID)).text
    assert "keep no history" in visitor.get(run_at(fast.arn)).text
    with logged(cloud, (-600, own("long before", OTHER)), (0.5, own("by the id"))):
        told = visitor.get(address).text
    assert "attempt 1" in told and "by the id" in told and "long before" not in told
    assert "1 of its 2 attempts was not found: " in told


CAUSES = {
    json.dumps({"errorMessage": f"order {OTHER}", "errorType": "E", "requestId": ONE}): ONE,
    json.dumps({"errorType": "Runtime.ExitError", "errorMessage": f"RequestId: {ONE} Error: Runtime exited"}): ONE,
    json.dumps({"errorMessage": f"2026-01-01T00:00:00.000Z {ONE} Task timed out after 2.00 seconds"}): ONE,
    json.dumps({"errorType": "Error", "errorMessage": f"there is no order {OTHER}", "trace": []}): "",
    json.dumps({"requestId": f'{ONE}" "'}): "",
    "not JSON": "",
}


@pytest.mark.parametrize(("cause", "request_id"), CAUSES.items())
def test_the_error_of_an_attempt_tells_its_request_id_only_where_lambda_says_it(cause: str, request_id: str) -> None:
    assert request_id_of(Attempt("lambda:invoke", None, BEGAN, BEGAN, Failure("E", cause), None)) == request_id


def test_a_run_keeps_what_each_call_answered(cloud: LocalCloud, stack: Stack) -> None:
    run: Run = StackSource(stack).run(cloud.run(charge()).arn)[0]
    assert [json.loads(each.answer or "{}").get("StatusCode") for visit in run.visits for each in visit.attempts] == [
        *(None, 200, None)
    ]
