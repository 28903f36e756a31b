"""Tasks whose raw answer goes on to the next state, where AWS may end the execution, though nobody reads it there.

An answer of just under 256 KiB ends it at the transition, after the call was made, and no Catch of the Task sees it.
"""

from __future__ import annotations

from collections.abc import Iterator

from oncekit.gate.machine import Finding, Machine


def check(machine: Machine) -> Iterator[Finding]:
    for state in machine.tasks():
        if "Output" not in state.raw:
            yield machine.finding(
                state,
                "has no Output, so its raw answer goes on to the next state, and one of just under 256 KiB ends the "
                "execution there, uncaught; give what the next state reads, or {}",
            )
