"""How soon the console shows: the first of many requests, a long run, and a change.

The server is the console's own, over HTTP; where a browser is here, times are those of a page in it.
"""

from __future__ import annotations

import copy
import json
import shutil
import statistics
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from typing import TYPE_CHECKING, Any

from oncekit.console.local_source import LocalSource
from oncekit.console.server.addresses import run_address
from oncekit.console.server.serving import ConsoleServer
from oncekit.local.account import ACCOUNT
from oncekit.local.once_cloud import LocalCloud
from oncekit.local.without_collections import rare_collections

if TYPE_CHECKING:
    from playwright.sync_api import Page

EXECUTIONS = 10_000
EVENTS = 5_000
CHANGES = 15
MOST = {"list": 1.0, "run": 1.5, "change": 0.3}
"""Seconds that each may take."""
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The first shows the same pages without a window's work, for two thirds of the CPU."""
REQUEST: dict[str, Any] = {"operation": "build-report", "payload": {"bytes": 16}}
APPEARED = """arn => new Promise(resolve => {
  const there = () => document.querySelector(`li[data-arn="${arn}"]`) && resolve(Date.now());
  new MutationObserver(there).observe(document.body, { childList: true, subtree: true });
  there();
})"""


def console_lines(cloud: LocalCloud) -> Iterator[str]:
    """What was measured, as lines for people."""
    source = LocalSource(cloud)
    with rare_collections(), source.watching():  # as `once up` has it
        server = ConsoleServer(source)
        fill(cloud, source, EXECUTIONS)
        long_run = run_address(_long_run(cloud))
        get = _visitor(server)
        yield _line(f"{EXECUTIONS:,} executions", "list", _repeated(lambda: get("/")), "page made")
        yield _line(f"run of {EVENTS:,} events", "run", _repeated(lambda: get(long_run)), "page made")
        yield _line("change", "change", _changes_told(cloud, source, get), "told and listed")
        with _tab(server) as page:
            if page is None:
                yield "no browser is here: how long a page takes in one is not measured"
            else:
                yield _line(
                    f"{EXECUTIONS:,} executions", "list", _shown(page, "/", "#rows li"), "first row in a browser"
                )
                shown = _shown(page, long_run, "#rest, .visits > li:last-child")
                yield _line(f"run of {EVENTS:,} events", "run", shown, "open in a browser")
                yield _line("change", "change", _changes_seen(cloud, page), "seen in a browser")
        server.close()


def fill(cloud: LocalCloud, source: LocalSource, count: int) -> None:
    """So many executions for the console: copies of a real one under names and keys of their own."""
    real = _finished(cloud, "real")
    for number in range(count):
        one = copy.copy(real)
        one.name = f"copy-{number}"
        one.exec_arn = f"{real.exec_arn.rpartition(':')[0]}:{one.name}"
        one.input_data = {**REQUEST, "idempotencyKey": f"order-{number // 3}"}
        source.see(one)


def _finished(cloud: LocalCloud, key: str) -> Any:
    return cloud.executions.find(cloud.run({**REQUEST, "idempotencyKey": key}).arn)


def _long_run(cloud: LocalCloud) -> str:
    """An execution with so many events: a loop of a Pass and a Choice, four events a turn."""
    again = {"Condition": f"{{% $n < {EVENTS // 4} %}}", "Next": "Count"}
    states = {
        "Begin": {"Type": "Pass", "Assign": {"n": 0}, "Next": "Count"},
        "Count": {"Type": "Pass", "Assign": {"n": "{% $n + 1 %}"}, "Next": "IsItOver"},
        "IsItOver": {"Type": "Choice", "Choices": [again], "Default": "Done"},
        "Done": {"Type": "Succeed"},
    }
    client = cloud.client("stepfunctions")
    definition = json.dumps({"QueryLanguage": "JSONata", "StartAt": "Begin", "States": states})
    role = f"arn:aws:iam::{ACCOUNT}:role/bench"
    machine = client.create_state_machine(name="bench-loop", definition=definition, roleArn=role)["stateMachineArn"]
    arn: str = cloud.start_machine(machine, "{}", "long")
    assert len(cloud.wait(arn, 600).events) >= EVENTS
    return arn


def _visitor(server: ConsoleServer) -> Callable[[str], float]:
    """Gives the seconds until a page is there whole."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    opener.open(server.address).read()

    def get(path: str) -> float:
        began = time.perf_counter()
        opener.open(server.origin + path).read()
        return time.perf_counter() - began

    return get


def _repeated(measure: Callable[[], float]) -> list[float]:
    return [measure() for _ in range(5)]


def _changes_told(cloud: LocalCloud, source: LocalSource, get: Callable[[str], float]) -> list[float]:
    """From the start of an execution until a page would have its row: it is told, and asks for the list."""
    taken = []
    for number in range(CHANGES):
        version = source.version()
        began = time.perf_counter()
        cloud.start({**REQUEST, "idempotencyKey": f"told-{number}"})
        source.wait(version, 10)
        get("/rows")
        taken.append(time.perf_counter() - began)
        cloud.settle()
    return taken


def installed_browser() -> str | None:
    """The path of the first browser that is here."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def _tab(server: ConsoleServer) -> Iterator[Page | None]:
    found = installed_browser()
    if found is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(base_url=server.origin)
        page.goto(server.address)
        yield page
        browser.close()


def _shown(page: Page, path: str, what: str) -> list[float]:
    """Seconds until it is there, once it was asked for."""

    def measure() -> float:
        page.goto("about:blank")
        began = time.perf_counter()
        page.goto(path, wait_until="commit")
        page.wait_for_selector(what, state="attached")
        return time.perf_counter() - began

    return _repeated(measure)


def _changes_seen(cloud: LocalCloud, page: Page) -> list[float]:
    """From the start of an execution until its row is in the page."""
    page.goto("/")
    page.wait_for_selector("#rows li")
    machine = cloud.outputs["StateMachineArn"]
    taken: list[float] = []
    for number in range(CHANGES):
        name = f"seen-{number}"
        arn = f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
        page.evaluate(f"() => {{ window.appeared = ({APPEARED})({json.dumps(arn)}); }}")
        began = time.time()
        cloud.start({**REQUEST, "idempotencyKey": name}, name)
        taken.append(page.evaluate("window.appeared") / 1000 - began)
        cloud.settle()
    return taken


def _line(what: str, kind: str, taken: list[float], until: str) -> str:
    median, worst = statistics.median(taken), max(taken)
    sign = "✓" if median <= MOST[kind] else "✗"
    told = f"{until} after {median * 1000:.0f} ms, at most {worst * 1000:.0f}"
    return f"{sign} {what}: {told} (wanted: {MOST[kind] * 1000:.0f})"
