"""Run every check and print one line for each finding."""

from __future__ import annotations

import sys
from pathlib import Path

from oncekit.gate import errors, expressions, lanes, outputs, retries, timeouts, variables, writes
from oncekit.gate.machine import Finding
from oncekit.gate.project import Project

LANES = ("statemachine/operation.asl.yaml", "statemachine/fast.asl.yaml")


def findings(path: Path) -> list[Finding]:
    """What the checks find in the definitions of the template at `path`. Raises what `Project` does."""
    project = Project(path)
    found: set[Finding] = set(timeouts.check(project))
    every = project.machines_under({})
    for machine in every:
        for check in (expressions.check, variables.check, errors.check, outputs.check, retries.check, writes.check):
            found.update(check(machine))
    machines = {machine.file: machine for machine in every}
    if set(LANES) <= machines.keys():
        found.update(lanes.check(*(machines[each] for each in LANES)))
    return sorted(found)


def main() -> int:
    """Look for what no linter sees in the template's definitions. Exits with 1 when there is a finding."""
    found = findings(Path("template.yaml"))
    for each in found:
        print(each)
    print(f"findings: {len(found)}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
