"""Operators: the commands `once retry`, `resolve` and `release`, also with `--forget`, while everything else goes on.

And somebody careless, who aborts executions that run, and lets those that died go on in the console.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError

from oncekit.local.engine.service_calls import Call
from oncekit.problem import Problem
from oncekit.promises.checker import id_of
from oncekit.promises.evidence import executions_of
from oncekit.promises.journal import Actor, Fault
from oncekit.promises.owners import is_fast
from oncekit.proof.simulation.fault_kinds import refusal
from oncekit.proof.simulation.plans import Act, Plan
from oncekit.proof.simulation.world import World
from oncekit.stack import decisions, forget
from oncekit.stack.records import Changed
from oncekit.stack.stack import Stack


class Operators:
    """Does what a plan has them do."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._session = _Session(world)
        cloud, now = world.cloud, world.scheduler.now
        self._stack = Stack("once", cloud.outputs, cloud.parameters, self._session, now=now, id="once/local")
        self._redriven: set[str] = set()
        self._forgotten = Counter[str]()

    def act(self, act: Act, plan: Plan) -> None:
        sent = [request for each in plan.sendings for request in each.batch or (each.request,)]
        id = id_of(sent[min(act.target, len(sent) - 1)])
        if act.what in ("aborts", "redrives"):
            self._meddle(act.what)
            return
        record = self._world.cloud.record(id) or {}
        waits = record.get("status") == "QUARANTINED" or "pendingSince" in record
        if act.what in ("releases", "forgets") or waits:
            self.act_now(act.what, id)

    def act_now(self, what: str, id: str) -> None:
        """A command about an id: `retries`, `resolves`, `releases` or `forgets`; it may be refused.

        One that `retries by the sweep` ends between its write and its start.
        """
        self._world.note(f"an operator {what} {id}")
        with suppress(ClientError, Problem, Changed), self._world.journal.acting(Actor("operator")):
            if what.startswith("retries"):
                self._session.starts = what == "retries"
                decisions.retry(self._stack, id)
            elif what == "resolves":
                decisions.resolve(self._stack, id, '"resolved"', None)
            elif what == "forgets":
                forget.forget(self._stack, id, forget.shown(self._stack, id))
                self._forgotten[id] += 1
            else:
                shown, _ = decisions.may_be_released(self._stack, id)
                decisions.release(self._stack, shown)

    def _meddle(self, what: str) -> None:
        for execution in executions_of(self._world.cloud):
            if what == "aborts" and execution.status == "RUNNING" and not is_fast(execution.arn):
                self._world.note(f"somebody aborts {execution.name}")
                self._world.stop(execution.arn)
                return
            if what == "redrives" and execution.status in ("ABORTED", "TIMED_OUT", "FAILED"):
                self._world.note(f"somebody redrives {execution.name}")
                # It may start business logic again, under its old fence: steps hold, other effects may not.
                self._redriven.add(id_of(execution.input))
                with suppress(ClientError):
                    self._world.cloud.client("stepfunctions").redrive_execution(executionArn=execution.arn)

    def tolerated(self, faults: Iterable[Fault]) -> Iterator[Fault]:
        """Without what somebody careless answers for: that business logic starts again under its old fence.

        And without what whoever forgets is told: that a step may take effect once more, each time.
        """
        for fault in faults:
            if "started" in fault.what and any(id in fault.what for id in self._redriven):
                continue
            effects = re.fullmatch(r"step (.*)/\w+ took effect (\d+) times", fault.what)
            if not (effects and int(effects[2]) <= 1 + self._forgotten[effects[1]]):
                yield fault


class _Session:
    """Clients of an operator: others go on before each call."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.starts = True
        """Whether an operator lives to start an execution."""

    def client(self, service: str, endpoint_url: str | None = None) -> Any:
        return _Client(self._world, self, self._world.cloud.client(service))


class _Client:
    def __init__(self, world: World, session: _Session, client: Any) -> None:
        self._world, self._session, self._client = world, session, client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name in ("exceptions", "meta", "get_paginator"):
            return found

        def call(**parameters: Any) -> Any:
            self._world.scheduler.wait()
            if name == "start_execution" and not self._session.starts:
                raise refusal(Call("operator", "", name, parameters, "", 0))
            return self._world.called(name, lambda: found(**parameters))

        return call
