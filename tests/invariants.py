"""The promises, held against everything that happens on the local cloud while a scenario runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from oncekit.local import LocalCloud
from oncekit.promises import checker
from oncekit.promises.journal import Actor, Journal
from oncekit.promises.openings import unseen_starts

DECEIVED = ("started", "taken over")
"""The state machine is told what is not so, or somebody redrives what was replaced: business logic may then be started
once more, and a living owner be replaced."""


@contextmanager
def invariants_hold(cloud: LocalCloud, tolerated: Collection[str] = ()) -> Iterator[None]:
    """Against every write and what is left; what the test itself writes is an operator's.

    A fault with a word that is `tolerated` is one that people answer for: see DECEIVED.
    """
    journal = Journal(cloud)
    with journal.open(), journal.acting(Actor("operator")), cloud.intercept(journal.interceptor):
        yield
        cloud.settle()  # an execution that nobody waited for would write after the journal, and end before its judge
    for invocation in cloud.invocations():
        journal.started(invocation.event)
    journal.starts += unseen_starts(journal.writes)
    found = checker.faults(journal, at_rest=False)
    found = [fault for fault in found if not any(word in fault.what for word in tolerated)]
    assert not found, "\n".join(map(str, found))
