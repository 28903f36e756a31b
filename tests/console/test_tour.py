"""The story that `once demo --open` plays on the console."""

from __future__ import annotations

import base64
import hashlib
import queue
import re
import threading
import urllib.request
from http.cookiejar import CookieJar

import pytest
from visitor import Visitor

from oncekit.cli.here import browser, demo
from oncekit.cli.here import tour as tour_module
from oncekit.cli.here.console import LocalActions
from oncekit.cli.here.telling import Telling
from oncekit.cli.here.tour import SCENES, tour_of
from oncekit.cli.paper import Paper
from oncekit.console.local_source import LocalSource
from oncekit.console.tour import Shown, Step, Tour
from oncekit.local import LocalCloud

TITLE = re.compile(r"<b>(\d)/\d</b> (.*?)</p>")


@pytest.fixture
def telling() -> Telling:
    return Telling(Paper(error=False, quiet=True))


def going_on(visitor: Visitor, taken: int) -> str:
    """The page to which the next step leads."""
    answer = visitor.post("/go-on", {"taken": str(taken)})
    assert answer.status_code == 303
    return visitor.get(answer.headers["Location"]).text


def test_each_step_shows_what_came_of_it_on_a_page_and_the_last_one_ends_the_demo(
    cloud: LocalCloud, source: LocalSource, telling: Telling, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tour = tour_of(cloud, telling)
    visitor = Visitor(source, LocalActions(cloud, tmp_path_factory.getbasetemp()), tour)
    assert f"A demo in {len(SCENES)} steps" in visitor.get("/").text
    with cloud.delivering():
        pages = [going_on(visitor, taken) for taken in range(len(SCENES))]
    told = [TITLE.findall(page)[0] for page in pages]
    assert told == [(str(number), scene.title) for number, scene in enumerate(SCENES, 1)]
    assert [each["check"] for each in telling.checks if not each["ok"]] == []
    assert "Finalize" in pages[0] and pages[1].count("REPLAYED") == 3 and "ABORTED" not in pages[2]
    assert "refused" in pages[3] and "TakeOverLock" in pages[4] and pages[5].count('<li class="succeeded') == 1
    assert not tour.over.is_set()
    with visitor.post("/go-on", {"taken": str(len(SCENES))}) as last:
        [style] = re.findall("<style>(.*?)</style>", last.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = last.headers["Content-Security-Policy"]
        assert "That was the demo" in last.text and "script-src" not in policy
        assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; ")
    assert tour.over.is_set() and "Demo" not in visitor.get("/").text


def test_a_step_that_was_taken_is_not_taken_again_by_a_second_click_or_another_tab(
    source: LocalSource, actions: LocalActions
) -> None:
    taken: list[str] = []

    def take() -> Shown:
        taken.append("once")
        return Shown("/start")

    tour = Tour([Step("title", "button", "told", take), Step("other", "button", "told", take)])
    clicks = [threading.Thread(target=tour.go_on, args=(0,)) for _ in range(3)]
    for each in clicks:
        each.start()
    for each in clicks:
        each.join()
    assert taken == ["once"] and tour.taken == 1
    assert Visitor(source, actions, tour).post("/go-on", {"taken": "nonsense"}).headers["Location"] == "/"
    assert tour.taken == 1 and not tour.over.is_set()


def test_what_was_not_as_told_is_said_instead(source: LocalSource, actions: LocalActions) -> None:
    tour = Tour([Step("title", "button", "all went well", lambda: Shown("/", ["charged: expected 1, saw 2"]))])
    page = going_on(Visitor(source, actions, tour), 0)
    assert "charged: expected 1, saw 2" in page and "all went well" not in page


def test_no_story_is_told_where_none_is_played(visitor: Visitor) -> None:
    assert "Demo" not in visitor.get("/").text and visitor.post("/go-on", {"taken": "0"}).status_code == 404


def test_the_key_is_in_no_argument_of_the_browser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    with browser.shown_in_browser("http://127.0.0.1:1/?key=secret&more"):
        [address] = opened
        path = browser.Path(address.removeprefix("file://"))
        assert "secret" not in address and "url=http://127.0.0.1:1/?key=secret&amp;more" in path.read_text()
        assert path.stat().st_mode & 0o077 == 0 and path.parent.stat().st_mode & 0o077 == 0
    assert not path.exists()


def test_without_a_screen_no_browser_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("webbrowser.open", lambda _: pytest.fail("a browser was started"))
    with browser.shown_in_browser("http://127.0.0.1:1/"):
        pass


def test_the_command_says_where_the_story_is_and_ends_after_its_last_step(
    cloud: LocalCloud, telling: Telling, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    said: queue.SimpleQueue[str] = queue.SimpleQueue()
    monkeypatch.setattr(demo, "info", lambda *lines: said.put(lines[0]))
    monkeypatch.setattr(browser, "_has_screen", lambda: False)
    monkeypatch.setattr(tour_module, "SCENES", SCENES[:1])
    folder = tmp_path_factory.getbasetemp()
    playing = threading.Thread(target=demo._play, args=(cloud, folder, telling))
    playing.start()
    address = said.get(timeout=60).rpartition(" ")[2]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    [token] = re.findall(r'name="token" value="(.*?)"', opener.open(address).read().decode())[:1]
    for taken, shown in enumerate(("EXECUTED", "That was the demo")):
        form = f"token={token}&taken={taken}".encode()
        assert shown in opener.open(f"{address.partition('/?')[0]}/go-on", form).read().decode()
    playing.join(60)
    assert not playing.is_alive() and telling.held == len(telling.checks) == 1
