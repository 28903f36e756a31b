"""Real concurrency: 32 processes run the state machine's own definition and the library's own steps against an atomic
DynamoDB-compatible server, over 500 ids, while they are killed.

Each id moves an amount from one account to another: a step takes it, another one gives it. Business logic aborts at
random, answers are lost, processes are killed (SIGKILL) wherever they are, and some are stopped for longer than their
lease and go on as zombies. At the end every id has one answer, every step of it happened once, and no money is missing.

    python -m oncekit.proof.concurrency [--seconds 20] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oncekit.local.clock import RealClock
from oncekit.local.definition import placeholders, render_definition
from oncekit.local.engine.jsonata import Evaluator
from oncekit.proof.concurrency.executions import Journals, Runner
from oncekit.proof.concurrency.server import DYNOXIDE, ROOT, Connection, server
from oncekit.proof.concurrency.transfer import ACCOUNT_COUNT, ACCOUNTS, EFFECTS, OPENING, RECORDS, Transfer, request_of
from oncekit.proof.model.machine import Machine

DEFINITION = ROOT / "statemachine" / "operation.asl.yaml"
PROCESSES, IDS = 32, 500
FRONT = 250
"""Ids that are worked on at a time: an id has its turn for longer than a lease, so that locks change hands."""
TO_END = 60.0
"""Seconds after which what is still open counts as stuck."""
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


@dataclass
class Outcome:
    """What came of it, and what is wrong with it."""

    seconds: float
    seed: int
    kills: int = 0
    stops: int = 0
    late: int = 0
    executions: int = 0
    calls: int = 0
    effects: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {status}" for status, count in sorted(self.ends.items()))
        return (
            f"{PROCESSES} processes, {IDS} ids, seed {self.seed}, {self.seconds:.0f} s: {self.executions:,} executions "
            f"({self.executions / self.seconds:.0f} a second), {self.calls:,} calls ({self.calls / self.seconds:.0f} a "
            f"second), {self.kills} kills, {self.stops + self.late} zombies; {self.attempts:,} attempts, "
            f"{self.effects:,} effects; {ends}"
        )


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


# ---- A process ----


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


# ---- All of them ----


class Fleet:
    """The processes; one that dies is replaced."""

    def __init__(self, start: Callable[[int], None]) -> None:
        self._start = start
        self._processes: dict[int, int] = {}

    def fill(self) -> None:
        for number in range(PROCESSES):
            if number not in self._processes:
                self._processes[number] = self._fork(number)

    def _fork(self, number: int) -> int:
        process = os.fork()
        if process:
            return process
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._start(number)
        except BaseException as error:  # a child must never return into the parent's code
            print(f"process {number}: {type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)

    def pick(self, dice: random.Random) -> int:
        return dice.choice(list(self._processes.values()))

    def kill(self, process: int) -> None:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        self._processes = {number: each for number, each in self._processes.items() if each != process}

    def close(self) -> None:
        for process in list(self._processes.values()):
            self.kill(process)


def run(seconds: float, seed: int) -> Outcome:
    """Chaos for so many seconds, then an end for every id; what the tables hold afterwards is checked."""
    from botocore.config import Config
    from botocore.session import get_session

    os.environ["POWERTOOLS_LOG_LEVEL"] = "CRITICAL"
    dice = random.Random(seed)  # noqa: S311
    began = time.monotonic()
    with server(RECORDS, EFFECTS, ACCOUNTS) as port, tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "journals"
        Journals(folder).make()
        control = Connection(port)
        for account in range(ACCOUNT_COUNT):
            item = {"id": {"S": f"account-{account}"}, "balance": {"N": str(OPENING)}}
            control.call("PutItem", json.dumps({"TableName": ACCOUNTS, "Item": item}))
        # Made once, before there are processes, and used in them only.
        client = get_session().create_client(
            "dynamodb",
            region_name="us-east-1",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id="local",
            aws_secret_access_key="local",  # noqa: S106
            config=Config(connect_timeout=2, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 4}),
        )
        outcome = Outcome(seconds, seed)
        machine = machine_of(DEFINITION, dice)
        machine.enter("warm-up", request_of(0))
        since = time.monotonic()
        fleet = Fleet(
            lambda number: work(
                port, folder, number, seed, client, machine, lambda: (time.monotonic() - since) / seconds
            )
        )
        try:
            fleet.fill()
            _torment(fleet, outcome, dice, until=time.monotonic() + seconds)
            (folder / "end").touch()
            _wait_for_the_end(folder, outcome)
            (folder / "stop").touch()
        finally:
            fleet.close()
        outcome.seconds = time.monotonic() - began
        _count(folder, outcome)
        check(control, outcome)
    return outcome


def _torment(fleet: Fleet, outcome: Outcome, dice: random.Random, until: float) -> None:
    """Kills a process every tenth of a second, and stops one for longer than its lease every other second."""
    stopped: list[tuple[float, int]] = []
    next_stop = 0.0
    while time.monotonic() < until:
        time.sleep(0.1)
        now = time.monotonic()
        victim = fleet.pick(dice)
        stopped = [(since, each) for since, each in stopped if each != victim]
        fleet.kill(victim)
        outcome.kills += 1
        fleet.fill()
        if now > next_stop:
            frozen = fleet.pick(dice)
            os.kill(frozen, signal.SIGSTOP)
            stopped.append((now, frozen))
            outcome.stops += 1
            next_stop = now + 0.5
        for since, each in stopped:
            if now - since > 4:
                os.kill(each, signal.SIGCONT)
        stopped = [(since, each) for since, each in stopped if now - since <= 4]
    for _, each in stopped:
        os.kill(each, signal.SIGCONT)


def _wait_for_the_end(folder: Path, outcome: Outcome) -> None:
    until = time.monotonic() + TO_END
    while time.monotonic() < until:
        time.sleep(0.25)
        done = {line.split()[1] for line in (folder / "tally").read_text().splitlines() if line.split()[2] == "1"}
        if len(done) == PROCESSES:
            return
    outcome.faults.append(f"stuck: after {TO_END:.0f} s without faults not every id has an answer")


def _count(folder: Path, outcome: Outcome) -> None:
    lines = (folder / "tally").read_text().splitlines()
    outcome.executions = len(lines)
    outcome.calls = sum(int(line.split()[0]) for line in lines)
    outcome.late = sum(int(line.split()[3]) for line in lines)


# ---- What must be true at the end ----


def check(connection: Connection, outcome: Outcome) -> None:
    """One answer an id, one effect a step, and all the money."""
    effects = {item["id"]["S"]: int(item["n"]["N"]) for item in connection.items(EFFECTS)}
    outcome.effects = sum(effects.values())
    outcome.faults += [f"twice: {name} took effect {count} times" for name, count in effects.items() if count != 1]
    records = {item["id"]["S"]: item for item in connection.items(RECORDS)}
    transit = 0
    for number in range(IDS):
        record = records.get(f"default#transfer#{number}", {"status": {"S": "MISSING"}})
        status = record["status"]["S"]
        outcome.ends[status] += 1
        outcome.attempts += int(record.get("attempts", {"N": "0"})["N"])
        taken, given = (f"{number}/{step}" in effects for step in ("take", "give"))
        outcome.faults += list(_faults_of(number, status, taken, given))
        transit += Transfer.amount(number) if taken and not given else 0
    balance = sum(int(item["balance"]["N"]) for item in connection.items(ACCOUNTS))
    if balance + transit != OPENING * ACCOUNT_COUNT:
        outcome.faults.append(f"money: {OPENING * ACCOUNT_COUNT} became {balance}, and {transit} under way")
    if any(int(item["balance"]["N"]) < 0 for item in connection.items(ACCOUNTS)):
        outcome.faults.append("money: an account is overdrawn")


def _faults_of(number: int, status: str, taken: bool, given: bool) -> Iterator[str]:
    expected: Mapping[str, tuple[bool, bool]] = {"COMPLETED": (True, True), "FAILED": (False, False)}
    if status not in (*expected, "QUARANTINED"):
        yield f"stuck: id {number} is {status}"
    elif status in expected and expected[status] != (taken, given):
        yield f"effect: id {number} is {status}, taken {taken}, given {given}"


def main() -> None:
    """Run it and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.proof.concurrency", description=main.__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="how long processes are killed (default 20)")
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    if not DYNOXIDE.exists():
        raise SystemExit("Dynoxide is not installed: run make tools (needs npm)")
    seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    outcome = run(arguments.seconds, seed)
    print(("✗ " if outcome.faults else "✓ ") + str(outcome))
    for fault in outcome.faults[:20]:
        print(f"  {fault}")
    raise SystemExit(1 if outcome.faults else 0)
