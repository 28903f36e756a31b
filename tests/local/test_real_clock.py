"""The clock of `once up`: the wall clock, which can be moved ahead."""

from __future__ import annotations

import threading

import pytest

from oncekit.local.clock import RealClock

pytestmark = pytest.mark.ours

FAR = 86_400
SOON = 20
"""Real seconds that a test waits at most for what happens at once."""


def test_who_sleeps_wakes_when_the_time_is_moved_past_the_end() -> None:
    clock = RealClock()
    sleeping, over = threading.Event(), threading.Event()

    def sleep() -> None:
        clock.sleep(FAR, lambda: sleeping.set() or True)
        over.set()

    threading.Thread(target=sleep, daemon=True).start()
    assert sleeping.wait(SOON)
    clock.advance(FAR / 2)
    assert not over.is_set()
    clock.advance(FAR)
    assert over.wait(SOON)


def test_what_was_due_happens_once_when_the_time_is_moved_there() -> None:
    clock = RealClock()
    happened: list[str] = []
    due, last = threading.Event(), threading.Event()

    def happens() -> None:
        happened.append("due")
        due.set()

    clock.at(clock.now() + FAR, happens)
    clock.at(clock.now() + FAR, lambda: happened.append("taken back"))()
    clock.at(clock.now() + 3 * FAR, lambda: happened.append("later"))
    clock.advance(FAR)
    clock.advance(FAR / 2)
    clock.at(clock.now(), last.set)
    assert last.wait(SOON) and due.wait(SOON) and happened == ["due"]
