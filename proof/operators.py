"""Operators in the schedules: they read a record, think, and write what they decided, conditioned on what they saw.

And somebody careless, who aborts executions that run, and redrives those that died.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError

from proof.checker import Fault, executions_of
from proof.journal import Actor
from proof.plans import Act, Plan
from proof.world import World

AS_SEEN = "#status = :quarantined AND fence = :fence AND #owner = :owner"


class Operators:
    """Does what a plan has them do."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._told: set[str] = set()

    def act(self, act: Act, plan: Plan) -> None:
        request = plan.sendings[min(act.target, len(plan.sendings) - 1)].request
        id = f"{request.get('tenant', 'default')}#{request['operation']}#{request['idempotencyKey']}"
        with suppress(ClientError):
            if act.what in ("abort", "redrive"):
                self._meddle(act.what)
            else:
                self._decide(act.what, id, request)

    def _meddle(self, what: str) -> None:
        for execution in executions_of(self._world.cloud):
            if what == "abort" and execution.status == "RUNNING":
                self._world.note(f"somebody aborts {execution.name}")
                self._world.stop(execution.arn)
                return
            if what == "redrive" and execution.status in ("ABORTED", "TIMED_OUT", "FAILED"):
                self._world.note(f"somebody redrives {execution.name}")
                with suppress(ClientError):
                    self._world.cloud.client("stepfunctions").redrive_execution(executionArn=execution.arn)

    def _decide(self, what: str, id: str, request: Mapping[str, Any]) -> None:
        seen = self._world.cloud.record(id)
        if seen is None or seen["status"] != "QUARANTINED":
            return
        self._world.turns.wait()  # others go on while the operator thinks
        values = {
            ":quarantined": {"S": "QUARANTINED"},
            ":fence": {"N": str(seen["fence"])},
            ":owner": {"S": seen["owner"]},
        }
        if what == "resolve":
            change = (
                "SET #status = :done, #result = :result, finishedAt = :at, expiresAt = :expires "
                "REMOVE leaseExpiresAt, openShard, #error, requestRef"
            )
            values |= {
                ":done": {"S": "COMPLETED"},
                ":result": {"S": '"resolved"'},
                ":at": {"S": "2026-01-01T00:00:00Z"},
                ":expires": {"N": str(int(self._world.turns.now()) + 86400)},
            }
            names = {"#status": "status", "#owner": "owner", "#result": "result", "#error": "error"}
        else:
            change = (
                "SET #status = :open, openShard = :shard, leaseExpiresAt = :zero, attempts = :one, onCrash = :retry "
                "REMOVE requestRef, finishedAt, recoveries"
            )
            shard = seen["openShard"].rpartition("#")[2]
            values |= {
                ":open": {"S": "IN_PROGRESS"},
                ":shard": {"S": f"IN_PROGRESS#{shard}"},
                ":zero": {"N": "0"},
                ":one": {"N": "1"},
                ":retry": {"S": "retry"},
            }
            names = {"#status": "status", "#owner": "owner"}
        with self._world.journal.acting(Actor("operator")):
            self._world.cloud.client("dynamodb").update_item(
                TableName=self._world.cloud.resources["IdempotencyTable"],
                Key={"id": {"S": id}},
                ConditionExpression=AS_SEEN,
                UpdateExpression=change,
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values,
            )
        self._told.add(id)
        self._world.note(f"an operator: {what} {id}")
        if what == "retry":
            self._world.start(request, f"retry-{seen['fence']}")

    def tolerated(self, faults: Iterable[Fault]) -> Iterator[Fault]:
        """Without what an operator answers for: business logic that was started again because one said so."""
        for fault in faults:
            if fault.promise == "P2" and "started" in fault.what and any(id in fault.what for id in self._told):
                continue
            yield fault
