"""Owners in all lanes: which run of which execution an owner is, or which call of `once` in which invocation.

In the full lane an owner is an execution's ARN. In the fast lane it is that and a nonce, because an Express execution
can run twice: each run is an owner by itself. In the direct lane it is an invocation and a nonce, because a function
can ask for several requests, those of a batch: `direct:<function>:<request id>:<nonce>`. Each call is an owner and an
execution by itself. Nobody can be asked whether it lives: it is over when its lease is. An operator's lock has an
owner that no execution is; so has what has ended by a ticket.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from oncekit.contract.lanes import is_direct
from oncekit.local import LocalCloud

RECOVERY = re.compile(r"recover-[0-9a-f]{32}-[0-9]+-[0-9]+")
"""Names that the sweep gives: such an execution takes over the lock that is there, and asks for nothing itself."""
TICKET = re.compile(r"ticket:[0-9a-f]{32}")
"""An owner that has ended a pending operation, and does nothing else."""
_HANDED_OVER = re.compile(r"first-([0-9a-f]{40})-([0-9]{13})|refused-([0-9a-f]{40})")
_COLONS = 8
"""In the ARN of an Express execution; one more in an owner."""


def is_fast(owner: str) -> bool:
    return owner.split(":")[5:6] == ["express"]


def is_full(owner: str) -> bool:
    return not is_fast(owner) and not is_direct(owner)


def has_nonce(owner: str) -> bool:
    return owner.count(":") == _COLONS + 1


def execution_of_owner(owner: str) -> str:
    """The ARN of its execution; in the direct lane, the owner itself stands for it."""
    return owner.rpartition(":")[0] if has_nonce(owner) else owner


def name_of(owner: str) -> str:
    """Of its execution; in the direct lane, its own."""
    return owner if is_direct(owner) else owner.split(":")[7]


def handed_over_by(arn: str) -> str:
    """What is in the name under which an execution in the fast lane hands its request over to the full one."""
    return hashlib.sha256(arn.encode()).hexdigest()[:40]


def handed_over(name: str) -> tuple[str, float | None] | None:
    """The same, of a request that came so: in seconds when it had come, or None where it is only to be refused."""
    found = _HANDED_OVER.fullmatch(name)
    return (found[1] or found[3], int(found[2]) / 1000 if found[2] else None) if found else None


def status_of(cloud: LocalCloud, owner: str) -> str:
    """Of its run; DOES_NOT_EXIST for an owner that nobody knows."""
    arn = execution_of_owner(owner)
    for machine in cloud.executions.machines:
        for execution in reversed(machine.executions):
            if execution.arn == arn and (not is_fast(owner) or _me(execution) == owner):
                return str(execution.status)
    return "DOES_NOT_EXIST"


def _me(execution: Any) -> Any:
    """From the run's variables, without its history: this is asked at every write."""
    return execution.run.variables.get("me")


def lock_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The lock in the event of a function; empty where the event is a payload alone, which may have one of its own."""
    lock = event.get("lock")
    return lock if isinstance(lock, Mapping) and {"id", "owner", "fence"} <= lock.keys() else {}
