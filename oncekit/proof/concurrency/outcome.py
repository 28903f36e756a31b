"""What came of a fleet, and what the tables must say at the end: one answer an id, one effect a step, all the money."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from oncekit.proof.concurrency.server import Connection
from oncekit.proof.concurrency.transfer import ACCOUNT_COUNT, ACCOUNTS, EFFECTS, OPENING, RECORDS, Transfer
from oncekit.proof.concurrency.worker import IDS, PROCESSES


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
