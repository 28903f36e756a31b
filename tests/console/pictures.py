"""Draws all pictures of docs/, and takes those of docs/console.md where a browser is: `make pictures`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browsers import BROWSERS, installed_browser
from machine_pictures import drawing
from path_pictures import LEASE_AND_SWEEP_S, path_pictures
from scenario import charge
from story_pictures import pictures

from oncekit.cli.here.chosen_faults import fault_of
from oncekit.cli.here.console import LocalActions
from oncekit.console.local_source import LocalSource
from oncekit.console.server.app import ConsoleServer
from oncekit.local import LocalCloud, VirtualClock
from oncekit.local.deployment.deploy import rendered_definitions

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
WIDTH, HEIGHT = 1280, 800


def five_stories(cloud: LocalCloud) -> None:
    """New and duplicates; a dead owner; a failure; one that waits for a person; the same key with another payload."""
    with cloud.intercept(fault_of(cloud, "dies-after", "first-owner")):
        cloud.start(json.dumps(charge("order-1005")), "first-owner")
        cloud.settle()
    cloud.run(charge("order-1005"))
    cloud.clock.advance(LEASE_AND_SWEEP_S)  # type: ignore[attr-defined]
    cloud.settle()
    for request in (
        *(charge("order-1004"), charge("order-1004", 9900)),
        *[charge("order-1003") | {"operation": "ask-somebody"}] * 2,
        *[charge("order-1002", -5)] * 2,
        *[charge("order-1001")] * 4,
    ):
        cloud.run(request)


def both(page: Page, path: Path, **options: Any) -> None:
    """A screenshot in the light and in the dark form of the page."""
    for scheme, end in (("dark", "-dark.png"), ("light", ".png")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.screenshot(path=f"{path}{end}", **options)


def take(cloud: LocalCloud, browser: str, folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    source = LocalSource(cloud)
    with source.watching(), sync_playwright() as playwright:
        five_stories(cloud)
        server = ConsoleServer(source, LocalActions(cloud, ROOT))
        page = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, timezone_id="UTC"
        )
        page.goto(server.address)
        page.locator("#rows li", has_text="order-1005").filter(has_text="12:00:00").wait_for()
        bottom = page.evaluate("document.querySelector('#rows').getBoundingClientRect().bottom") + 32
        whole = {"x": 0, "y": 0, "width": WIDTH, "height": bottom}
        both(page, folder / "console-requests", clip=whole)
        page.click("text=order-1005")
        page.locator(".moments li.owner a").last.click()
        page.locator(".picture svg").wait_for()
        both(page, folder / "console-run")
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, required=True)
    folder: Path = parser.parse_args().to
    definitions = rendered_definitions(ROOT / "template.yaml")
    for file, machine in (("state-machine.svg", "operation"), ("fast-lane.svg", "fast")):
        (folder / file).write_text(drawing(definitions[machine], f"State machine {machine}"))
    with LocalCloud(ROOT / "template.yaml", clock=VirtualClock()) as cloud:
        for file, text in (*pictures().items(), *path_pictures(cloud)):
            (folder / file).write_text(text, encoding="utf-8")
    if (browser := installed_browser()) is None:
        print(f"no browser is here ({', '.join(BROWSERS)}): none of the console; `make browser` installs one")
        return
    with LocalCloud(ROOT / "template.yaml", clock=VirtualClock()) as cloud:
        cloud.add_function("ask-somebody", Path(__file__).parent / "functions" / "asking")
        with cloud.delivering():
            take(cloud, browser, folder)


if __name__ == "__main__":
    main()
