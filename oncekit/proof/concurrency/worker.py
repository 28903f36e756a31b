"""One process of a fleet: it runs executions of the ids whose turn it is, until it is told to stop, or killed."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oncekit.local.clock import RealClock
from oncekit.local.definition import placeholders, render_definition
from oncekit.local.engine.jsonata import Evaluator
from oncekit.local.template import load
from oncekit.proof.concurrency.executions import Journals, Runner
from oncekit.proof.concurrency.server import Connection
from oncekit.proof.concurrency.transfer import RECORDS, Transfer, request_of
from oncekit.proof.model.machine import Machine
from oncekit.proof.model.world import FAST, FULL

PROCESSES, IDS = 32, 500
FRONT = 250
"""Ids that are worked on at a time: an id has its turn for longer than a lease, so that locks change hands."""
CLAIM_SECONDS = 5
"""How long a claimed redrive keeps others away; two minutes in the definition, as long as all that happens here."""
# A lease of a second, so that locks change hands; enough attempts for all the kills that one id may meet.
FAST_SECONDS = 2
"""How long an execution in the fast lane may take for an attempt; five minutes in the definition."""
SUBSTITUTIONS = {
    "TableName": RECORDS,
    "BusinessTimeoutSeconds": 1,
    "LeaseMarginSeconds": -5,
    "MaxAttempts": 1000,
    "MaxRecoveries": 1000,
    "RetentionDays": 1,
    "InlineLimitBytes": 4096,
    "WaitTimeoutSeconds": 1,
    "BackOffBaseSeconds": 1,
    "BackOffCapSeconds": 1,
}


def machine_of(definition: Path, lane: str, dice: random.Random) -> Machine:
    """The machine of a lane, in real time."""
    own = _own_substitutions(definition, lane)
    values = {name: SUBSTITUTIONS.get(name, own.get(name, name)) for name in placeholders(definition)}
    rendered = render_definition(definition, values)
    claim = rendered["States"]["ClaimRedrive"]["Arguments"]["ExpressionAttributeValues"][":lease"]
    assert "$max([120," in claim["N"], "ClaimRedrive has another least time: the one here must be shorter"
    claim["N"] = claim["N"].replace("$max([120,", f"$max([{CLAIM_SECONDS},")
    spare = " + 65 "
    text = json.dumps(rendered)
    assert text.count(spare) == 2, "what the fast lane keeps free around an attempt is written in another way"
    return Machine(json.loads(text.replace(spare, " ")), Evaluator(RealClock(), dice))


def _own_substitutions(definition: Path, lane: str) -> dict[str, object]:
    """What is different in the lane, from the template."""
    resources = load(definition.parents[1] / "template.yaml").section("Resources")
    machine = resources["FastStateMachine" if lane == FAST else "OperationStateMachine"]
    given = machine["Properties"]["DefinitionSubstitutions"]
    own: dict[str, object] = {name: value for name, value in given.items() if isinstance(value, str | int)}
    return {**own, "ExecutionSeconds": FAST_SECONDS} if lane == FAST else own


def work(
    port: int,
    folder: Path,
    number: int,
    seed: int,
    client: Any,
    machines: Mapping[str, Machine],
    pace: Callable[[], float],
) -> None:
    """Runs executions until the file `stop` is there: the ids whose turn it is, then those that are its to end.

    `pace` says how much of the time for faults has gone by: so many of the ids have had their turn.
    """
    dice = random.Random(f"{seed} {number} {os.getpid()}")  # noqa: S311
    connection, journals = Connection(port), Journals(folder)
    business = Transfer(client, dice)
    os.nice(5)  # so that the one who kills is not kept waiting
    runner = Runner(machines, connection, journals, business.invoke, dice)
    tally = (folder / "tally").open("ab", buffering=0)
    mine = [each for each in range(IDS) if each % PROCESSES == number]
    while not (folder / "stop").exists():
        before, late = connection.calls, business.late
        ending = (folder / "end").exists()
        business.aborts = not ending
        if (redriven := journals.claim()) is not None:
            runner.resume(redriven)
        elif (handed := journals.taken_over()) is not None:
            runner.run(handed, lane=FULL)
        elif not ending:
            front = int(min(1.0, pace()) * IDS)
            each = min(IDS - 1, max(0, front - dice.randrange(FRONT)))
            runner.run(request_of(each), lane=dice.choice((FAST, FULL)))
        elif mine:
            # By the full lane: one that comes by the fast lane may leave it to recovery, which is not here.
            end = runner.run(request_of(mine[0]), lane=FULL)
            answered = end is not None and (end.error or end.output["disposition"] != "IN_PROGRESS")
            mine = mine[1:] if answered else [*mine[1:], mine[0]]
        else:
            time.sleep(0.05)
        tally.write(f"{connection.calls - before} {number} {int(not mine)} {business.late - late}\n".encode())
