"""The console of `once up`: it serves the page, and does what is asked for on it, as the operator's commands do."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from oncekit.cli.here.chosen_faults import FAULTS, fault_of
from oncekit.cli.template import clear_errors
from oncekit.cli.user_files import MOST_BYTES, no_request, result_of
from oncekit.console.actions import Refused
from oncekit.contract.lanes import FAST, MACHINES, Lane, lane_of, name_of
from oncekit.contract.requests import id_of, names_nothing
from oncekit.local.clock import RealClock
from oncekit.problem import Problem
from oncekit.stack import decisions
from oncekit.stack.aws_errors import clear_aws_errors
from oncekit.stack.records import Changed
from oncekit.stack.rejected import STARTED, Handled, handle
from oncekit.stack.stack import Stack

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

MOST_REFUSED = 100
"""Refused requests that the page shows, the oldest: each is a read, and may be a look at a record."""
MOST_REASONS = 3
"""Why none could be started again: of those whose requests were not kept, each has one of its own."""


@contextmanager
def console_of(cloud: LocalCloud, folder: Path, port: int, key: str) -> Iterator[str]:
    """Serve the console while this is open; its address, with the key to it. `folder` has `events/`."""
    from oncekit.console.local_source import LocalSource
    from oncekit.console.server.app import ConsoleServer

    source, actions = LocalSource(cloud), LocalActions(cloud, folder)
    with source.watching():
        with clear_errors():
            server = ConsoleServer(source, actions, port, key)
        try:
            yield server.address
        finally:
            server.close()


class LocalActions:
    """Implements `Actions` on the local cloud."""

    def __init__(self, cloud: LocalCloud, folder: Path) -> None:
        self._cloud = cloud
        self._folder = folder / "events"
        self._faults = ExitStack()

    def events(self) -> Mapping[str, str]:
        files = [path for path in sorted(self._folder.glob("*.json")) if path.is_file()]
        texts = ((os.fsencode(path.stem), path.read_text("utf-8", "replace")) for path in files)
        return {name.decode("utf-8", "replace"): text for name, text in texts if not names_nothing(text)}

    def faults(self) -> Mapping[str, str]:
        return FAULTS

    def start(self, text: str, times: int, lane: str, fault: str = "") -> str:
        """The id that the request names, or nothing where it names none."""
        if fault and fault not in FAULTS:
            raise Refused(f"there is no fault {fault}")
        if (size := len(text.encode("utf-8", "replace"))) > MOST_BYTES:
            raise Refused(f"{size:,} bytes, but Step Functions takes at most {MOST_BYTES:,}")
        try:
            request = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused(f"not JSON: {error}") from error
        if names_nothing(text):
            raise Refused(no_request("This"))
        chosen: Lane = "fast" if lane == "fast" else "full"
        if MACHINES[chosen] not in self._cloud.once.outputs:
            raise Refused(f"the template has no {chosen} lane")

        name = str(uuid.uuid4())
        with _refusing():
            if fault:
                # Left there: it strikes the first of these that gets so far, which may not be the one that began first.
                self._faults.enter_context(self._cloud.intercept(fault_of(self._cloud, fault, name)))
            for number in range(1, times + 1):
                self._cloud.start(text, f"{name}-{number}", lane=chosen)
        return id_of(request) or ""

    def stop(self, arn: str) -> None:
        if lane_of(arn) == FAST:
            raise Refused("an execution in the fast lane cannot be stopped, here as on AWS")
        with _refusing():
            self._cloud.stop(arn, "OwnerDied", "stopped on the console")

    def ahead(self) -> float | None:
        clock = self._cloud.clock
        return clock.ahead if isinstance(clock, RealClock) else None

    def advance(self, seconds: float) -> str:
        clock = self._cloud.clock
        if not isinstance(clock, RealClock):
            raise Refused("this clock cannot be moved")
        clock.advance(seconds)
        return f"the clock is {clock.ahead:,.0f} s ahead; what is due by then happens now"

    def refused(self) -> Sequence[Mapping[str, Any]]:
        with _refusing():
            found: list[Handled] = handle(self._stack(), "list", limit=MOST_REFUSED)["requests"]
            return found

    def replay(self, error: str) -> str:
        with _refusing():
            done = handle(self._stack(), "start", error)["requests"]
        if not done:
            raise Refused(f"no refused request with {error} is kept any more")
        started, requests = [each["outcome"] for each in done].count(STARTED), _requests(len(done))
        if not started:
            why = list(dict.fromkeys(each["reason"] for each in done))
            told = "; ".join([*why[:MOST_REASONS], *(["..."] if why[MOST_REASONS:] else [])])
            what = "correct what you can and start them again, let their senders send them again, or discard them"
            raise Refused(f"None of {len(done)} refused {requests} was started again: {told}. What to do: {what}")
        return f"{started} of {len(done)} refused {requests} started again"

    def discard(self, error: str, last: str) -> str:
        if not error:
            raise Refused("say which requests are lost on purpose: the name of their error")
        with _refusing():
            gone = len(handle(self._stack(), "delete", error, last=last)["requests"])
        return f"{gone} refused {_requests(gone)} with {error} deleted"

    def retry(self, id: str, because: str | None = None, seen: str | None = None) -> str:
        with _refusing():
            started: str = decisions.retry(self._stack(), id, because, seen)["executionArn"]
        return f"{id}: started again as {name_of(started)}"

    def release(self, id: str, because: str | None = None, seen: str | None = None) -> str:
        with _refusing():
            decisions.release(self._stack(), decisions.may_be_released(self._stack(), id, seen)[0], because)
        return f"{id}: released; the next request with this id runs business logic"

    def answer(self, id: str, result: str | None, failed: str | None, seen: str | None = None) -> str:
        with _refusing():
            decisions.may_be_resolved(self._stack(), id, seen)
            if (result is None) == (failed is None):
                raise Refused("say either what its result is, or why it failed")
            return str(failed) if result is None else result_of("the result", result)

    def resolve(
        self, id: str, result: str | None, failed: str | None, because: str | None = None, seen: str | None = None
    ) -> str:
        text = self.answer(id, result, failed, seen)
        with _refusing():
            answer = decisions.resolve(self._stack(), id, None if result is None else text, failed, because, seen)
        return f"{id}: {answer['status']}; every duplicate gets this answer from now on"

    def _stack(self) -> Stack:
        """The cloud in this process, as a command has it."""
        cloud = self._cloud
        session = SimpleNamespace(client=lambda service, **_: cloud.client(service))
        once = cloud.once
        return Stack(once.name, once.outputs, once.parameters, session, cloud.endpoint_url, now=cloud.clock.now)


def _requests(count: int) -> str:
    return "request" if count == 1 else "requests"


@contextmanager
def _refusing() -> Iterator[None]:
    from oncekit.local.cloud import LocalCloudError

    try:
        with clear_aws_errors():
            yield
    except (Problem, Changed, LocalCloudError) as why:
        raise Refused(str(why)) from why
