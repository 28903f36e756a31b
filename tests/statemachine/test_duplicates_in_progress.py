"""A duplicate that waits; tests/scenarios has what each is told."""

from __future__ import annotations

import time

from latches import Latches
from scenario import scripted

from oncekit.local import LocalCloud


def test_waiting_duplicate_gives_up_at_the_deadline(cloud: LocalCloud, latches: Latches) -> None:
    request = scripted({"await": "go", "then": {"return": 1}})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    waiter = cloud.start(request | {"onConflict": "wait"})
    for _ in range(100):
        cloud.clock.advance(30)
        time.sleep(0.005)  # real time for the waiter to look at the record
        if cloud.describe(waiter).status != "RUNNING":
            break
    assert cloud.wait(waiter).error == "OperationInProgress"
    latches.open("go")
    cloud.wait(owner)
