"""Strikes a function at each of its calls and at the boundaries of states, and looks for effects that are not usual.

Three runs show what is usual: two that nothing disturbs, and one whose function dies at its beginning, before it has
done anything. Then each strike has a run of its own, on the contents that the test has put into the cloud; recovery
brings it to its end, and the request is sent once more.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from oncekit.contract.lanes import FULL, MACHINES
from oncekit.local.clock import VirtualClock
from oncekit.local.cloud import LocalCloudError
from oncekit.local.deployment.moto_resources import containers
from oncekit.local.engine.boundaries import Boundary, boundaries
from oncekit.local.execution import as_text
from oncekit.local.lambda_runtime.languages import NAMES, PYTHON, language
from oncekit.local.once_cloud import PENDING
from oncekit.promises import checker
from oncekit.promises.journal import Actor, Journal
from oncekit.promises.openings import unseen_starts
from oncekit.testing.effects import TELEMETRY, Difference, Document, Usual, documents
from oncekit.testing.kit_cloud import OPEN, SWEEP_SECONDS, SWEEPS
from oncekit.testing.report import Finding, Report
from oncekit.testing.strikes import (
    SECONDS_TO_ARRIVE,
    Strike,
    dies_at_its_beginning,
    dies_in_its_first_attempt,
    is_counted,
    strikes_elsewhere,
    strikes_of,
)
from oncekit.testing.watch import FunctionCall, Make

if TYPE_CHECKING:
    from oncekit.local.lambda_runtime import FunctionSpec
    from oncekit.testing.kit_cloud import TestCloud

DELIVERIES = 5
"""How often a function gets an event of its own, if that leaves no record."""
REFUSED = "REFUSED"
"""The status of a request that left no record, or one that has expired."""
WATCHED_NOTHING = (
    "it watched no effect: {called}. If that is right, write once_matrix(..., effects=False), which is red as soon as "
    "there is an effect. If it does more, that is not seen: files, other programs, and clients below Python's sockets, "
    "such as gRPC or libpq. No matrix can judge those: delete this test, and let a person decide after a crash, by "
    "onCrash: quarantine"
)
NO_CALL = "the function called nothing of AWS, and no other system"
LEFT_NOTHING = "what the function called leaves nothing that could be there twice ({calls})"
HAS_EFFECTS = "effects=False says that it has none: leave that out, so that what it does is struck: {calls}"
UNSEEN = (
    "it is in {language}, and what it calls of AWS is seen in functions in Python only. It was struck before and after "
    "it ran{more}, not between two of its calls: what a crash there repeats, nobody knows"
)
ANSWER, END = "the answer", "the end"
Found = tuple[Difference, str, tuple[str, ...]]
"""A difference, what was struck, and the lines of code."""


class NothingToStrike(AssertionError):
    """The request does not run without a fault, has no effect, or no strike: nothing can be judged."""


__tracebackhide__ = methodcaller("errisinstance", (NothingToStrike, LocalCloudError))
"""What pytest shows of them: the sentence, and the user's line."""


@dataclass(frozen=True)
class Run:
    """What a run has left, which calls it made, and what is wrong with it by itself."""

    left: list[Document]
    calls: list[FunctionCall]
    boundaries: list[tuple[str, str]]
    faults: list[Difference]
    status: str
    end: str


@dataclass(frozen=True)
class Contents:
    """What a test has put into the cloud, which is there again before each run: items, objects, messages, functions."""

    held: dict[tuple[str, str], Any]
    """By the name of a table, a bucket or a queue, and the attribute of moto's model."""
    functions: dict[str, FunctionSpec]

    @classmethod
    def of(cls, cloud: TestCloud) -> Contents:
        held = {(name, attribute): deepcopy(getattr(model, attribute)) for name, model, attribute in containers()}
        return cls(held, {name: cloud.functions.functions[name] for name in cloud.added})

    def put_into(self, cloud: TestCloud) -> None:
        """The cloud has these contents, and nothing else."""
        cloud.reset()
        for name, spec in self.functions.items():
            cloud.register_function(name, spec)
        for name, model, attribute in containers():
            if held := self.held.get((name, attribute)):
                setattr(model, attribute, deepcopy(held))


class Matrix:
    """The runs of one request."""

    def __init__(
        self,
        cloud: TestCloud,
        request: Mapping[str, Any],
        states: bool,
        elsewhere: Callable[[], object] | None = None,
        event: Any = None,
        effects: bool = True,
    ) -> None:
        self._cloud, self._request, self._states, self._elsewhere = cloud, request, states, elsewhere
        self._event, self._effects = event, effects
        self._was_elsewhere = False
        self._operation, self._id = str(request["operation"]), checker.id_of(as_text(request))
        self._contents = Contents.of(cloud)
        self._before = documents(cloud)
        self._careful = request.get("onCrash") == "quarantine"
        self._language = _language_of(cloud, self._operation)

    def run(self, may_repeat: Collection[str], seconds: float) -> Report:
        began = time.monotonic()
        found: list[Found] = []
        try:
            usual, expected = self._undisturbed()
            strikes = strikes_of(self._operation, usual.calls, usual.boundaries if self._states else [])
            if self._elsewhere is not None:
                strikes += strikes_elsewhere(self._operation, self._elsewhere)
            struck = []
            for strike in strikes:
                if time.monotonic() - began > seconds:
                    break
                run = self._run(strike)
                struck.append(strike.what)
                differences = self._judge(run, usual, expected, strike)
                found += [(each, strike.what, self._lines(each, run, usual)) for each in differences]
        finally:
            self._contents.put_into(self._cloud)
        if not struck:
            raise NothingToStrike(f"{self._operation}: no strike in {seconds:g} s: give more `seconds`")
        allowed = tuple(may_repeat)
        grouped = _grouped(found, has_library=self._language == PYTHON)
        findings = [each for each in grouped if each.kind != "twice" or not each.place.startswith(allowed)]
        left_out = [each.what for each in strikes[len(struck) :]]
        effects = [each for each in expected.places if each not in (ANSWER, END)]
        unseen = "" if self._language == PYTHON else _unseen(self._language, usual)
        return Report(self._operation, effects, findings, struck, left_out, time.monotonic() - began, unseen)

    def _undisturbed(self) -> tuple[Run, Usual]:
        """What is usual. Raises NothingToStrike when that cannot be said."""
        self._run()  # a function that is started does more than one that is warm
        if self._elsewhere is None and PENDING in self._record():
            raise NothingToStrike(
                f"{self._operation}: it is pending, and nothing here ends it: give what does, as `elsewhere`"
            )
        usual, again = self._run(), self._run()
        told = [each.what for each in usual.faults]
        if not told and usual.status not in ("COMPLETED", "FAILED"):
            refused = "it is refused" if self._event is None else f"its event leaves no record of {self._id}"
            told = [refused if usual.status == REFUSED else f"it ends as {usual.end}"]
        if not told and self._language == PYTHON:
            told += self._unlike_what_was_said(usual.calls)
        if not told and self._elsewhere is not None and not self._was_elsewhere:
            told.append("it was never pending: leave `elsewhere` out")
        if told:
            raise NothingToStrike(f"{self._operation}, without any fault: {'; '.join(told)}")
        second_attempt = self._run(self._begins_anew(usual))
        expected = Usual([usual.left, again.left, second_attempt.left], self._before)
        told += [f"two runs differ: {each.place}: {each.what}" for each in expected.differences(again.left)]
        if told:
            raise NothingToStrike(f"{self._operation}, without any fault: {'; '.join(told)}")
        # Also by the template: with one attempt, each crash is left to a person.
        self._careful |= second_attempt.status == "QUARANTINED"
        return usual, expected

    def _unlike_what_was_said(self, calls: Collection[FunctionCall]) -> Iterator[str]:
        """That it has no effect, if the test does not say so; or that it has one."""
        found = [each for each in calls if self._is_effect(each)]
        if found and not self._effects:
            yield HAS_EFFECTS.format(calls=_told_once(found))
        if not found and self._effects:
            seen = _told_once(calls)
            yield WATCHED_NOTHING.format(called=LEFT_NOTHING.format(calls=seen) if seen else NO_CALL)

    def _begins_anew(self, usual: Run) -> Strike:
        """What leads to a second attempt that does everything."""
        if self._event is None:
            return dies_at_its_beginning(self._operation)
        return dies_in_its_first_attempt(self._operation, self._cloud.once.outputs["TableName"], usual.calls)

    def _judge(self, run: Run, usual: Run, expected: Usual, strike: Strike) -> Iterator[Difference]:
        yield from run.faults
        differences = list(expected.differences(run.left))
        effects = [each for each in differences if each.place not in (ANSWER, END)]
        if run.status == "QUARANTINED" and (self._careful or strike.of_owner):
            # Where a person decides, what is not done yet is not lost.
            yield from (each for each in effects if each.kind == "twice")
            return
        yield from effects
        ends = [each for each in differences if each.place == END] or differences
        kind = "stuck" if run.status == "QUARANTINED" else "differs"
        told = {END: f"{run.end}, not {usual.end}"}
        for each in ends:
            if each.place in (ANSWER, END):
                yield Difference(kind, each.place, told.get(each.place, each.what))

    def _is_effect(self, call: FunctionCall) -> bool:
        """Whether it is more than a look, a measurement, a large answer on its way to its duplicates, or a lock."""
        bucket = self._cloud.once.outputs["ResponseBucketName"]
        is_answer = call.service == "s3" and f'"{bucket}"' in call.names
        is_lock = call.action == "update_item" and f'"{self._cloud.once.outputs["TableName"]}"' in call.names
        return not (call.is_read or call.service in TELEMETRY or is_answer or is_lock)

    # ---- one run ----

    def _run(self, strike: Strike | None = None) -> Run:
        cloud, reached = self._cloud, list[tuple[str, str]]()
        self._contents.put_into(cloud)
        machine = cloud.once.outputs[MACHINES[FULL]].rpartition(":")[2]

        def at_boundary(boundary: Boundary) -> None:
            if boundary.machine == machine:
                reached.append((boundary.place, boundary.state))

        journal = Journal(cloud)
        with journal.open(), cloud.intercept(journal.interceptor):
            with boundaries(at_boundary), cloud.watch.intercept(partial(_as_itself, journal)):
                faults = self._strike(strike)
            path = list(reached)
            calls = [call for call, _ in cloud.watch.calls if is_counted(self._operation, call)]
            if not faults:  # else there is no answer that a duplicate could get
                self._send_again()
                self._go_on_elsewhere()  # if it began only now
        for each in cloud.invocations():
            journal.started(each.event)
        journal.starts += unseen_starts(journal.writes)
        self._warm()
        faults += [Difference(each.kind, each.promise, each.what) for each in checker.faults(journal)]
        record = self._record()
        if not record or record.get("expiresAt", math.inf) < cloud.clock.now():
            record = {"status": REFUSED}
        left = [*documents(cloud), *_ends(record)]
        return Run(left, calls, path, faults, str(record["status"]), _told(record))

    def _strike(self, strike: Strike | None) -> list[Difference]:
        cloud = self._cloud
        if strike is None:
            self._send()
            return self._recover()
        with strike.injected(cloud):
            try:
                self._send(strike.held)
                stuck = self._recover(strike.elsewhere)
            finally:
                strike.released.set()
            self._let_functions_end()
        return stuck

    def _send(self, held: threading.Event | None = None) -> None:
        """To the full lane, or as the function's own event; then until it is taken, or the function is held."""
        if self._event is None:
            self._cloud.start(self._request)
            return
        trigger = threading.Thread(target=self._until_taken, daemon=True)
        trigger.start()
        end = time.monotonic() + SECONDS_TO_ARRIVE
        while trigger.is_alive() and not (held and held.is_set()) and time.monotonic() < end:
            time.sleep(0.002)
        if trigger.is_alive():
            self._until_taken()  # as a queue does when a message becomes visible again

    def _until_taken(self) -> None:
        function = self._cloud.operations.function_of(self._operation)
        assert function is not None
        for _ in range(DELIVERIES):
            self._cloud.client("lambda").invoke(FunctionName=function.name, Payload=json.dumps(self._event).encode())
            if self._record():
                return

    def _send_again(self) -> None:
        if self._event is None:
            self._cloud.run(self._request)
        else:
            self._until_taken()

    def _recover(self, when: str = "") -> list[Difference]:
        try:
            self._go_on_elsewhere(when)
            self._cloud.recover()
            if when == "again" and self._elsewhere is not None:
                self._elsewhere()
                self._cloud.settle()
        except TimeoutError as error:
            return [Difference("stuck", END, str(error))]
        return []

    def _go_on_elsewhere(self, when: str = "") -> None:
        """The work of a pending operation ends, in every attempt anew, until the operation has ended."""
        cloud = self._cloud
        cloud.settle()
        for _ in range(SWEEPS):
            record = self._record()
            if self._elsewhere is None or record.get("status") != OPEN:
                return
            if PENDING in record:
                if when in ("late", "never"):  # another attempt begins, or a person is asked
                    self._let_pass(record["leaseExpiresAt"] - cloud.clock.now() + SWEEP_SECONDS)
                if when != "never":
                    self._elsewhere()
                    cloud.settle()
                    self._was_elsewhere = True
                when = "" if when == "late" else when
            if cloud.open_records():
                self._let_pass(SWEEP_SECONDS)

    def _record(self) -> dict[str, Any]:
        """Empty where there is none."""
        return self._cloud.record(self._id) or {}

    def _let_pass(self, seconds: float) -> None:
        assert isinstance(self._cloud.clock, VirtualClock)
        self._cloud.clock.advance(seconds)
        self._cloud.settle()

    def _let_functions_end(self) -> None:
        """One that was held goes on to its end."""
        end = time.monotonic() + 30
        while any(each.outcome == "running" for each in self._cloud.invocations()) and time.monotonic() < end:
            time.sleep(0.005)

    def _warm(self) -> None:
        """A second process of the function starts beside the next run: one that dies is not waited for."""
        named = self._cloud.operations.function_of(self._operation)
        if named is not None and named.name in self._cloud.functions.functions:
            self._cloud.functions.warm(named.name, 2)

    # ---- whose line it is ----

    def _lines(self, difference: Difference, run: Run, usual: Run) -> tuple[str, ...]:
        """Of the calls that wrote to the place; where something was decided otherwise, of those that read."""
        calls = usual.calls if difference.kind == "lost" else run.calls
        mine = [call for call in calls if self._is_about(call, difference.place)]
        if difference.place in (ANSWER, END):
            mine = [call for call in calls if call.is_read] or calls
        counted = Counter(map(str, mine))
        return tuple(f"{line} ({count} times)" if count > 1 else line for line, count in counted.items())

    def _is_about(self, call: FunctionCall, place: str) -> bool:
        if call.is_read:
            return False
        if call.service == "http":
            return place == f"{call.action} {call.parameters}"
        names = [name for name, ref in self._cloud.resources.items() if f'"{ref}"' in call.names]
        return place in (f"{call.service}.{call.action}", *names) or f'"{place}"' in call.names


def _told_once(calls: Iterable[FunctionCall]) -> str:
    return "; ".join(dict.fromkeys(map(str, calls)))


def _language_of(cloud: TestCloud, operation: str) -> str:
    """One whose calls are not seen is what it is on the machine; an operation without a function has none to see."""
    named = cloud.operations.function_of(operation)
    spec = cloud.functions.functions.get(named.name) if named else None
    return PYTHON if spec is None else language(spec.runtime) or spec.runtime


def _unseen(language: str, usual: Run) -> str:
    return UNSEEN.format(
        language=NAMES[language], more=", and at what it sends to other systems" if usual.calls else ""
    )


def _as_itself(journal: Journal, call: FunctionCall, make: Make) -> None:
    """What a function changes in a record is its own write, and no operator's."""
    with journal.acting(Actor("function", call.owner, fence=call.fence)) if call.owner else nullcontext():
        make()


def _ends(record: Mapping[str, Any]) -> Iterator[Document]:
    """The end of the operation and its answer, as its record has them."""
    yield Document.of(END, {"status": record["status"], **record.get("error", {})})
    if "resultRef" in record:
        yield Document.of(ANSWER, {name: record["resultRef"][name] for name in ("sha256", "bytes")})
    elif "result" in record:
        yield Document.of(ANSWER, record["result"])


def _told(record: Mapping[str, Any]) -> str:
    error = record.get("error")
    why = f" ({error['name']}: {error['message']})" if error else ""
    return f"{record['status']}{why}"


def _grouped(found: Iterable[Found], has_library: bool) -> list[Finding]:
    """The same difference of several strikes is one finding."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for each in found:
        groups.setdefault((each[0].kind, each[0].place), []).append(each)
    return [
        Finding(
            kind,
            place,
            group[0][0].what,
            group[0][2],
            tuple(dict.fromkeys(strike for _, strike, _ in group)),
            has_library,
        )
        for (kind, place), group in groups.items()
    ]
