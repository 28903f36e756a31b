"""The parts that pages are made of, each by itself: listings, records, data as text, log lines."""

from __future__ import annotations

import datetime
import re

import pytest
from scenario import charge

from oncekit.console.here import run_here
from oncekit.console.json_text import as_it_is, set_out
from oncekit.console.logs import log_of
from oncekit.console.words import iso
from oncekit.contract.requests import id_of
from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import times_out

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize("part", ["tenant", "operation"])
def test_a_request_that_is_refused_for_its_names_is_of_no_other_requests_id(part: str) -> None:
    assert id_of(charge("1") | {part: f"{charge()[part]}#order"}) is None
    assert id_of(charge("a#b")) == "acme#charge-payment#a#b"


def test_only_an_array_of_one_is_a_request() -> None:
    assert id_of([charge()]) is not None and id_of([charge(), charge("order-2")]) is None and id_of([]) is None


def test_what_a_trigger_passed_on_is_about_the_id_of_the_request_that_is_picked() -> None:
    once = {"operation": "charge-payment", "key": ["order", "id"], "payload": [], "onCrash": "retry"}
    for given in ({"event": {"order": {"id": 7}}, "once": once}, [{"body": {"order": {"id": "7"}}, "once": once}]):
        assert id_of(given) == "default#charge-payment#7"
    assert id_of({"body": {"order": []}, "once": once}) is None


# ---- data as text ----


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_line_that_ends_in_any_way_is_a_line(end: str) -> None:
    assert as_it_is(end.join(["[ERROR] KeyError: 'x'", "Traceback", "  a\x1b"])).unescape().split("\n") == [
        *("[ERROR] KeyError: 'x'", "Traceback", "  a\\x1b"),
    ]


@pytest.mark.parametrize("text", ["stopped on the console", '{"a": 1}\n{"b": 2}', '{"a": 1} and more', "[1 2]", "{"])
def test_a_text_that_is_no_json_is_shown_as_it_is(text: str) -> None:
    assert set_out(text).unescape() == text


def test_numbers_of_json_are_shown_as_they_came() -> None:
    shown = re.sub("<.*?>", "", str(set_out('{"a":1e400,"b":[0.1000000000000000055,"<b>"]}')))
    said = '{ "a": 1e400, "b": [ 0.1000000000000000055, "<b>" ] }'.replace('"', "&#34;").replace("<b>", "&lt;b&gt;")
    assert shown.split() == said.split()


@pytest.mark.parametrize(
    "text", ['"\\u0000<b>"', '"\\u0000\\" <b>"', '{"<b>": "<b>\\": "}', '{"result": "[\\"<b>\\"]"}']
)
def test_whatever_json_contains_is_text_and_never_markup(text: str) -> None:
    assert "<b>" not in set_out(text) and "&lt;b&gt;" in set_out(text)


def test_a_result_in_an_answer_is_shown_as_the_json_that_it_is() -> None:
    shown = re.sub("<.*?>", "", str(set_out('{"result": "{\\"a\\":1.10}", "other": "{}"}')))
    assert shown.split() == '{ "result": { "a": 1.10 }, "other": "{}" }'.replace('"', "&#34;").split()


def test_a_time_of_a_machine_elsewhere_is_told_in_utc() -> None:
    """As boto3 gives it: in the zone of the machine."""
    assert iso(NOON.astimezone(datetime.timezone(datetime.timedelta(hours=2)))) == "2026-01-01T12:00:00.000Z"


# ---- log lines ----


def test_lines_are_of_no_other_execution_under_the_same_fence(cloud: LocalCloud) -> None:
    ended, _ = cloud.run(charge()), cloud.run(charge("order-2"))
    log = log_of(cloud, run_here(ended))
    assert set(log) == {(3, 0)} and "#order-1" in "".join(log[3, 0]) and "#order-2" not in "".join(log[3, 0])


@pytest.mark.parametrize(("applied", "attempts"), [(True, {(3, 0), (9, 0)}), (False, {(9, 0)})])
def test_each_attempt_that_started_has_lines_of_its_own(
    cloud: LocalCloud, applied: bool, attempts: set[tuple[int, int]]
) -> None:
    with cloud.intercept(times_out(applied=applied, state="ExecuteBusinessLogic", nth=1)):
        run = run_here(cloud.run(charge()))
    assert set(log_of(cloud, run)) == attempts
