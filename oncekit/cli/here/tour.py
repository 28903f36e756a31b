"""`once demo --open`: the story of `once demo`, played on the console, one step for each time somebody goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from oncekit.cli.here import story
from oncekit.cli.here.ledger import rows, without_once
from oncekit.cli.here.report import outcome
from oncekit.cli.here.story import CHARGE, LONGER_THAN_LEASE_AND_SWEEP_S, Teller
from oncekit.console.server.addresses import record_address, rows_address, run_address
from oncekit.console.tour import Shown, Step, Tour
from oncekit.local import VirtualClock

if TYPE_CHECKING:
    from oncekit.cli.here.telling import Telling
    from oncekit.local.once_cloud import LocalCloud

DUPLICATES = 3
DELIVERIES_OF_THE_CRASHED = 3
"""Its own, the duplicate within the lease, and the one at the end."""


@dataclass(frozen=True)
class Scene:
    title: str
    button: str
    told: str
    act: Callable[[Play], str]


def tour_of(cloud: LocalCloud, telling: Telling) -> Tour:
    """The steps on this cloud; each is told to `telling`, too, as it is taken."""
    play = Play(cloud, telling)

    def step(scene: Scene) -> Step:
        take = partial(_taken, telling, scene.title, partial(scene.act, play))
        return Step(scene.title, scene.button, scene.told, take)

    return Tour(list(map(step, SCENES)))


def _taken(telling: Telling, title: str, act: Callable[[], str]) -> Shown:
    telling.title(title)
    before = len(telling.checks)
    try:
        address = act()
    except TimeoutError as error:
        telling.check("it ends", "an end", str(error))
        address = "/"
    return Shown(address, [_failure(each) for each in telling.checks[before:] if not each["ok"]])


def _failure(check: dict[str, Any]) -> str:
    return f"{check['check']}: expected {check['expected']}, saw {check['seen']}"


@dataclass
class Play:
    """What is done in each step; comes back with the address of the page that shows it."""

    cloud: LocalCloud
    tell: Teller
    crashed: dict[str, Any] = field(default_factory=lambda: story.charge("crash"))

    def request(self) -> str:
        first = self.cloud.run(CHARGE)
        self.tell.check("the first request charges the card", "EXECUTED", outcome(first))
        self.tell.path(first)
        return run_address(first.arn)

    def duplicates(self) -> str:
        ended = self.cloud.run_all([CHARGE] * DUPLICATES)
        self.tell.check("each duplicate is answered", ["REPLAYED"] * DUPLICATES, list(map(outcome, ended)))
        self._charged_once(CHARGE)
        return rows_address(story.id_of(CHARGE))

    def death(self) -> str:
        with self.cloud.lose_events():
            owner = story.crashing(self.cloud, self.crashed)
            self.cloud.settle()
        self.tell.check("the owner is gone", "ABORTED", owner.status)
        self._charged_once(self.crashed)
        return run_address(owner.arn)

    def within_the_lease(self) -> str:
        self.tell.check("a duplicate leaves the lock alone", "IN_PROGRESS", outcome(self.cloud.run(self.crashed)))
        return record_address(story.id_of(self.crashed))

    def recovery(self) -> str:
        assert isinstance(self.cloud.clock, VirtualClock)
        self.cloud.clock.advance(LONGER_THAN_LEASE_AND_SWEEP_S)
        self.cloud.settle()
        record = story.record(self.cloud, self.crashed)
        seen: Sequence[object] = [record["status"], record.get("fence")]
        self.tell.check("the operation is completed under the next fence", ["COMPLETED", 2], seen)
        self._charged_once(self.crashed)
        return record_address(story.id_of(self.crashed))

    def end(self) -> str:
        self.tell.check("a duplicate gets that answer", "REPLAYED", outcome(self.cloud.run(self.crashed)))
        order, payload = self.crashed["payload"]["orderId"], self.crashed["payload"]
        without = without_once(self.cloud, [payload] * DELIVERIES_OF_THE_CRASHED)
        self.tell.check("a plain function charges for each", DELIVERIES_OF_THE_CRASHED, len(without))
        self.tell.ledger(order, rows(self.cloud, order), without)
        return rows_address(story.id_of(self.crashed))

    def _charged_once(self, request: dict[str, Any]) -> None:
        self.tell.check("the card is charged once", 1, len(rows(self.cloud, request["payload"]["orderId"])))


SCENES = (
    Scene(
        "A request comes",
        "Send a request",
        "A request to charge a card came. Its execution took the lock on its key, charged the card and stored the "
        "answer. The picture shows its path.",
        Play.request,
    ),
    Scene(
        "Duplicates are answered",
        f"Send it {DUPLICATES} more times",
        "The same request came again, all at once. The execution that did the work is listed first; below it are the "
        "duplicates, each answered from the record with the same bytes. The card was charged once.",
        Play.duplicates,
    ),
    Scene(
        "An owner dies",
        "Let an owner die",
        "The owner of another lock charged the card and died before it got the answer, and the event of its death was "
        "lost, too. Nobody works on the operation now.",
        Play.death,
    ),
    Scene(
        "The lease protects it",
        "Send a duplicate meanwhile",
        "Until the lease is over, the owner may be slow but alive, so the lock is left alone: the write of the "
        "duplicate was refused, and its sender learns that the operation is in progress.",
        Play.within_the_lease,
    ),
    Scene(
        "Recovery",
        "Let the lease run out",
        f"The clock moved forward by {LONGER_THAN_LEASE_AND_SWEEP_S} s. A sweep found the lease over and started the "
        "operation again: that execution took over the lock under fence 2 and completed the work. The provider knew "
        "the key and did not charge again. Nobody had to send anything again.",
        Play.recovery,
    ),
    Scene(
        "One charge",
        "Send it once more",
        "From now on every duplicate gets that answer. The provider has one charge; a plain function that was called "
        f"for the same {DELIVERIES_OF_THE_CRASHED} deliveries charged {DELIVERIES_OF_THE_CRASHED} times.",
        Play.end,
    ),
)
