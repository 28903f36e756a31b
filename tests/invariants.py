"""The promises, held against everything that happens on the local cloud while a scenario runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from local import LocalCloud
from proof import checker
from proof.journal import Actor, Journal


@contextmanager
def invariants_hold(cloud: LocalCloud, deceived: bool = False) -> Iterator[None]:
    """Against every write and what is left; what the test itself writes is an operator's.

    `deceived` says that the state machine is told what is not so, or that somebody redrives what was replaced: business
    logic may then be started once more, and a living owner be replaced.
    """
    journal = Journal(cloud)
    with journal.open(), journal.acting(Actor("operator")), cloud.intercept(journal.interceptor):
        yield
    for invocation in cloud.invocations():
        journal.started(invocation.event)
    found = checker.faults(journal, at_rest=False)
    if deceived:
        found = [fault for fault in found if "started" not in fault.what and "taken over" not in fault.what]
    assert not found, "\n".join(map(str, found))
