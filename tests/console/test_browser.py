"""The console in a real browser: by clicks and keys, in light and dark, from 360 to 2,560 pixels, and with axe."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scenario import charge

from oncekit.cli.here.console import LocalActions
from oncekit.console.local_source import LocalSource
from oncekit.console.server.app import ConsoleServer
from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import fails

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
AXE = ROOT / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
RECORD = "/record/acme%23charge-payment%23order-1"
QUARANTINED = "/record/acme%23ask-somebody%23order-3"
QUICK_MS = 30_000
"""How long a test waits at most for what should be there at once: a busy machine is no verdict."""


@pytest.fixture
def console(cloud: LocalCloud) -> Iterator[ConsoleServer]:
    """A console of a cloud in which something happened: an answer after a crash, duplicates, refusals, quarantine."""
    source = LocalSource(cloud)
    with source.watching():
        server = ConsoleServer(source, LocalActions(cloud, ROOT))
        with cloud.intercept(fails("Lambda.Unknown", state="ExecuteBusinessLogic", nth=1)):
            cloud.run(charge())
        for request in (
            charge(),
            charge("order-2"),
            charge(amount=1),
            charge("order-3") | {"operation": "ask-somebody"},
        ):
            cloud.run(request)
        cloud.run(charge("order-4"), lane="fast")
        yield server
        server.close()


@pytest.fixture
def page(browser: Browser, console: ConsoleServer) -> Iterator[Page]:
    """A tab at the requests; what the browser complains of fails the test."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, base_url=console.origin, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(QUICK_MS)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(console.address)
    yield page
    context.close()
    expected = ("net::ERR_", "status of 409")  # no connection, and what is refused on purpose
    assert [each for each in complaints if not any(one in each for one in expected)] == []


def until(page: Page, selector: str, count: int) -> None:
    """Wait until so many elements are there."""
    from playwright.sync_api import expect

    expect(page.locator(selector)).to_have_count(count, timeout=QUICK_MS)


def keys_of(page: Page) -> list[str]:
    return page.locator("#rows li .what b").all_text_contents()  # a row that was not painted yet has no inner text


def statuses_of(page: Page) -> list[str]:
    return page.locator("#rows li .outcome").all_text_contents()


def open_run(page: Page, key: str) -> None:
    """The owner of an operation, from the list by two clicks."""
    page.goto(f"/?text={key}")
    page.click("#rows li .what")
    page.click(".moments li.owner a")
    page.wait_for_selector("#run")


def test_the_list_goes_on_while_requests_come(page: Page, cloud: LocalCloud) -> None:
    page.wait_for_selector("#rows li >> nth=3")
    cloud.run(charge("while-it-is-open"))
    page.wait_for_selector("text=while-it-is-open")
    assert keys_of(page)[:2] == ["while-it-is-open", "order-4"]
    page.wait_for_selector('[data-count="COMPLETED"]:text-is("4")')


def test_requests_are_filtered_and_back_finds_the_same_ones(page: Page) -> None:
    page.fill("[name=text]", "order-1")
    until(page, "#rows li", 1)
    page.wait_for_url("**/?text=order-1")  # it can be linked to
    assert statuses_of(page) == ["✓COMPLETED"]
    page.click("#rows li")
    page.click("nav.crumbs >> text=Requests")
    page.wait_for_url("**/?text=order-1")
    page.fill("[name=text]", "")
    page.click("text=Quarantined")
    until(page, "#rows li", 1)
    page.click(".tabs label >> nth=0")
    page.select_option("[name=operation]", "charge-payment")
    until(page, "#rows li", 3)
    page.wait_for_url("**/?operation=charge-payment")


def test_what_was_on_another_day_of_the_clouds_clock_has_its_date(page: Page, cloud: LocalCloud) -> None:
    cloud.clock.advance(2 * 86_400)  # type: ignore[attr-defined]
    cloud.run(charge("order-5"))
    page.goto("/")
    page.wait_for_selector("#rows li >> nth=4")
    times = page.locator("#rows li time").all_text_contents()
    assert [bool(re.match(r"[A-Z][a-z]{2} \d", each)) for each in times] == [False, *[True] * 4], times


def test_an_answer_is_shown_before_it_is_stored(page: Page, cloud: LocalCloud) -> None:
    page.goto(QUARANTINED)
    page.fill("[name=result]", '{"paid": true}')
    page.click(".resolve button")
    page.wait_for_selector("[data-asks] >> text=paid")
    assert (cloud.record("acme#ask-somebody#order-3") or {})["status"] == "QUARANTINED"
    page.click("text=Store it")
    page.wait_for_selector(".notice.good")
    assert (cloud.record("acme#ask-somebody#order-3") or {})["result"] == '{"paid":true}'


def test_a_failed_attempt_of_a_run_is_seen_when_its_state_is_opened(page: Page) -> None:
    open_run(page, "order-1")
    page.click("#visit-3 > details > summary")
    page.wait_for_selector("#visit-3 .failure >> text=Lambda.Unknown")


def test_a_state_of_the_picture_shows_its_data_and_they_can_be_copied(page: Page, console: ConsoleServer) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=console.origin)
    open_run(page, "order-2")
    page.click('.picture a[data-state="Finalize"]')
    item = page.locator(".visits > li:has(> [open])")
    item.locator("pre").first.wait_for()
    assert "Finalize" in item.inner_text()
    parameters = item.locator(".said", has=page.locator("summary", has_text=re.compile("^parameters$")))
    parameters.locator("button").click()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied["UpdateExpression"].startswith("SET #status = :completed")
    item.locator("text=the execution's output").click()
    page.wait_for_url("**#execution")


def test_the_path_can_be_read_at_once_with_what_could_have_come_instead(page: Page) -> None:
    open_run(page, "order-2")
    drawn = page.evaluate("""() => {
      const svg = document.querySelector(".picture svg"), pan = document.querySelector(".pan");
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const size = parseFloat(getComputedStyle(svg.querySelector("text")).fontSize);
      return [size * scale, pan.scrollWidth - pan.clientWidth];
    }""")
    assert drawn[0] >= 12 and drawn[1] == 0
    exits = page.locator(".picture .instead text").all_text_contents()
    assert exits[0] == "or RefuseRequest" and "or CacheResponse" in exits


def test_an_operator_releases_a_lock_after_being_asked(page: Page, cloud: LocalCloud) -> None:
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.goto(QUARANTINED)
    page.click(".release button")
    assert "happens twice" in asked[0]
    assert (cloud.record("acme#ask-somebody#order-3") or {})["status"] == "QUARANTINED"
    page.once("dialog", lambda dialog: dialog.accept())
    page.click(".release button")
    page.wait_for_selector(".notice.good")
    assert (cloud.record("acme#ask-somebody#order-3") or {})["status"] == "FAILED"


def test_an_open_page_with_choices_shows_what_somebody_else_decided(page: Page, cloud: LocalCloud) -> None:
    page.goto(QUARANTINED)
    with page.expect_response("**/changes"):
        page.wait_for_selector(".choice.resolve")
    page.focus("[name=failed]")
    cloud.run(charge())  # of another operation
    with page.expect_response(lambda answer: "/record/" in answer.url):
        pass
    with page.expect_response("**/changes"):
        assert page.evaluate("document.activeElement.name") == "failed"
    LocalActions(cloud, Path()).resolve("acme#ask-somebody#order-3", "1", None)
    page.wait_for_selector(".moments li.answer")
    assert page.title().startswith("COMPLETED ")


def test_what_was_typed_into_a_form_that_was_refused_stays_there(page: Page, cloud: LocalCloud) -> None:
    page.goto(QUARANTINED)
    page.fill("[name=result]", "{")
    with page.expect_response(lambda answer: "/record/" in answer.url):  # the page is fetched again
        page.click(".resolve button")
        page.wait_for_selector(".notice.bad")
    with page.expect_response("**/changes"):
        pass
    assert page.input_value("[name=result]") == "{"


def test_an_owner_that_dies_on_purpose_is_seen_to_be_recovered(page: Page, cloud: LocalCloud) -> None:
    page.goto("/start?event=charge-payment")
    page.select_option("[name=fault]", "dies-after")  # whichever of the three gets the lock
    with cloud.delivering():
        page.click("button:has-text('Start')")
        page.wait_for_selector(".moments li.died")
        cloud.clock.advance(160)  # type: ignore[attr-defined]  # its lease, and a sweep
        page.wait_for_selector(".moments li.answer")
    assert "Recovery took over, in the full lane" in page.inner_text(".moments")


def test_a_server_that_is_gone_is_said_and_found_again_when_it_is_back(page: Page, cloud: LocalCloud) -> None:
    gone = [True]
    page.route("**/changes", lambda route: route.abort() if gone[0] else route.continue_())
    page.route("**/?*", lambda route: route.abort() if gone[0] else route.continue_())
    page.wait_for_selector("#link.lost")
    assert "trying again" in page.inner_text("#link")
    cloud.run(charge("while-it-was-gone"))
    gone[0] = False
    page.wait_for_selector("#link:not(.lost)")
    page.wait_for_selector("text=while-it-was-gone")


def test_work_that_takes_a_while_is_said_and_not_asked_for_twice(page: Page) -> None:
    page.goto("/start?event=charge-payment")
    page.evaluate("addEventListener('submit', event => event.preventDefault())")  # its answer never comes
    page.click("form.form button.strong")
    page.wait_for_selector("button:disabled:has-text('Working')")
    assert page.get_attribute("form.form", "aria-busy") == "true"


WIDTHS = (360, 768, 1024, 1440, 2560)
VIEWS = {
    "requests": "/",
    "waiting": "/waiting",
    "record": RECORD,
    "quarantined": QUARANTINED,
    "start": "/start",
}


def test_each_view_fits(page: Page) -> None:
    for view, address in run_and(page):
        page.goto(address)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{view} does not fit {width}"


RULES: dict[Any, dict[str, list[str]]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
"""Only colours are others in the dark."""


def places(page: Page, selector: str) -> list[dict[str, float]]:
    """All at the same moment: the page may be brought up to date between two."""
    look = "selector => [...document.querySelectorAll(selector)].map(each => each.getBoundingClientRect().toJSON())"
    found: list[dict[str, float]] = page.evaluate(look, selector)
    return found


def test_a_heading_stands_apart_from_the_facts_above_it(page: Page) -> None:
    for address in (RECORD, RECORD.replace("order-1", "order-2"), QUARANTINED):
        page.goto(address)
        facts, heading, *_ = places(page, ".facts, #record h2")
        assert heading["top"] - facts["bottom"] > heading["height"], address


@pytest.mark.parametrize("kind", [":is(input, select, button)", "label"])
def test_what_stands_in_a_row_of_a_form_is_aligned(page: Page, kind: str) -> None:
    page.goto("/start")
    row = places(page, f".form .row {kind}")
    assert len(row) > 1 and len({each["top"] for each in row}) == 1, row


def test_axe_finds_nothing_serious(page: Page) -> None:
    if not AXE.is_file():
        assert not os.environ.get("CI"), "axe is not here: run make tools"
        pytest.skip("axe is not here: `make tools` fetches it")
    found = []
    for view, address in run_and(page):
        page.goto(address)
        if view == "run":
            page.click(".visits > li >> nth=2 >> summary")
        page.evaluate(AXE.read_text("utf-8"))
        for scheme, only in RULES.items():
            page.emulate_media(color_scheme=scheme)
            answer = page.evaluate("only => axe.run(document, {resultTypes: ['violations'], ...only})", only)
            found += [
                (view, scheme, each["id"], each["nodes"][0]["html"], each["nodes"][0]["failureSummary"])
                for each in answer["violations"]
                if each["impact"] in ("serious", "critical")
            ]
    assert found == []


def run_and(page: Page) -> list[tuple[str, str]]:
    """The views, and a run."""
    open_run(page, "order-1")
    return [("run", page.url), *VIEWS.items()]
