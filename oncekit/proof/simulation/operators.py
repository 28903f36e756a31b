"""Operators: the commands `once retry`, `resolve` and `release`, while everything else goes on.

And somebody careless, who aborts executions that run, and redrives those that died.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError

from oncekit.cli.deployed import decisions
from oncekit.cli.deployed.records.record import Changed
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.local.engine import Call
from oncekit.promises.checker import id_of
from oncekit.promises.evidence import executions_of
from oncekit.promises.faults import Fault
from oncekit.promises.journal import Actor
from oncekit.promises.owners import is_fast
from oncekit.proof.simulation.plans import Act, Plan
from oncekit.proof.simulation.world import World


class Operators:
    """Does what a plan has them do."""

    def __init__(self, world: World, id: str = "") -> None:
        self._world, self._id = world, id
        self._stack = Stack("once", world.cloud.outputs, world.cloud.parameters, _Session(world))
        self._told: set[str] = set()
        self._released: set[str] = set()

    def act(self, act: Act, plan: Plan) -> None:
        id = id_of(plan.sendings[min(act.target, len(plan.sendings) - 1)].request)
        with suppress(ClientError, Problem, Changed):
            if act.what in ("abort", "redrive"):
                self._meddle(act.what)
            elif act.what.startswith("once "):
                self.act_now(f"{act.what.removeprefix('once ')}s", id)
            elif (self._world.cloud.record(id) or {}).get("status") == "QUARANTINED":
                self._decide(act.what, id)

    def act_now(self, what: str, id: str = "") -> None:
        """A command about an id: `retries`, `resolves` or `releases`. It may be refused."""
        id = id or self._id
        self._told.add(id)
        self._world.note(f"an operator {what} {id}")
        with suppress(ClientError, Problem, Changed), self._world.journal.acting(Actor("operator")):
            if what == "retries":
                decisions.retry(self._stack, id)
            elif what == "resolves":
                decisions.resolve(self._stack, id, '"resolved"', None)
            else:
                shown, _ = decisions.may_be_released(self._stack, id)
                decisions.release(self._stack, shown)
                self._released.add(id)

    def _meddle(self, what: str) -> None:
        for execution in executions_of(self._world.cloud):
            if what == "abort" and execution.status == "RUNNING" and not is_fast(execution.arn):
                self._world.note(f"somebody aborts {execution.name}")
                self._world.stop(execution.arn)
                return
            if what == "redrive" and execution.status in ("ABORTED", "TIMED_OUT", "FAILED"):
                self._world.note(f"somebody redrives {execution.name}")
                # It may start business logic again, under its old fence: steps hold, other effects may not.
                self._told.add(id_of(execution.input))
                with suppress(ClientError):
                    self._world.cloud.client("stepfunctions").redrive_execution(executionArn=execution.arn)

    def _decide(self, what: str, id: str) -> None:
        self._told.add(id)
        self._world.note(f"an operator: {what} {id}")
        with self._world.journal.acting(Actor("operator")):
            if what == "retry":
                decisions.retry(self._stack, id)
            else:
                decisions.resolve(self._stack, id, '"resolved"', None)

    def tolerated(self, faults: Iterable[Fault]) -> Iterator[Fault]:
        """Without what people answer for: starts because one said so, and what a retried record still carries."""
        for fault in faults:
            by_operator = any(id in fault.what for id in self._told)
            if by_operator and any(what in fault.what for what in ("started", "attempts and fence")):
                continue
            if fault.promise == "P2" and any(id in fault.what for id in self._released):
                continue  # begun afresh, steps and all, because an operator said so
            yield fault


class _Session:
    """Clients of an operator: others go on before each call."""

    def __init__(self, world: World, id: str = "") -> None:
        self._world, self._id = world, id

    def client(self, service: str, endpoint_url: str | None = None) -> Any:
        return _Client(self._world, self._world.cloud.client(service))


class _Client:
    def __init__(self, world: World, client: Any) -> None:
        self._world, self._client = world, client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name in ("exceptions", "meta", "get_paginator"):
            return found
        return self._in_turn(name, found)

    def _in_turn(self, name: str, make: Callable[..., Any]) -> Callable[..., Any]:
        def call(**parameters: Any) -> Any:
            self._world.scheduler.wait()
            asked = Call("operator", "", name, parameters, "", 0)
            return self._world.background.at_call(asked, lambda: make(**parameters))

        return call
