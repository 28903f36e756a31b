"""What the gate allows all the same, each with its reason. An entry that allows nothing any more is a finding."""

from __future__ import annotations

Reasons = dict[str, dict[str, str]]
"""By machine and by state."""

_IS_REDRIVEN = "what it does was decided before: a redrive resumes here, and recovery redrives"
_LEASE_ENDS = "the lease ends, and recovery starts the request that is kept with the lock"

MAY_FAIL_UNCAUGHT: Reasons = {
    "operation": {
        "CacheResponse": _IS_REDRIVEN,
        "Finalize": _IS_REDRIVEN,
        "RecordFailure": _IS_REDRIVEN,
        "KeepRequest": _IS_REDRIVEN,
        "RecordQuarantine": _IS_REDRIVEN,
        "TakeOverLock": "the lock is still the dead owner's, or has a lease that ends: recovery goes on",
        "ClaimRedrive": "the owner is as dead as before, and the next sweep begins again",
        "RenewLock": "nothing was started since BackOff: the lease ends, and recovery goes on",
        "KeepRefused": "nothing was started, and its history says so: recovery goes on",
        "UndoLock": "nothing was started, and its history says so: recovery goes on",
        "RefuseRequest": "nothing was started: the source has its request, and the dead execution has it, too",
    },
    "fast": {
        "CacheResponse": _LEASE_ENDS,
        "Finalize": _LEASE_ENDS,
        "RecordFailure": _LEASE_ENDS,
        "KeepRequest": _LEASE_ENDS,
        "RecordQuarantine": _LEASE_ENDS,
        "TakeOverLock": "is not reached in the fast lane",
        "ClaimRedrive": "is not reached in the fast lane",
    },
    "recovery": {
        "CountShard": "a sum that leaves a shard out is wrong: the sweep fails, and an alarm looks at that",
        "PublishMetrics": "numbers that are not published must fail the run, for an alarm looks at them",
    },
}
"""Tasks whose errors end the execution once their retries are used up."""

REPEATABLE: Reasons = {
    "operation": {
        "CacheResponse": "it writes once (If-None-Match), and a repeated call finds what it wrote",
        "RefuseRequest": "a refused request that is in the queue twice is looked at twice, and done never",
        "KeepRefused": "a refused request that is in the queue twice is started once by `once replay-rejected`",
        "RedriveOwner": "a second redrive of an execution that runs is refused",
    },
    "fast": {
        "CacheResponse": "it writes once (If-None-Match), and a repeated call finds what it wrote",
        "RefuseRequest": "a refused request that is in the queue twice is looked at twice, and done never",
        "KeepRefused": "a refused request that is in the queue twice is started once by `once replay-rejected`",
        "RedriveOwner": "is not reached in the fast lane",
    },
    "recovery": {
        "KeepDeadRequest": "a request that is in the queue twice is sent again under the same key, which is done once",
        "PublishMetrics": "a number that is published twice is the same number",
    },
}
"""Tasks that may be repeated although their integration has an effect each time."""

WRITES_WITHOUT_FENCE: Reasons = {
    "operation": {"AcquireLock": "it is the write that makes the fence: whoever is let in owns nothing yet"},
    "fast": {"AcquireLock": "it is the write that makes the fence: whoever is let in owns nothing yet"},
}
"""Conditional writes that do not name status, owner and fence."""

BOUNDED_RESULTS: Reasons = {
    "operation": {
        "CacheResponse": "it returns a reference of a few hundred bytes",
    },
    "fast": {
        "CacheResponse": "it returns a reference of a few hundred bytes",
    },
    "recovery": {
        "CountOperations": "of each of 48 counts it keeps a name and a number",
    },
}
"""Tasks and Maps whose result stays small although their integration's may not."""


LEASES_OF_OTHERS: Reasons = {
    "fast": {"ClaimRedrive": "is not reached in the fast lane, and gives a lease to an owner that can be asked"},
}
"""Writes of an Express machine whose lease need not be longer than one of its executions."""


class Excused:
    """Looks the states of one machine up in one list, and remembers which entries were of use."""

    def __init__(self, reasons: Reasons, machine: str) -> None:
        self._reasons = reasons.get(machine, {})
        self._used: set[str] = set()

    def __call__(self, state: str) -> bool:
        self._used |= {state} & set(self._reasons)
        return state in self._reasons

    def unused(self) -> list[str]:
        """The states that are listed for nothing."""
        return sorted(set(self._reasons) - self._used)
