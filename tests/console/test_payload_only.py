"""An operation whose function gets the payload alone: its members are the application's, whatever they are called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from visitor import Visitor, record_at, run_at

from oncekit.console.here import run_here
from oncekit.console.local_source import log_of
from oncekit.console.parts import part_of
from oncekit.console.story import of_one
from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import fails

FUNCTION = Path(__file__).parent / "functions" / "payload_alone"
ALONE = "probe"
ID = f"default#{ALONE}#k"
LIKE_ONCE: dict[str, Any] = {
    "operation": 1,
    "tenant": ["acme"],
    "idempotencyKey": {"a": 1},
    "payload": "text",
    "replyToken": None,
    "retentionDays": "many",
}
"""Members that Once's own event has, too, in other types."""


@pytest.fixture(autouse=True)
def its_function_gets_the_payload_alone(cloud: LocalCloud) -> Iterator[None]:
    with cloud.deployed_with({"PayloadOnlyOperations": ALONE}):
        cloud.add_function(ALONE, FUNCTION)
        yield


def request(**payload: Any) -> dict[str, Any]:
    return {"operation": ALONE, "idempotencyKey": "k", "payload": LIKE_ONCE | payload}


@pytest.mark.parametrize("attempt", ["second", 7, None, [], {}])
@pytest.mark.parametrize("lock", ["front-door", {"owner": "alice", "fence": ["north"]}, None])
def test_nothing_that_is_told_is_read_from_its_event(
    cloud: LocalCloud, visitor: Visitor, attempt: object, lock: object
) -> None:
    ended = cloud.run(request(attempt=attempt, lock=lock))
    run = run_here(ended)
    assert (
        json.loads(run.visits[2].attempts[0].parameters or "")["Payload"]
        == request(attempt=attempt, lock=lock)["payload"]
    )
    assert of_one(part_of(run), run.started_at) == (
        "Your function ran (attempt 1). Its answer is stored: every duplicate gets it."
    )
    assert "Your function ran (attempt 1)" in visitor.get("/").text
    for page in (record_at(ID), run_at(ended.arn), f"/visit/3/{ended.arn}"):
        assert visitor.get(page).status_code == 200
    assert not log_of(cloud, run)


def test_its_attempts_are_counted_all_the_same(cloud: LocalCloud, visitor: Visitor) -> None:
    with cloud.intercept(fails("Lambda.Unknown", state="ExecuteBusinessLogic", nth=range(1, 10))):
        ended = cloud.run(request(attempt="second"))
    assert "(attempts 1 to 9, " in of_one(part_of(run := run_here(ended)), run.started_at)
    page = visitor.get(run_at(ended.arn)).text
    assert page.count("<small>Lambda.Unknown</small>") == 9
