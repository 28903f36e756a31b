"""Real concurrency: 32 processes run the state machine's own definition and the library's own steps against an atomic
DynamoDB-compatible server, over 500 ids, in both lanes, while they are killed.

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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oncekit.local.account import REGION
from oncekit.proof.concurrency.executions import Journals
from oncekit.proof.concurrency.outcome import Outcome, check
from oncekit.proof.concurrency.server import DYNOXIDE, ROOT, Connection, server
from oncekit.proof.concurrency.transfer import ACCOUNT_COUNT, ACCOUNTS, EFFECTS, OPENING, RECORDS, request_of
from oncekit.proof.concurrency.worker import PROCESSES, machine_of, work
from oncekit.proof.model.world import FAST, FULL

DEFINITION = ROOT / "statemachine" / "operation.asl.yaml"
TO_END = 60.0
"""Seconds after which what is still open counts as stuck."""


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
    os.environ["POWERTOOLS_LOG_LEVEL"] = "CRITICAL"
    dice = random.Random(seed)  # noqa: S311
    began = time.monotonic()
    with server(RECORDS, EFFECTS, ACCOUNTS) as port, tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "journals"
        Journals(folder).make()
        control = Connection(port)
        _open_accounts(control)
        client = _client(port)
        outcome = Outcome(seconds, seed)
        machines = {lane: machine_of(DEFINITION, lane, dice) for lane in (FULL, FAST)}
        for machine in machines.values():
            machine.enter("warm-up", request_of(0))
        since = time.monotonic()
        fleet = Fleet(
            lambda number: work(
                port, folder, number, seed, client, machines, lambda: (time.monotonic() - since) / seconds
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


def _open_accounts(control: Connection) -> None:
    for account in range(ACCOUNT_COUNT):
        item = {"id": {"S": f"account-{account}"}, "balance": {"N": str(OPENING)}}
        control.call("PutItem", json.dumps({"TableName": ACCOUNTS, "Item": item}))


def _client(port: int) -> Any:
    """The library's client of DynamoDB: made once, before there are processes, and used in them only."""
    from botocore.config import Config
    from botocore.session import get_session

    return get_session().create_client(
        "dynamodb",
        region_name=REGION,
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106
        config=Config(connect_timeout=2, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 4}),
    )


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
