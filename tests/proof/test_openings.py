"""A closed record is opened again for a sender who asks for it, or once it has expired; all else is told as a fault."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oncekit.cli.deployed.records import hash_of
from oncekit.local import Execution
from oncekit.promises.checker import start_faults
from oncekit.promises.journal import Actor, Item, Start, Write
from oncekit.promises.openings import openings, retry_faults
from oncekit.promises.writes import write_faults
from oncekit.proof.simulation.paths import hard

ID = "acme#hard-work#key-1"
ARN = "arn:aws:states:us-east-1:123456789012:execution:Operation"
RECOVERS, AGAIN = f"recover-{'a' * 32}-{'b' * 8}-2-0", f"again-{'c' * 40}"
RETRY = {"onFailed": "retry"}
ASKED = hard("PermanentError", **RETRY)
NOW, OVER = 1000.0, 999


def opened(
    name: str = "sender", state: str = "RetryFailed", old: Item | None = None, kind: str = "execution", **new: Any
) -> Write:
    """The write that opens a record which has not expired."""
    common = {"id": ID, "fingerprint": "f", "onCrash": "retry", "acquiredAt": "", "attempts": 1}
    error = {"name": "E", "message": "m"}
    failed = {**common, "status": "FAILED", "owner": f"{ARN}:first", "fence": 1, "error": error, "finishedAt": ""}
    shard = f"IN_PROGRESS#{hash_of(ID)[0]}"
    taken = {"status": "IN_PROGRESS", "owner": f"{ARN}:{name}", "fence": 2, "leaseExpiresAt": 2000, "openShard": shard}
    before = {**failed, "expiresAt": 5000, **(old or {})}
    return Write(NOW, Actor(kind, f"{ARN}:{name}", state), ID, before, {**common, **taken, **new}, "FAILED")


def by(name: str, given: Any) -> Execution:
    return Execution(name, f"{ARN}:{name}", "SUCCEEDED", given, None, None, None, (), 0, ())


@pytest.mark.parametrize("given", [ASKED, [{"body": ASKED}]], ids=["plain", "enveloped"])
def test_a_failure_is_tried_again_for_a_sender_who_asks(given: Any) -> None:
    write = opened()
    assert list(retry_faults([write], [by("sender", given)])) == []
    assert openings([write]) == {ID: [2]}
    assert [each for each in write_faults(write) if each.promise == "P3"] == []


@pytest.mark.parametrize("given", [hard("PermanentError"), hard("PermanentError", onFailed="replay"), None])
def test_nobody_else_has_a_failure_tried_again(given: Any) -> None:
    [fault] = retry_faults([opened()], [by("sender", given)] if given else [])
    assert "did not ask" in fault.what


@pytest.mark.parametrize("name", [RECOVERS, AGAIN])
def test_recovery_tries_no_failure_again_whatever_its_request_says(name: str) -> None:
    [fault] = retry_faults([opened(name)], [by(name, ASKED)])
    assert "recovery tried" in fault.what


OTHERS = {
    "another state": opened(state="TakeOverLock"),
    "for another": opened(owner=f"{ARN}:other"),
    "a function": opened(kind="function"),
    "an answer": opened(old={"status": "COMPLETED", "result": "1"}),
}


@pytest.mark.parametrize("write", OTHERS.values(), ids=OTHERS)
def test_whatever_else_opens_a_closed_record_is_a_fault_and_no_new_life(write: Write) -> None:
    assert openings([write]) == {}
    assert [each for each in write_faults(write) if each.promise == "P3"] != []
    starts = [Start(NOW, ID, f"{ARN}:any", fence, 1, "hard-work") for fence in (1, 2)]
    careful = Write(NOW, None, ID, None, {**(write.new or {}), "onCrash": "quarantine", "fence": 1}, "")
    assert any("onCrash is quarantine" in each.what for each in start_faults(starts, [], [careful, write]))


def test_an_expired_record_begins_a_new_life_whoever_takes_its_lock() -> None:
    for status in ("COMPLETED", "FAILED"):
        assert openings([opened(state="AcquireLock", old={"status": status, "expiresAt": OVER})]) == {ID: [2]}


# What is replaced by what, and the name of an execution for which it is then wrong.
ASKS = "$request.onFailed = 'retry' and $not($request.function = '')"
BREAKAGES = {
    "a failure is tried again for everybody": (ASKS, "$not($request.function = '')", "sender", {}, "did not ask"),
    "recovery tries a failure again": ("/^((recover|", "/^((recovers|", RECOVERS, RETRY, "recovery tried"),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_failure_that_is_tried_again_without_being_asked_for_is_told(
    in_world: Callable[..., Any], broken: Callable[[str, str], Path], breakage: str
) -> None:
    old, new, name, more, told = BREAKAGES[breakage]
    requests = [[hard("PermanentError"), "first"], [hard("PermanentError", **more), name]]
    assert in_world("sent", requests) == []
    assert told in " ".join(in_world("sent", requests, root=broken(old, new)))
