"""A cell of the crash matrix: a path, a place in it, a fault there; and the result.

The places are those of a recorded run: service calls, states entered and left, points of functions. So
a new state is covered without anyone adding it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from oncekit.promises import checker
from oncekit.promises.journal import Fault, all_records
from oncekit.proof.simulation import one_fault
from oncekit.proof.simulation.fault_kinds import OF_TABLE, WRITES
from oncekit.proof.simulation.one_fault import LATE, UNTOUCHED, OneFault, killing, throttling
from oncekit.proof.simulation.operators import Operators
from oncekit.proof.simulation.paths import AGED, AGO, OPERATED, Path
from oncekit.proof.simulation.scheduler import Endless
from oncekit.proof.simulation.world import Injector, World

FAULTS = {"call": one_fault.CALL_FAULTS, "boundary": (), "point": one_fault.POINT_FAULTS}
HARMLESS = (
    one_fault.JOINED,
    one_fault.THROTTLED,
    *("never arrives", "answer lost", "fails thrice", "fails for good", "slow"),
    *("down for hours", LATE),
)
"""They kill nobody: at a call that is not business logic's, the records come to the ends they come to without them."""

LASTING = ("fails for good", "slow", "down for hours")
"""Of those, what takes longer than an Express execution may; the first one longer than any."""

MOST_ALIKE = 3
"""As many as there are attempts; and a function that is throttled is tried dozens of times."""


@dataclass(frozen=True)
class Place:
    """The n-th call, boundary or point of a path."""

    kind: str
    number: int
    label: str

    @property
    def action(self) -> str:
        return self.label.rpartition(" ")[2]

    @property
    def state(self) -> str:
        return self.label.partition(" ")[0]

    def faults(self, path: Path, *, is_first: bool) -> Iterator[str]:
        """What may go wrong here; `is_first` says that the path was at no such place before."""
        if not is_first and set(self.label.split(" ")) & set(UNTOUCHED):
            return
        for fault in self._possible(path, is_first):
            if not path.faults or fault in path.faults:
                yield fault

    def _is(self, *parts: str) -> bool:
        return any(part in self.label for part in parts)

    def _is_own_call(self, path: Path) -> bool:
        """Of a function, where an owner may be one."""
        return self.kind == "point" and path.uses_direct_lane and self._is(" before ")

    def _possible(self, path: Path, is_first: bool) -> Iterator[str]:
        for fault in FAULTS[self.kind]:
            if fault.startswith("connection") and not self._is(" before ", " after "):
                continue
            if fault == "connection broken" and not path.enduring:
                continue  # attempts are used up, which is a path of its own
            # Nothing happens between a call and the one after it; but in the direct lane, a look at the clock.
            stands_still = fault == "hangs" and self._is(" after ") and not path.uses_direct_lane
            if (fault == "function dies" and self._is(" before ")) or stands_still:
                continue
            if fault == one_fault.THROTTLED and not (self._is_own_call(path) and self.action in OF_TABLE):
                continue
            if fault == "never arrives" and self.action in WRITES:
                continue  # the same as one that arrives late, never
            yield fault
        sends = self.kind == "call" or " before " in self.label
        if sends and self.action in WRITES:
            yield LATE
        if self.kind == "boundary" and path.uses_fast_lane:
            yield one_fault.HANGS
        if self.kind != "call" and not self._is_own_call(path):
            return
        if path.joined and self.state not in UNTOUCHED:
            yield one_fault.JOINED
        is_business = self.kind == "point" and self.action not in (*OF_TABLE, "put_object")
        if path.enduring and is_first and self.state not in UNTOUCHED and not is_business:
            yield one_fault.DOWN
        if path.operated and self.state not in UNTOUCHED:
            yield from OPERATED
        if one_fault.FORGETS in path.faults and self.state not in UNTOUCHED:
            yield one_fault.FORGETS


@dataclass(frozen=True)
class Cell:
    """A path with one fault at one place, and the result."""

    path: str
    place: Place
    fault: str
    outcome: str
    """`completed`, `failed`, `quarantined`, `refused`; or `stuck`, `lost`, `twice`, `broken`."""
    faults: tuple[str, ...]
    starts: int = 0
    """Of business logic."""
    effects: int = 0
    """That business logic has had."""

    @property
    def is_bad(self) -> bool:
        return bool(self.faults)

    def __str__(self) -> str:
        return (
            f"{self.path} | {self.place.label} #{self.place.number} ({self.place.kind}) | {self.fault}: {self.outcome}"
        )


def places_of(world: World, path: Path) -> list[Place]:
    """Every place of a run without faults."""
    seen = OneFault(world)
    _run(world, path, seen, sends_again=False)
    return [Place(kind, number, label) for kind, labels in seen.seen.items() for number, label in enumerate(labels)]


def strikes_of(world: World, path: Path) -> list[tuple[Place, str]]:
    """Every fault at every place of a path, of places of one name at the first ones."""
    seen: Counter[str] = Counter()
    strikes = []
    for place in places_of(world, path):
        if seen[place.label] < MOST_ALIKE:
            strikes += [(place, fault) for fault in place.faults(path, is_first=not seen[place.label])]
        seen[place.label] += 1
    return strikes


def cells_at(world: World, path: Path, place: Place, fault: str) -> Iterator[Cell]:
    """Run a path with a fault; with each time at which it may come, if it is one that comes late."""
    if fault != LATE:
        act = partial(_act, world, path, fault)
        yield _cell(world, path, place, fault, OneFault(world, place.kind, place.number, fault, act=act))
        return
    lost = OneFault(world, place.kind, place.number, LATE)
    yield _cell(world, path, place, f"{LATE}: never", lost)
    for later in range(lost.later + 1):
        late = OneFault(world, place.kind, place.number, LATE, arrives=later)
        yield _cell(world, path, place, f"{LATE}: before call {later}", late)


def _cell(world: World, path: Path, place: Place, fault: str, injector: OneFault) -> Cell:
    try:
        stuck = _run(world, path, injector)
    except Endless as endless:
        return Cell(path.name, place, fault, "stuck", (str(Fault("P5", "stuck", str(endless))),))
    faults = [*world.faults(), *stuck, *_end_faults(world, path, place, fault)]
    kinds = {each.kind for each in faults}
    outcome = next((kind for kind in ("twice", "lost", "stuck", "broken") if kind in kinds), None) or outcome_of(world)
    starts, effects = len(world.journal.starts), world.business.effects()
    return Cell(path.name, place, fault, outcome, tuple(map(str, faults)), starts, effects)


def _end_faults(world: World, path: Path, place: Place, fault: str) -> Iterator[Fault]:
    """A harmless fault changes no outcome."""
    kind = fault.partition(":")[0]
    # An owner does not outlive what takes too long, and then nobody knows what it did.
    lasting = LASTING if path.uses_fast_lane else LASTING[:1]
    # The fast lane starts nothing under a lock whose answer was lost: another run of the same execution may have.
    unanswered = path.uses_fast_lane and place.label.startswith("AcquireLock ") and kind in ("answer lost", LATE)
    # In the direct lane nothing is tried again but by another attempt.
    is_own = place.kind == "point" and path.uses_direct_lane and kind != one_fault.JOINED
    nobody_knows = "quarantine" in str(path.all_requests) and (kind in lasting or unanswered or is_own)
    if nobody_knows or kind not in HARMLESS:
        return
    if place.kind == "point" or place.action != "invoke":
        statuses = tuple(sorted({str(record["status"]) for record in all_records(world.cloud).values()}))
        if statuses != path.ends:
            yield Fault("P5", "broken", f"ended as {statuses}, not as {path.ends}, after a harmless fault")


def _run(world: World, path: Path, injector: OneFault, *, sends_again: bool = True) -> list[Fault]:
    """What was stuck before anybody sent anything again."""
    world.begin(background=path.background)
    with world.running():
        _prepare(world, path)
        world.injector = injector
        for number, request in enumerate(path.requests):
            if number and path.apart:
                world.pass_time(path.apart)
            world.start(request, f"request-{number}", path.lane_of(number))
        world.recover()
        if injector.down_until:
            world.pass_time(max(0.0, injector.down_until - world.scheduler.now()))
            world.recover()
        stuck = world.unfinished()
        if sends_again:
            _send_again(world, path, injector)
    return stuck


def _prepare(world: World, path: Path) -> None:
    """What was there before the fault, and what else goes wrong beside it."""
    for number, given in enumerate(path.before):
        if path.dead:
            world.behind = killing(world, path.dead)
            world.sweeps = False  # nobody has found it yet
        world.start(given, f"before-{number}", path.lane_before)
        world.scheduler.rest()
        world.pass_time(AGED[path.lane_before] if path.dead else AGO)
    world.sweeps = True
    world.behind = killing(world, path.killed) if path.killed else None
    if path.throttled:
        world.behind = throttling(world, path.throttled)


def _act(world: World, path: Path, fault: str) -> None:
    """If that is the fault, an operator acts on the first id of a path, or somebody sends it by the other lane."""
    if fault == one_fault.JOINED:
        has_ended = world.start(path.all_requests[0], "joined", path.lane_of_duplicate(0))
        world.scheduler.wait(has_ended, world.scheduler.now() + 5)
    elif fault in (*OPERATED, one_fault.FORGETS):
        Operators(world).act_now(fault.removeprefix("operator "), checker.id_of(path.all_requests[0]))


def _send_again(world: World, path: Path, injector: OneFault) -> None:
    """Every request once more, when the fault is over; what is held until then arrives, too."""
    if injector.fault != LATE:
        world.injector, world.behind = Injector(), None
    for number, request in enumerate(path.all_requests):
        world.start(request, f"duplicate-{number}", path.lane_of_duplicate(number))
        world.scheduler.rest()
    for let_in in injector.due():
        let_in()
    world.recover()


def outcome_of(world: World) -> str:
    """In words, how the requests ended."""
    statuses = {record["status"] for record in all_records(world.cloud).values()}
    if world.cloud.rejected():
        return "refused"
    return max(statuses).lower() if statuses else "nothing"
