"""What pages say against what the record and the histories say."""

from __future__ import annotations

import dataclasses
import datetime
import html
import re

import pytest
from scenario import charge
from visitor import Visitor, record_at, run_at

from oncekit.console.listing import Filter, listing
from oncekit.console.record_view import record_view
from oncekit.console.requests import id_of
from oncekit.console.rows import Row
from oncekit.local import LocalCloud
from oncekit.local.faults import before

ID = "acme#charge-payment#order-1"
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def test_the_owner_of_a_record_in_the_fast_lane_leads_to_its_execution(cloud: LocalCloud, visitor: Visitor) -> None:
    ended = cloud.run(charge(), lane="fast")
    [(address, name)] = re.findall(r'<dt>Owner</dt><dd><a href="(.*?)">(.*?)</a>', visitor.get(record_at(ID)).text)
    assert (address, name) == (run_at(ended.arn), ended.name)
    assert visitor.get(address).status_code == 200


def test_an_open_operation_of_the_fast_lane_names_its_execution(cloud: LocalCloud, visitor: Visitor) -> None:
    seen: list[str] = []
    with cloud.intercept(before(lambda: seen.append(visitor.get("/waiting").text), state="ExecuteBusinessLogic")):
        ended = cloud.run(charge(), lane="fast")
    assert f"<small>{ended.name}</small>" in seen[0]


def test_a_lock_that_was_released_did_not_fail(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(charge() | {"operation": "ask-somebody"})
    at = record_at("acme#ask-somebody#order-1")
    assert visitor.post(at.replace("/record/", "/act/release/"), {}).status_code == 303
    page = visitor.get(at).text
    assert "</span> RELEASED" in page and "the next request with this id starts afresh" in page


@pytest.mark.parametrize(("expires", "said"), [(-1, True), (0, False), (1, False), (None, False)])
def test_a_record_that_has_expired_and_is_still_there_counts_no_more(expires: int | None, said: bool) -> None:
    end = {} if expires is None else {"expiresAt": int(NOON.timestamp()) + expires}
    view = record_view(ID, {"status": "COMPLETED", **end}, (), NOON)
    assert view.expired is said


def row(name: str, outcome: str, began: float, ended: float | None) -> Row:
    at = [None if each is None else NOON + datetime.timedelta(seconds=each) for each in (began, ended)]
    assert at[0] is not None
    return Row(f"arn:{name}", name, ID, "charge-payment", "acme", "order-1", "full", "x", outcome, at[0], at[1])


def test_the_owner_of_an_answer_is_no_execution_that_began_after_it() -> None:
    """After a record has expired, its id is executed again."""
    rows = [
        row("running", "RUNNING", 9, None),
        row("again", "EXECUTED", 5, 6),
        row("waited", "REPLAYED", 1, 3),
        row("first", "EXECUTED", 2, 2.5),
        row("refused", "PayloadMismatch", 1, 1),
    ]
    owners = {each.row.name: each.owner and each.owner.name for each in listing(rows, Filter()).rows}
    assert owners == {"running": "again", "again": "again", "waited": "first", "first": "first", "refused": None}


@pytest.mark.parametrize("part", ["tenant", "operation"])
def test_a_request_that_is_refused_for_its_names_is_of_no_other_requests_id(part: str) -> None:
    request = charge("1") | {part: f"{charge()[part]}#order"}
    assert id_of(request) is None
    assert id_of(charge("a#b")) == "acme#charge-payment#a#b"


def test_what_others_wrote_is_not_claimed_to_be_shown(cloud: LocalCloud, visitor: Visitor) -> None:
    cloud.run(charge())
    page = visitor.get(record_at(ID)).text
    assert "Every write" not in page and "recovery or an operator" in html.unescape(page)


def test_of_rows_below_one_that_left_the_filter_none_comes_twice() -> None:
    """The last row that a page of running ones has has ended meanwhile."""
    rows = [row(f"n{number}", "EXECUTED", -number, None) for number in range(5)]
    kinds = ["running", "running", "succeeded", "running", "running"]
    rows = [dataclasses.replace(each, kind=kind) for each, kind in zip(rows, kinds, strict=True)]
    found = listing(rows, Filter(kind="running", after="arn:n2"))
    assert [each.row.name for each in found.rows] == ["n3", "n4"]
