"""The page on operations that no execution ran: a function took the lock itself."""

from __future__ import annotations

import html
import io
from collections.abc import Callable
from typing import Any

import pytest
from invoking import A_LEASE, DIRECT, Direct, ask
from scenario import charge
from visitor import Visitor, listed, record_at, rows_of

from oncekit.console.local_source import LocalSource
from oncekit.local import LocalCloud
from oncekit.local.engine.service_calls import Call

FAILS = {"raise": "Weather", "message": "it rains"}


@pytest.fixture
def function(cloud: LocalCloud) -> Direct:
    return Direct(cloud)


def page_of(visitor: Visitor) -> str:
    answer = visitor.get(record_at(DIRECT))
    assert answer.status_code == 200
    return html.unescape(answer.text)


def sweep(cloud: LocalCloud) -> None:
    with cloud.delivering():
        cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]
        cloud.settle()


def test_it_is_listed_where_its_time_puts_it(cloud: LocalCloud, visitor: Visitor, function: Direct) -> None:
    cloud.run(charge())
    cloud.clock.advance(5)  # type: ignore[attr-defined]
    function.invoke(ask())
    cloud.clock.advance(5)  # type: ignore[attr-defined]
    request = function.request
    cloud.run(charge("order-2"))
    page = visitor.get("/").text
    assert [key for _, key in listed(page)] == ["order-2", "k", "order-1"]
    assert "Your function was started once. Its answer is stored: every duplicate gets it." in rows_of(page)[1]
    assert [key for _, key in listed(visitor.get(f"/?text={request}").text)] == ["k"]


def test_an_open_page_is_told_of_a_lock_and_of_an_end(source: LocalSource, function: Direct) -> None:
    before = source.version()
    function.invoke(ask("k", {"die": "before"}))
    assert source.version() == before + 1
    function.invoke(ask("other"))
    assert source.version() == before + 3


def test_its_page_has_the_invocation_and_what_it_printed(visitor: Visitor, function: Direct) -> None:
    function.invoke(ask("k", FAILS), ask("other", FAILS))
    page = page_of(visitor)
    name = f"request {function.request} of {function.name}"
    assert f"{name} got the lock" in page and f"log of {name}" in page
    assert "Waits for the next sweep, which has it run" in page
    assert "Decide how it goes on" in page and "None is known any more" not in page and "Send again" not in page


@pytest.mark.parametrize("act", [FAILS, {"die": "after"}])
def test_after_a_recovery_it_has_both(
    cloud: LocalCloud, visitor: Visitor, function: Direct, act: dict[str, Any]
) -> None:
    function.invoke(ask("k", act, {}))
    name = f"request {function.request} of {function.name}"
    sweep(cloud)
    page = page_of(visitor)
    assert f"log of {name}" in page and "full lane" in page
    assert "Your function ran (attempt 2)" in page and page.count("took over") == (act is not FAILS)


def test_what_recovery_quarantined_is_told_once(cloud: LocalCloud, visitor: Visitor, function: Direct) -> None:
    function.invoke(ask("k", {"die": "after"}, on_crash="quarantine"))
    assert "If its owner has not ended it when its lease is over, a sweep quarantines it" in page_of(visitor)
    sweep(cloud)
    page = page_of(visitor)
    assert page.count("Quarantined (") == 1 and page.count("took over") == 1


def test_a_failure_of_a_machine_that_a_function_tried_again_is_listed_as_done(
    cloud: LocalCloud, visitor: Visitor, function: Direct
) -> None:
    def fails(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        error = io.BytesIO(b'{"errorType": "PermanentError", "errorMessage": "no money"}')
        answer = {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": error}
        return answer if call.state == "ExecuteBusinessLogic" else proceed()

    with cloud.intercept(fails):
        cloud.run({"operation": "direct", "idempotencyKey": "k", "payload": ask()["payload"]})
    cloud.clock.advance(5)  # type: ignore[attr-defined]
    function.invoke(ask(on_failed="retry"))
    page = visitor.get("/").text
    assert listed(page) == [("COMPLETED", "k")] and "Asked in the direct lane" in page_of(visitor)
