"""The console of a deployed stack: what it lists and shows, read-only."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from scenario import charge
from visitor import Visitor, record_at, run_at

from oncekit.cli.deployed import stack_source
from oncekit.cli.deployed.console import serve
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.deployed.stack_source import StackSource
from oncekit.cli.here.console import LocalActions
from oncekit.cli.problem import Problem
from oncekit.console.local_source import LocalSource
from oncekit.local import LocalCloud, VirtualClock
from oncekit.local.faults import fails

ID = "acme#charge-payment#order-1"


@pytest.fixture
def stack(cloud: LocalCloud) -> Stack:
    return LocalActions(cloud, Path())._stack()


def test_it_lists_and_shows_what_the_local_console_does(cloud: LocalCloud, source: LocalSource, stack: Stack) -> None:
    for request in (charge(), charge(), charge("order-2") | {"operation": "ask-somebody"}, {}):
        cloud.run(request)
    there = StackSource(stack)
    there.look()
    assert [(row.arn, row.id, row.outcome, row.kind) for row in there.rows()] == [
        (row.arn, row.id, row.outcome, row.kind) for row in source.rows()
    ]
    first = source.rows()[-1].arn
    assert there.way(first) == (), "no history is read for a list"
    assert there.run(first)[0].visits == source.run(first)[0].visits
    assert there.way(first) == source.way(first)
    assert (there.record(ID) or {})["status"] == "COMPLETED" and there.record("a#b#c") is None


def test_a_look_asks_only_for_what_is_new_or_went_on(cloud: LocalCloud, stack: Stack) -> None:
    asked: list[str] = []
    cloud.run({})
    there = StackSource(stack)
    stack.client("stepfunctions").meta.events.register(
        "before-call.sfn.DescribeExecution",
        lambda params, **_: asked.append(json.loads(params["body"])["executionArn"]),
    )
    there.look()
    version = there.version()
    there.look()
    assert len(asked) == 1 and there.version() == version
    new = cloud.run(charge())
    there.look()
    assert asked[1:] == [new.arn] and there.version() > version


def test_more_executions_than_one_look_describes_are_described_by_the_next(
    cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_source, "DESCRIBED_AT_ONCE", 2)
    for number in range(3):
        cloud.run(charge(f"order-{number}"))
    there = StackSource(stack)
    there.look()
    assert [row.key for row in there.rows()] == ["order-2", "order-1", ""]
    there.look()
    assert [row.key for row in there.rows()] == ["order-2", "order-1", "order-0"]


def test_a_look_that_was_cut_off_is_made_up_for_by_the_next(cloud: LocalCloud, stack: Stack) -> None:
    """It has described one execution when the call for the other fails."""
    there = StackSource(stack)
    for number in range(2):
        cloud.run(charge(f"order-{number}"))
    client = stack.client("stepfunctions")
    asked = iter(("answered", "throttled"))

    def throttle(**_: object) -> None:
        if next(asked) == "throttled":
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "not now"}}, "DescribeExecution")

    event = "before-call.sfn.DescribeExecution"
    client.meta.events.register(event, throttle, unique_id="once")
    with pytest.raises(Problem):
        there.look()
    client.meta.events.unregister(event, unique_id="once")
    there.look()
    assert [row.key for row in there.rows()] == ["order-1", "order-0"]


def test_an_execution_that_was_redriven_and_ended_alike_is_described_again(cloud: LocalCloud, stack: Stack) -> None:
    with cloud.intercept(fails("AccessDeniedException", state="Finalize", nth=0)):
        dead = cloud.run(charge())
        there = StackSource(stack)
        there.look()
        before = there.rows()[0]
        clock = cloud.clock
        assert isinstance(clock, VirtualClock)
        clock.advance(60)
        cloud.client("stepfunctions").redrive_execution(executionArn=dead.arn)
        cloud.wait(dead.arn)
    there.look()
    after = there.rows()[0]
    assert after.outcome == before.outcome and before.ended_at and after.ended_at and after.ended_at > before.ended_at


def test_an_execution_that_is_not_described_yet_is_not_said_to_name_no_id(
    cloud: LocalCloud, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_source, "DESCRIBED_AT_ONCE", 0)
    cloud.run(charge())
    there = StackSource(stack)
    there.look()
    page = Visitor(there, None).get("/").text
    assert "has no id" not in page and "not read yet" in page


def test_nothing_can_be_changed_and_what_cannot_be_shown_is_said(cloud: LocalCloud, stack: Stack) -> None:
    there = StackSource(stack)
    fast = cloud.run(charge(), lane="fast")
    full = cloud.run(charge())
    there.look()
    visitor = Visitor(there, None)
    assert "read-only" in visitor.get("/").text and "COMPLETED" in visitor.get(record_at(ID)).text
    assert "keep no history" in visitor.get(run_at(fast.arn)).text
    assert visitor.get(run_at(full.arn)).status_code == 200
    for path in ("/start", "/advance", "/replay", "/discard", f"/stop/{full.arn}", "/act/retry/a%23b%23c"):
        assert visitor.post(path, {"request": "{}"}).status_code == 404
    assert "once ls" in visitor.get("/waiting").text


def test_it_is_served_until_it_is_stopped_and_prints_the_address(
    cloud: LocalCloud, stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    stopping = threading.Event()
    stopping.set()
    serve(stack, 0, stopping)
    told = capsys.readouterr()
    assert told.out.startswith("http://127.0.0.1:") and "?key=" in told.out and "read-only" in told.err
