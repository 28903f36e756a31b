"""Processes that are killed amid work: `python killing.py PORT SEED OWNERS`, where PORT is that of an atomic server.

Each owner is a process that runs an execution by the machine's own definition and the library's own steps. It is killed
(SIGKILL), or stopped for as long as it takes another process to complete its operation and goes on as a zombie. A line
of standard output for each: [ID, WHERE, answer of the heir, answer of a later duplicate], as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from botocore.session import get_session
from dynoxide import Connection, Refused
from once import LockLostError
from once.lock import Lock
from once.step import Step
from once.step_log import StepLog

from oncekit.local import VirtualClock
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.deploy import rendered_definitions
from oncekit.local.engine.expression import Evaluator
from oncekit.proof.model.machine import NOW, At, End, Machine

OPERATION = "charge-payment"
RECORDS, EFFECTS, STEPS = "once-IdempotencyTable", "effects", ("take", "give")
DEFINITION = rendered_definitions(Path(__file__).parents[2] / "template.yaml")["operation"]
ARN = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:OperationStateMachine-local"
A_LEASE = 3600
CALLS = 6
"""That an owner makes until its end, steps included."""


@dataclass(frozen=True)
class Process:
    """What one process has; in its pipe it says what it is about to do."""

    port: int
    client: Any
    pipe: int
    machine: Machine

    def run(self, number: int, name: str) -> End:
        given, arn = request(number), f"{ARN}:{name}-{number} {name}-{number}"
        step = self.machine.enter(arn, given)
        connection = Connection(self.port)
        while isinstance(step, At):
            self.about(step.position)
            at = (step.position, step.variables, arn, given)
            try:
                result = self.called(connection, self.machine.resource(step.position), self.machine.call(*at))
            except Refused as refused:
                step = self.machine.fail(*at, refused.code, str(refused))
            else:
                step = self.machine.succeed(*at, json.dumps(result))
        return step

    def about(self, what: str) -> None:
        os.write(self.pipe, f"{what}\n".encode())

    def called(self, connection: Connection, resource: str, arguments: str) -> dict[str, Any]:
        match resource:
            case "dynamodb:updateItem" | "dynamodb:getItem":
                try:
                    return connection.call({"u": "UpdateItem", "g": "GetItem"}[resource[9]], arguments)
                except Refused as refused:
                    refused.code = f"DynamoDB.{refused.code}"
                    raise
            case "lambda:invoke":
                return {"Payload": self.business(json.loads(arguments)["Payload"])}
            case "sfn:describeExecution":
                return {"Status": "ABORTED"}
        raise AssertionError(f"nobody expects {resource} here")

    def business(self, event: dict[str, Any]) -> dict[str, Any]:
        """Two fenced steps, each of which counts itself."""
        held = event["lock"]
        log = StepLog(
            Lock(held["table"], held["id"], held["owner"], held["fence"], held["leaseExpiresAt"]), self.client
        )

        def write(name: str, step: Step) -> str:
            self.about("write")
            step.update(EFFECTS, {"id": f"{held['id']}/{name}"}, "ADD n :one", {":one": 1})
            return f"under fence {held['fence']}"

        try:
            found = [log.run(name, partial(write, name), name) for name in STEPS]
        except LockLostError as error:
            raise Refused(type(error).__name__, str(error)) from error
        return {"onceResult": json.dumps(found), "replyToken": event["replyToken"]}


def request(number: int) -> str:
    return json.dumps({"operation": OPERATION, "idempotencyKey": str(number), "payload": {}})


@dataclass(frozen=True)
class Fleet:
    """What its processes have in common, made once: expressions are read as they are first evaluated."""

    port: int
    client: Any
    tokens: random.Random
    machines: Mapping[str, Machine]
    """By the name of an execution."""

    def forked(self, number: int, name: str) -> tuple[int, int]:
        """The id of a process that runs an execution, and what it writes: where it is, then its end."""
        reading, writing = os.pipe()
        if process := os.fork():
            os.close(writing)
            return process, reading
        self.tokens.seed(os.getpid())
        try:
            end = Process(self.port, self.client, writing, self.machines[name]).run(number, name)
            os.write(writing, f"{json.dumps([end.error, (end.output or {}).get('result')])}\n".encode())
        except BaseException as error:  # a child must never return into the parent's code
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        os._exit(0)


def fleet(port: int) -> Fleet:
    client = get_session().create_client(
        "dynamodb",
        region_name=REGION,
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    tokens = random.Random(0)
    now, later = (Machine(DEFINITION, Evaluator(VirtualClock(float(at)), tokens)) for at in (NOW, NOW + A_LEASE))
    for machine in (now, later):
        machine.enter(f"{ARN}:first first", request(-1))
    return Fleet(port, client, tokens, {"owner": now, "heir": later, "duplicate": later})


def killed(dice: random.Random, pipe: int, process: int, how: signal.Signals) -> str:
    """Lets a process come to a call that the dice choose, and a little further; where that was."""
    where, left = "", dice.randrange(CALLS)
    with os.fdopen(os.dup(pipe)) as said:
        for line in said:
            where = line.strip()
            if not left:
                break
            left -= 1
    time.sleep(dice.uniform(0, 0.004))
    os.kill(process, how)
    return f"{how.name} at {where}"


def ended(process: int, pipe: int) -> list[str | None]:
    """Error and answer of an execution."""
    with os.fdopen(pipe) as said:
        last = said.read().splitlines()[-1]
    os.waitpid(process, 0)
    found: list[str | None] = json.loads(last)
    return found


def main(port: int, seed: int, owners: int) -> None:
    dice = random.Random(seed)
    processes = fleet(port)
    for number in range(owners):
        how = dice.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP))
        owner, pipe = processes.forked(number, "owner")
        where = killed(dice, pipe, owner, how)
        answers = [ended(*processes.forked(number, name)) for name in ("heir", "duplicate")]
        if how is signal.SIGSTOP:
            os.kill(owner, signal.SIGCONT)
        os.waitpid(owner, 0)
        os.close(pipe)
        print(json.dumps([f"default#{OPERATION}#{number}", where, *answers]), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
