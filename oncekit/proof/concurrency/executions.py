"""Executions as processes run them: the definition state by state, with a journal that outlives the process.

The journal stands for the history that Step Functions keeps: who asks after an execution reads it there, and a redrive
goes on from its last entry. A process that was killed is an execution that was aborted.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.proof.concurrency.server import Connection, Refused
from oncekit.proof.model.machine import At, End, Machine, Next, Uncaught
from oncekit.proof.model.world import FAST, FULL

ARN = f"arn:aws:states:{REGION}:{ACCOUNT}"
SUCCESS = "+"
ACTIONS = {"dynamodb:updateItem": "UpdateItem", "dynamodb:getItem": "GetItem"}
CLAIMED_WITHIN = 3.0
"""Seconds; a redrive that somebody took over and that nobody runs by then has died on the way."""


class Journals:
    """A file for each execution: its processes, the states it entered, where it is, its end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.redriven = folder / "redriven"
        self.handed_over = folder / "handed-over"

    def make(self) -> None:
        self.redriven.mkdir(parents=True)
        self.handed_over.mkdir()

    def write(self, name: str, kind: str, *entries: str) -> None:
        """One append, so that a line is whole or not there."""
        line = json.dumps([kind, *entries]) + "\n"
        with (self._folder / name).open("ab", buffering=0) as file:
            file.write(line.encode())

    def read(self, name: str) -> list[list[str]]:
        lines = (self._folder / name).read_text().split("\n")
        return [json.loads(line) for line in lines if line.endswith("]")]

    def status(self, name: str) -> str:
        """As DescribeExecution says it; a process that is gone has been aborted."""
        entries = self.read(name)
        last = entries[-1]
        if last[0] == "end":
            return last[1]
        process = next(entry for entry in reversed(entries) if entry[0] in ("process", "redriven"))
        if process[0] == "redriven":
            waiting = (self.redriven / name).exists() or time.time() - float(process[1]) < CLAIMED_WITHIN
            return "RUNNING" if waiting else "ABORTED"
        return "RUNNING" if is_alive(int(process[1])) else "ABORTED"

    def events(self, name: str) -> list[dict[str, Any]]:
        """As GetExecutionHistory gives them, newest first; the newest event of one that has ended is its end."""
        status = self.status(name)  # before its events: an end that comes meanwhile is told the next time
        events: list[dict[str, Any]] = []
        for entry in self.read(name):
            for number, state in enumerate(entry[1:], len(events) + 1):
                if entry[0] == "entered" and state == SUCCESS:
                    details = {"TaskSucceededEventDetails": {"ResourceType": "lambda"}}
                    events.append({"Id": number, "Type": "TaskSucceeded", **details})
                elif entry[0] == "entered":
                    events.append({"Id": number, "Type": "StateEntered", "StateEnteredEventDetails": {"Name": state}})
        if status != "RUNNING":
            events.append({"Id": len(events) + 1, "Type": f"Execution{status.capitalize()}"})
        return events[::-1]

    def redrive(self, name: str) -> bool:
        """Lets another process go on with a dead execution. False when it is not dead, or somebody else does it."""
        if self.status(name) not in ("ABORTED", "FAILED"):
            return False
        times = sum(entry[0] == "redriven" for entry in self.read(name))
        try:
            (self._folder / f"{name}.{times}").touch(exist_ok=False)
        except FileExistsError:
            return False
        self.write(name, "redriven", str(time.time()))
        (self.redriven / name).touch()
        return True

    def hand_over(self, name: str, given: str) -> bool:
        """Lets another process run this request in the full lane. False when the name is taken."""
        try:
            (self._folder / f"{name}.started").touch(exist_ok=False)
        except FileExistsError:
            return False
        unseen = self._folder / f"{name}.{os.getpid()}"
        unseen.write_text(given)
        unseen.rename(self.handed_over / name)
        return True

    def taken_over(self) -> str | None:
        """A request that was handed over and that this process runs now."""
        for path in self.handed_over.iterdir():
            mine = self._folder / f"{path.name}.{os.getpid()}"
            try:
                path.rename(mine)
            except FileNotFoundError:
                continue
            return mine.read_text()
        return None

    def claim(self) -> str | None:
        """A redriven execution that this process goes on with."""
        for path in self.redriven.iterdir():
            try:
                path.rename(self._folder / f"{path.name}.{os.getpid()}.{time.monotonic_ns()}")
            except FileNotFoundError:
                continue
            return path.name
        return None


def is_alive(process: int) -> bool:
    """Whether the process is there and is not a zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


class Runner:
    """Runs executions in this process, one after the other."""

    def __init__(
        self,
        machines: Mapping[str, Machine],
        connection: Connection,
        journals: Journals,
        business: Callable[[dict[str, Any]], dict[str, Any]],
        dice: random.Random,
    ) -> None:
        self._machines = machines
        self._connection = connection
        self._journals = journals
        self._business = business
        self._dice = dice
        self._started = 0

    def run(self, given: str, *, lane: str) -> End | None:
        """One execution; its end, or None when it died of an error that nothing catches."""
        self._started += 1
        name = f"{os.getpid()}-{time.monotonic_ns()}-{self._started}"
        began = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        arn = f"{ARN}:{'express' if lane == FAST else 'execution'}:once:{name} {name} {began}"
        machine = self._machines[lane]
        self._journals.write(name, "process", str(os.getpid()))
        self._journals.write(name, "input", given)
        return self._go_on(machine, name, arn, given, machine.enter(arn, given))

    def resume(self, name: str) -> End | None:
        """A redriven execution, from the state in which it died."""
        entries = self._journals.read(name)
        self._journals.write(name, "process", str(os.getpid()))
        given = next(entry[1] for entry in entries if entry[0] == "input")
        position, variables = next(entry[1:] for entry in reversed(entries) if entry[0] == "at")
        machine = self._machines[FULL]  # nobody redrives an Express execution
        return self._go_on(machine, name, f"{ARN}:execution:once:{name} {name}", given, At(position, variables))

    def _go_on(self, machine: Machine, name: str, arn: str, given: str, step: Next) -> End | None:
        while isinstance(step, At):
            self._journals.write(name, "at", step.position, step.variables)
            self._journals.write(name, "entered", *step.passed)
            try:
                step = self._next(machine, name, arn, given, step)
            except Uncaught:
                self._journals.write(name, "end", "FAILED")
                return None
        self._journals.write(name, "end", "FAILED" if step.error else "SUCCEEDED")
        return step

    def _next(self, machine: Machine, name: str, arn: str, given: str, step: At) -> Next:
        at = (step.position, step.variables, arn, given)
        while True:
            arguments = machine.call(*at)
            try:
                result = self._called(machine.resource(step.position), arguments)
            except Refused as refused:
                return machine.fail(*at, refused.code, str(refused))
            except BusinessError as error:
                return machine.fail(*at, error.name, json.dumps({"errorMessage": error.message}))
            if machine.resource(step.position) == "lambda:invoke":
                self._journals.write(name, "entered", SUCCESS)
            elif self._dice.random() < 0.02:
                continue  # the answer was lost: the same call again
            return machine.succeed(*at, json.dumps(result))

    def _called(self, resource: str, call: str) -> dict[str, Any]:
        if resource in ACTIONS:
            try:
                return self._connection.call(ACTIONS[resource], call)
            except Refused as refused:
                refused.code = f"DynamoDB.{refused.code}"
                raise
        arguments = json.loads(call)
        if resource == "lambda:invoke":
            return {"Payload": self._business(arguments["Payload"])}
        owner = str(arguments.get("ExecutionArn", "")).rpartition(":")[2]
        match resource:
            case "sfn:describeExecution":
                return {"Status": self._journals.status(owner)}
            case "sfn:getExecutionHistory":
                return {"Events": self._journals.events(owner)}
            case "sfn:redriveExecution":
                if not self._journals.redrive(owner):
                    raise Refused("Sfn.ExecutionNotRedrivableException", owner)
                return {}
            case "states:startExecution":
                if not self._journals.hand_over(arguments["Name"], json.dumps(arguments["Input"])):
                    raise Refused("StepFunctions.ExecutionAlreadyExistsException", arguments["Name"])
        return {}  # S3 and SQS only keep things


class BusinessError(Exception):
    """What business logic raised, by the name that the state machine sees."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message
