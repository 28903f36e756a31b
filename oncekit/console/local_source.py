"""The local cloud as the console sees it: executions as they begin and end, told by its engine."""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from itertools import islice
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from oncekit.console.beside import Beside, beside
from oncekit.console.drawing.graph import Definition
from oncekit.console.here import run_here
from oncekit.console.json_text import members, members_of
from oncekit.console.listing import Operation, Refused, Row, operations_of
from oncekit.console.logs import Log, log_of, of_id
from oncekit.console.parts import NAMED, Part, part_of
from oncekit.console.run import RUNNING, Run
from oncekit.console.story import MISMATCH
from oncekit.console.written import OwnWrites, Written
from oncekit.contract.items import plain_item
from oncekit.contract.lanes import MACHINES, Invoked, lane_of
from oncekit.contract.objects import keys_below
from oncekit.contract.record_form import ODD, is_whole
from oncekit.contract.requests import id_of
from oncekit.local.deployment.moto_resources import items_with
from oncekit.local.endpoint.own_services import Answer, Proceed, Request, Service
from oncekit.local.execution import execution_of
from oncekit.local.once_cloud import OPEN, LocalCloud

KEPT = 10_000
"""Executions; of older ones nothing is kept, but the records that they wrote."""
LONGEST_SAID = 2000
"""Characters of an input, and of an output, in which one searches."""


_Seen = tuple[str, int]


class Unknown(LookupError):
    """There is no such execution or record, or no longer."""


class LocalSource:
    """What the pages show. `watching` must be open while it is used. Every method may be called by several threads."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        self._changed = threading.RLock()
        """The lock of what is listed, too."""
        self._version = 0
        self._known: dict[str, Any] = {}
        self._rows: dict[str, tuple[_Seen, Row]] = {}
        self._plain: dict[str, tuple[int, Mapping[str, Any] | None]] = {}
        """Records by id, each with the hash of the item of which it was read."""
        self._own = OwnWrites()
        self._refused: Mapping[str, Refused] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        from oncekit.local.engine.runs import watchers

        for output in MACHINES.values():
            for execution in self._cloud.executions.of(self._cloud.once.outputs.get(output, "")):
                self.see(execution)
        watchers.append(self.see)
        try:
            with self._cloud.services.behind("dynamodb", self._seeing):
                yield
        finally:
            watchers.remove(self.see)

    def _seeing(self, service: Service) -> Service:
        """The service, and a look at what operators and functions in the direct lane write: no execution tells it."""

        def answer(request: Request, proceed: Proceed) -> Answer:
            noted = self._own.of(request, self._cloud.once.outputs["TableName"])
            answered = service(request, proceed)
            if noted and answered[0] < HTTPStatus.BAD_REQUEST:
                with self._changed:
                    self._own.note(*noted)
            if request.target == "UpdateItem":
                self._look_again()
            return answered

        return answer

    def _look_again(self) -> None:
        """What is listed has changed."""
        with self._changed:
            self._version += 1

    def see(self, execution: Any) -> None:
        """An execution began, or ended."""
        if execution.machine.arn not in {self._cloud.once.outputs.get(output) for output in MACHINES.values()}:
            return
        with self._changed:
            self._known[execution.arn] = execution
            self._forget_old()
        self._look_again()
        if str(execution.status) != RUNNING:
            self._row(execution.arn, execution)  # now, so that the first page of many need not wait for all
            execution.run.pack()

    def _forget_old(self) -> None:
        """Of a machine with 8 GB, a session of a day or two would take all of it."""
        ended = (each for each in self._known.items() if str(each[1].status) != RUNNING)
        for arn, oldest in list(islice(ended, max(0, len(self._known) - KEPT))):
            del self._known[arn]
            self._rows.pop(arn, None)
            with suppress(ValueError):
                oldest.machine.executions.remove(oldest)

    # ---- what is there ----

    def now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self._cloud.clock.now(), datetime.UTC)

    def operations(self) -> list[Operation]:
        """All that there are."""
        ran = self._ran()
        return [
            replace(each, written=[one.text for one in written]) if (written := self._written(each, ran)) else each
            for each in operations_of(self.rows(), self._records(), self.refused())
        ]

    def operation(self, id: str) -> Operation:
        """Raises Unknown."""
        record, refused = self.record(id), [each for each in self.refused() if each.id == id]
        rows = self.rows(id)
        if record is None and not rows and not refused:
            raise Unknown(f"there is no record and no execution of {id}")
        return Operation(id, id, rows, record, refused)

    def rows(self, id: str | None = None) -> list[Row]:
        """Executions of both lanes, the newest first; of one id, if it is given."""
        with self._changed:
            known = list(reversed(self._known.items()))
        kept = ((arn, execution, *self._rows.get(arn, (None, None))) for arn, execution in known)
        rows = [row if row and seen == _seen(each) else self._row(arn, each) for arn, each, seen, row in kept]
        return rows if id is None else [row for row in rows if row.id == id]

    def _row(self, arn: str, execution: Any) -> Row:
        seen = _seen(execution)  # before it is read: what happens meanwhile is read the next time
        run = run_here(execution_of(execution))
        part = part_of(run)
        row = Row(
            arn=arn,
            name=run.name,
            id=id_of(execution.input) or "",
            lane=lane_of(arn),
            started_at=run.started_at if run.visits else execution.start_date,
            part=part,
            said=_said(run, part),
        )
        with self._changed:
            if arn in self._known:
                self._rows[arn] = seen, row
        return row

    def mismatches(self, operation: Operation) -> list[Beside]:
        """The payloads that were refused under this key, the newest first, beside the one that counts."""
        of_rows = {row.arn: row for row in operation.rows if row.part.end == MISMATCH}
        kept = [each for each in operation.refused if each.error == MISMATCH and each.execution not in of_rows]
        refused = [self._execution(arn).text for arn in of_rows] + [each.request for each in reversed(kept)]
        owner = next((self._execution(row.arn).text for row in operation.rows if row.part.role == "owner"), None)
        accepted = (operation.record or {}).get("request") or owner
        return beside(str(accepted) if accepted else None, [each for each in refused if each])

    def run(self, arn: str) -> Run:
        """Raises Unknown."""
        return run_here(execution_of(self._execution(arn)))

    def definition(self, arn: str) -> Definition:
        """The one that a run follows."""
        found: Definition = json.loads(self._execution(arn).machine.definition)
        return found

    def _execution(self, arn: str) -> Any:
        if (execution := self._known.get(arn)) is None:
            raise Unknown(f"there is no execution {arn}, or no longer")
        return execution

    def record(self, id: str) -> Mapping[str, Any] | None:
        """Raises Unknown for one that Once did not write."""
        record = self._cloud.record(id)
        if record and not is_whole(record):
            raise Unknown(f"{id}: {ODD}")
        return record

    def _records(self) -> dict[str, Mapping[str, Any]]:
        """Those that Once wrote, by id: read where they are, and each that has changed since it was read last."""
        items = [(item["id"]["S"], item, hash(repr(item))) for item in self._cloud.record_items()]
        with self._changed:
            known = self._plain
            self._plain = {
                id: known[id] if id in known and known[id][0] == now else (now, _record(item))
                for id, item, now in items
            }
            return {id: record for id, (_, record) in self._plain.items() if record is not None}

    def result(self, id: str) -> str:
        """A result that is kept apart from its record. Raises Unknown."""
        ref = (self.record(id) or {}).get("resultRef")
        if ref is None:
            raise Unknown("the record refers to no result")
        try:
            found = self._cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])
            return str(found["Body"].read().decode("utf-8", "replace"))
        except (ClientError, BotoCoreError) as error:  # a function may have written any bucket and key
            raise Unknown(f"s3://{ref['bucket']}/{ref['key']} is gone") from error

    def log(self, run: Run) -> Log:
        """What functions printed; metrics are for CloudWatch."""
        log = log_of(self._cloud, run)
        return {at: [each for each in lines if "_aws" not in members_of(each)] for at, lines in log.items()}

    def invoked(self, id: str, rows: Sequence[Row]) -> Mapping[Invoked, Sequence[str]]:
        """The owners of an id in the direct lane that are known, the oldest first, and what they printed."""
        found = _owners(rows, self.record(id))
        return {each: of_id(id, self._cloud.functions.printed(each.request)) for each in found}

    def own_writes(self, id: str, rows: Sequence[Row]) -> list[Written]:
        """What the functions of an operation wrote to tables of their own, by the names of these in the template."""
        written = self._written(Operation(id, id, rows, self.record(id)), self._ran())
        names = {name: logical_id for logical_id, name in self._cloud.tables.items()}
        return [replace(each, table=names.get(each.table, each.table)) for each in written]

    def _ran(self) -> Mapping[str, Sequence[str]]:
        """By id, the invocations that a machine made for it."""
        found: dict[str, list[str]] = {}
        for each in self._cloud.functions.invocations:
            found.setdefault(str(members(members(each.event).get("lock")).get("id")), []).append(each.request_id)
        return found

    def _written(self, operation: Operation, ran: Mapping[str, Sequence[str]]) -> list[Written]:
        """By its invocations, and by those that had its lock themselves."""
        owners = (each.request for each in _owners(operation.rows, operation.record))
        every = dict.fromkeys((*ran.get(operation.id, ()), *owners))
        return [each for request in every for each in self._own.by(request)]

    def waiting(self) -> int:
        """How many requests wait for a person: quarantined, or refused and kept."""
        opened = items_with(self._cloud.once.outputs["TableName"], OPEN)
        quarantined = [each for each in opened if each.get("status") == {"S": "QUARANTINED"}]
        return len(quarantined) + len(self.refused())

    def refused(self) -> list[Refused]:
        """The refused requests that are kept, the oldest first; each is read once."""
        s3, bucket = self._cloud.client("s3"), self._cloud.once.outputs["ResponseBucketName"]
        keys = list(keys_below(s3, bucket, "rejected/"))
        found = {key: self._refused.get(key) or self._read(s3, bucket, key) for key in keys}
        self._refused = {key: each for key, each in found.items() if each}
        return list(self._refused.values())

    def _read(self, s3: Any, bucket: str, key: str) -> Refused | None:
        """None where somebody else has handled it meanwhile."""
        try:
            answer = s3.get_object(Bucket=bucket, Key=key)
        except s3.exceptions.NoSuchKey:
            return None
        told = members_of(answer["Body"].read().decode("utf-8", "replace"))
        given = told.get("input")
        return Refused(
            key=key,
            id=id_of(given) or str(told.get("id", "")),
            error=str(told.get("error", "unreadable")),
            execution=str(told.get("executionArn", "")),
            at=answer["LastModified"],
            request="" if given is None else json.dumps(given, ensure_ascii=False),
        )

    def queues(self) -> dict[str, int]:
        """Messages in each queue, by its name."""
        sqs, name = self._cloud.client("sqs"), "ApproximateNumberOfMessages"
        made = self._cloud.deployed.resources
        return {
            logical_id: int(sqs.get_queue_attributes(QueueUrl=queue.ref, AttributeNames=[name])["Attributes"][name])
            for logical_id, queue in made.items()
            if queue.type == "AWS::SQS::Queue"
        }

    # ---- what changes ----

    def version(self) -> int:
        """A number that grows with every change of what is listed: open pages ask for it each second."""
        return self._version


def _record(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """None for one that Once did not write."""
    record = plain_item(item)
    return record if is_whole(record) else None


def _seen(execution: Any) -> _Seen:
    """What changes with all that happens to it."""
    return str(execution.status), execution.run.history.last


def _owners(rows: Sequence[Row], record: Mapping[str, object] | None) -> Sequence[Invoked]:
    """Those in the direct lane that are known, the oldest first."""
    owners = [row.part.taken_from for row in reversed(rows)] + [str((record or {}).get("owner"))]
    return list(dict.fromkeys(each for each in map(Invoked.of, owners) if each))


def _said(run: Run, part: Part) -> str:
    """In what one searches: also the errors of attempts that another one followed."""
    errors = [run.error, (run.cause or "")[:LONGEST_SAID], *(each.error for each in part.starts)]
    texts = [run.arn, (run.input or "")[:LONGEST_SAID], (run.output or "")[:LONGEST_SAID], *errors]
    return NAMED.sub("", " ".join(filter(None, texts)))
