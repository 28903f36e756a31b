"""One process of a fleet: it runs executions of the ids whose turn it is, until it is told to stop, or killed."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oncekit.local.clock import RealClock
from oncekit.local.definition import placeholders, render_definition
from oncekit.local.engine.jsonata import Evaluator
from oncekit.proof.concurrency.executions import Journals, Runner
from oncekit.proof.concurrency.server import Connection
from oncekit.proof.concurrency.transfer import RECORDS, Transfer, request_of
from oncekit.proof.model.machine import Machine

PROCESSES, IDS = 32, 500
FRONT = 250
"""Ids that are worked on at a time: an id has its turn for longer than a lease, so that locks change hands."""
CLAIM_SECONDS = 5
"""How long a claimed redrive keeps others away; two minutes in the definition, as long as all that happens here."""
# A lease of a second, so that locks change hands; enough attempts for all the kills that one id may meet.
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


def machine_of(definition: Path, dice: random.Random) -> Machine:
    """The machine in the definition, in real time."""
    values = {name: SUBSTITUTIONS.get(name, name) for name in placeholders(definition)}
    rendered = render_definition(definition, values)
    claim = rendered["States"]["ClaimRedrive"]["Arguments"]["ExpressionAttributeValues"][":lease"]
    assert "$max([120," in claim["N"], "ClaimRedrive has another least time: the one here must be shorter"
    claim["N"] = claim["N"].replace("$max([120,", f"$max([{CLAIM_SECONDS},")
    return Machine(rendered, Evaluator(RealClock(), dice))


def is_express(number: int) -> bool:
    """Every other id belongs to an Express machine: there an owner that is late is taken for dead, and lives on."""
    return number % 2 == 1


def work(
    port: int, folder: Path, number: int, seed: int, client: Any, machine: Machine, pace: Callable[[], float]
) -> None:
    """Runs executions until the file `stop` is there: the ids whose turn it is, then those that are its to end.

    `pace` says how much of the time for faults has gone by: so many of the ids have had their turn.
    """
    dice = random.Random(f"{seed} {number} {os.getpid()}")  # noqa: S311
    connection, journals = Connection(port), Journals(folder)
    business = Transfer(client, dice)
    os.nice(5)  # so that the one who kills is not kept waiting
    runner = Runner(machine, connection, journals, business.invoke, dice)
    tally = (folder / "tally").open("ab", buffering=0)
    mine = [each for each in range(IDS) if each % PROCESSES == number]
    while not (folder / "stop").exists():
        before, late = connection.calls, business.late
        ending = (folder / "end").exists()
        business.aborts = not ending
        if (redriven := journals.claim()) is not None:
            runner.resume(redriven)
        elif not ending:
            front = int(min(1.0, pace()) * IDS)
            each = min(IDS - 1, max(0, front - dice.randrange(FRONT)))
            runner.run(request_of(each), express=is_express(each))
        elif mine:
            end = runner.run(request_of(mine[0]), express=is_express(mine[0]))
            answered = end is not None and (end.error or end.output["disposition"] != "IN_PROGRESS")
            mine = mine[1:] if answered else [*mine[1:], mine[0]]
        else:
            time.sleep(0.05)
        tally.write(f"{connection.calls - before} {number} {int(not mine)} {business.late - late}\n".encode())
