"""The two lanes: a state that both have is the same in both, but for what stands here with its reason.

Where a belief decides between run and do not run, unknown means do not run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.gate.machine import Finding, Machine

_NEVER_RECOVERS = "no execution of the fast lane is a recovery"
_CANNOT_BE_ASKED = "the lease of an Express execution lasts as long as it can live, since it cannot be asked"
_HAS_MINUTES = "what the fast lane cannot do within its minutes the full lane or the sweep does"
DIFFERENT: Mapping[tuple[str, str], str] = {
    ("ReceiveRequest", "Choices.Assign.me"): "an Express execution can run twice, and the lock belongs to one run",
    ("ReceiveRequest", "Choices.Assign.isRecovery"): _NEVER_RECOVERS,
    ("ReceiveRequest", "Choices.Assign.startedAt"): "only the full lane is handed requests that came earlier",
    ("ReceiveRequest", "Choices.Assign.waiting"): "a wait ends before the execution does",
    ("ReceiveRequest", "Choices.Assign.throttled"): _HAS_MINUTES,
    ("ReceiveRequest", "Choices.Assign.released"): "only the fast lane releases a lock",
    ("ReceiveRequest", "Choices.Next"): "the fast lane reads first: for a duplicate that is one read and no write",
    ("AcquireLock", "Arguments.ConditionExpression"): f"{_NEVER_RECOVERS}, and it has kept a large request already",
    ("AcquireLock", "Arguments.ExpressionAttributeValues"): _CANNOT_BE_ASKED,
    ("ReadRecord", "Assign.fingerprint"): _NEVER_RECOVERS,
    ("ReadRecord", "Assign.found"): "what was handed over is in progress, and no owner is asked",
    ("ExistingStatus", "Choices"): (
        "the fast lane hands over, asks no owner, and runs nothing under a lock whose answer was lost: another run of "
        "its execution may"
    ),
    ("ExistingStatus", "Default"): "the fast lane hands over, and asks no owner",
    **{
        (state, member): _HAS_MINUTES
        for state in ("AcquireLock", "ReadRecord", "KeepRequest")
        for member in ("TimeoutSeconds", "Retry", "Catch")
    },
    **{
        (state, "Retry"): _HAS_MINUTES
        for state in ("CacheResponse", "Finalize", "KeepOpen", "RecordFailure", "RecordQuarantine", "RefuseRequest")
    },
    ("RefuseRequest", "Catch"): _HAS_MINUTES,
    ("ClassifyFailure", "Choices"): "what may pass the full lane tries again",
    ("ClassifyFailure", "Default"): "what may pass the full lane tries again",
}
"""By state and member."""
_FAST, _FULL = '"Next": "IsSentByHttp"', '"Next": "RefuseRequest"'
"""In the fast lane the way to a refusal asks first whether its sender is told by HTTP."""


def check(full: Machine, fast: Machine) -> Iterator[Finding]:
    """Finds differences without a reason, and reasons without a difference."""
    needed = set()
    states = full.definition["States"], json.loads(json.dumps(fast.definition["States"]).replace(_FAST, _FULL))
    for name in states[0].keys() & states[1].keys():
        for path in _differences(states[0][name], states[1][name]):
            reasons = {known for known in DIFFERENT if known[0] == name and f"{path}.".startswith(f"{known[1]}.")}
            needed |= reasons
            if not reasons:
                yield Finding(fast.file, name, f"{path} differs from the full lane's; make both the same, or say why")
    for name, path in DIFFERENT.keys() - needed:
        yield Finding(
            fast.file, name, f"{path} is the same in both lanes; take its reason out of oncekit/gate/lanes.py"
        )


def _differences(one: Any, other: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in {**one, **other}:
            yield from _differences(one.get(name), other.get(name), (*path, name))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for pair in zip(one, other, strict=True):
            yield from _differences(*pair, path)
    elif one != other:
        yield ".".join(path)
