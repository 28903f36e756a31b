"""What is seen: each kind of write, whoever makes it; each start; and what is left in the cloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.backends import get_backend
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.responses import DynamoHandler
from promises.story import (
    DIRECT,
    FAST,
    FIRST,
    ID,
    NOW,
    REQUEST,
    RUN_AGAIN,
    SECOND,
    TICKET,
    change,
    done,
    fast,
    full,
    lock,
    ran,
)

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.endpoint.own_services import OwnServices
from oncekit.local.engine.service_calls import Call
from oncekit.promises import checker
from oncekit.promises.evidence import evidence_of
from oncekit.promises.journal import Actor, Item, Journal, Start, Write, all_records, unseen_faults
from oncekit.promises.owners import status_of

TABLE, BUCKET = "promises-records", "promises-objects"
OLD, NEW = f"{ID}-old", f"{ID}-new"
KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": REGION}


def run_of(arn: str, status: str = "RUNNING", me: str = "", **more: Any) -> Any:
    """An execution as the cloud keeps it; `me` is what a run in the fast lane calls itself."""
    run = SimpleNamespace(variables={"me": me}, history=SimpleNamespace(events=[]))
    told = {"name": arn.split(":")[7], "input": REQUEST, "output": None, "error": None, "cause": None, **more}
    return SimpleNamespace(arn=arn, status=status, run=run, **told)


@dataclass
class Cloud:
    """As much of the local cloud as is looked at: a table, a bucket, machines with their executions."""

    machines: list[Any] = field(default_factory=list)
    refused: list[Any] = field(default_factory=list)
    resources: Mapping[str, str] = field(default_factory=dict)
    once = SimpleNamespace(
        outputs={"StateMachineArn": "full", "FastStateMachineArn": "fast", "SweepArn": "sweep", "TableName": TABLE}
    )
    clock = SimpleNamespace(now=lambda: NOW)
    services = OwnServices()

    @property
    def executions(self) -> Any:
        return self

    def rejected(self) -> list[Any]:
        return self.refused

    @staticmethod
    @cache
    def client(service: str) -> Any:
        return boto3.client(service, **KEYS)  # type: ignore[call-overload]

    def runs(self, *executions: Any, machine: str = "full") -> None:
        self.machines.append(SimpleNamespace(arn=machine, executions=list(executions)))


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Any]:
    Cloud.services.named["dynamodb"] = lambda _request, proceed: proceed()
    with mock_aws(), Cloud.services.served():
        client: Any = Cloud().client("dynamodb")
        client.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield client
        # The mock may stand inside that of a local cloud, which outlives it.
        client.delete_table(TableName=TABLE)


@pytest.fixture
def journal(dynamodb: Any) -> Journal:
    """Of a cloud with one record, which is not opened yet."""
    for item in dynamodb.scan(TableName=TABLE)["Items"]:
        dynamodb.delete_item(TableName=TABLE, Key={"id": item["id"]})
    dynamodb.put_item(TableName=TABLE, Item=record(OLD))
    return Journal(Cloud())  # type: ignore[arg-type]  # as much of one as is needed


def record(id: str, status: str = "IN_PROGRESS") -> Item:
    return {"id": {"S": id}, "status": {"S": status}, "owner": {"S": FIRST}}


# ---- every kind of write ----

SETS = {
    "UpdateExpression": "SET #s = :s",
    "ExpressionAttributeNames": {"#s": "status"},
    "ExpressionAttributeValues": {":s": {"S": "FAILED"}},
}
INSERT = {"Statement": f"INSERT INTO \"{TABLE}\" VALUE {{'id': '{NEW}', 'status': 'IN_PROGRESS', 'owner': '{FIRST}'}}"}
UPDATE = {"Statement": f"UPDATE \"{TABLE}\" SET status='FAILED' WHERE id='{OLD}'"}
DELETE = {"Statement": f"DELETE FROM \"{TABLE}\" WHERE id='{OLD}'"}
AT_OLD = {"TableName": TABLE, "Key": {"id": {"S": OLD}}}
PUT = {"TableName": TABLE, "Item": record(NEW)}
MADE, CHANGED, GONE = (NEW, None, "IN_PROGRESS"), (OLD, "IN_PROGRESS", "FAILED"), (OLD, "IN_PROGRESS", None)
Made = tuple[str, str | None, str | None]
"""Id, and the status before and after."""
CALLS: list[tuple[str, dict[str, Any], list[Made]]] = [
    ("put_item", PUT, [MADE]),
    ("put_item", {**PUT, "Item": record(OLD, "FAILED")}, [CHANGED]),
    ("update_item", {**AT_OLD, **SETS}, [CHANGED]),
    ("delete_item", AT_OLD, [GONE]),
    ("batch_write_item", {"RequestItems": {TABLE: [{"PutRequest": {"Item": record(NEW)}}]}}, [MADE]),
    ("batch_write_item", {"RequestItems": {TABLE: [{"DeleteRequest": {"Key": AT_OLD["Key"]}}]}}, [GONE]),
    ("transact_write_items", {"TransactItems": [{"Put": PUT}, {"Update": {**AT_OLD, **SETS}}]}, [MADE, CHANGED]),
    ("transact_write_items", {"TransactItems": [{"Delete": AT_OLD}]}, [GONE]),
    ("execute_statement", INSERT, [MADE]),
    ("execute_statement", UPDATE, [CHANGED]),
    ("execute_statement", DELETE, [GONE]),
    ("batch_execute_statement", {"Statements": [INSERT, UPDATE]}, [MADE, CHANGED]),
    ("execute_transaction", {"TransactStatements": [INSERT, UPDATE]}, [MADE, CHANGED]),
]


@pytest.mark.parametrize(("action", "parameters", "made"), CALLS, ids=[each[0] for each in CALLS])
def test_each_way_to_write_is_taken_down(
    journal: Journal, dynamodb: Any, action: str, parameters: dict[str, Any], made: list[Made]
) -> None:
    with journal.open():
        getattr(dynamodb, action)(**parameters)
    seen = [(each.id, (each.old or {}).get("status"), (each.new or {}).get("status")) for each in journal.writes]
    assert sorted(seen, key=str) == sorted(made, key=str)
    assert {(each.at, each.actor) for each in journal.writes} == {(NOW, None)}


def test_there_is_no_other_way_to_write() -> None:
    known = {action for action, _, _ in CALLS}
    answered = {
        name for name in vars(DynamoHandler) if name.endswith(("_item", "_items", "_statement", "_transaction"))
    }
    assert answered - known == {"get_item", "batch_get_item", "transact_get_items"}


@pytest.mark.parametrize("is_in_a_transaction", [True, False])
def test_what_is_refused_is_no_write(journal: Journal, dynamodb: Any, is_in_a_transaction: bool) -> None:
    refused = {**AT_OLD, **SETS, "ConditionExpression": "attribute_not_exists(id)"}
    with journal.open(), pytest.raises(dynamodb.exceptions.ClientError):
        if is_in_a_transaction:
            dynamodb.transact_write_items(TransactItems=[{"Put": PUT}, {"Update": refused}])
        else:
            dynamodb.update_item(**refused)
    assert journal.writes == []


def test_what_changes_nothing_is_no_write_and_what_comes_after_the_journal_is_none(
    journal: Journal, dynamodb: Any
) -> None:
    with journal.open():
        dynamodb.put_item(TableName=TABLE, Item=record(OLD))
    dynamodb.put_item(**PUT)
    assert journal.writes == []


def test_a_write_beside_it_in_another_table_or_of_another_record_is_no_change(journal: Journal, dynamodb: Any) -> None:
    dynamodb.put_item(**PUT)
    with journal.open():
        dynamodb.update_item(**AT_OLD, **SETS)
        dynamodb.update_item(TableName=TABLE, Key={"id": {"S": NEW}}, **SETS)
    assert [(each.id, each.old and each.old["status"]) for each in journal.writes] == [
        (OLD, "IN_PROGRESS"),
        (NEW, "IN_PROGRESS"),
    ]


@pytest.mark.parametrize(("action", "parameters"), [("put_item", PUT), ("update_item", {**AT_OLD, **SETS})])
def test_of_one_record_no_other_is_looked_at(
    journal: Journal, dynamodb: Any, action: str, parameters: dict[str, Any]
) -> None:
    """A proof looks ten thousands of times."""
    items = get_backend("dynamodb")[ACCOUNT][REGION].tables[TABLE].items
    unreadable = DynamoType({"S": "unreadable"})
    with journal.open():
        items[unreadable] = object()
        getattr(dynamodb, action)(**parameters)
        del items[unreadable]
    assert len(journal.writes) == 1


# ---- who writes ----


def call(state: str, **values: str) -> Call:
    given = {"ExpressionAttributeValues": {f":{name}": {"S": value} for name, value in values.items()}}
    return Call(state, "dynamodb", "update_item", given if values else {}, fast("first"), 0)


@pytest.mark.parametrize(
    ("values", "owner"),
    [({"me": FAST}, FAST), ({"me": RUN_AGAIN}, RUN_AGAIN), ({"me": SECOND}, fast("first")), ({}, fast("first"))],
)
def test_a_write_is_of_the_run_of_the_execution_that_makes_it(
    journal: Journal, dynamodb: Any, values: dict[str, str], owner: str
) -> None:
    def proceed() -> dict[str, Any]:
        return dynamodb.update_item(**AT_OLD, **SETS)  # type: ignore[no-any-return]

    with journal.open(), journal.acting(Actor("operator")):
        journal.interceptor(call("Finalize", **values), proceed)
        dynamodb.delete_item(**AT_OLD)
    assert [each.actor for each in journal.writes] == [Actor("execution", owner, "Finalize"), Actor("operator")]


@pytest.mark.parametrize(
    ("actor", "me", "seen"),
    [
        (None, DIRECT, Actor("direct", DIRECT)),
        (Actor("function", DIRECT), DIRECT, Actor("direct", DIRECT)),
        (Actor("function", DIRECT), TICKET, Actor("function", DIRECT)),
        (None, FIRST, None),
        (Actor("operator"), DIRECT, Actor("operator")),
        (Actor("execution", FIRST), DIRECT, Actor("execution", FIRST)),
    ],
)
def test_a_function_that_owns_a_lock_says_so(
    journal: Journal, dynamodb: Any, actor: Actor | None, me: str, seen: Actor | None
) -> None:
    values = {**SETS["ExpressionAttributeValues"], ":me": {"S": me}}  # type: ignore[dict-item]
    sets = {**SETS, "UpdateExpression": "SET #s = :s, x = :me", "ExpressionAttributeValues": values}
    with journal.open(), journal.acting(actor) if actor else nullcontext():
        dynamodb.update_item(**AT_OLD, **sets)
        dynamodb.delete_item(**AT_OLD)
    assert [each.actor for each in journal.writes] == [seen, actor]


def test_a_write_says_how_the_owner_before_it_was(journal: Journal, dynamodb: Any) -> None:
    journal.cloud.runs(run_of(FIRST, "TIMED_OUT"))  # type: ignore[attr-defined]
    with journal.open():
        dynamodb.delete_item(**AT_OLD)
        dynamodb.put_item(**PUT)
    assert [each.owner_status for each in journal.writes] == ["TIMED_OUT", ""]


def test_the_owner_is_the_run_that_has_its_name() -> None:
    cloud: Any = Cloud()
    cloud.runs(run_of(fast("first"), "ABORTED", FAST), run_of(fast("first"), "RUNNING", RUN_AGAIN), machine="fast")
    cloud.runs(run_of(SECOND, "FAILED", FAST), run_of(FIRST, "SUCCEEDED"))
    owners = (FAST, RUN_AGAIN, FIRST, SECOND, f"{fast('first')}:third", full("nobody"))
    assert [status_of(cloud, owner) for owner in owners] == [
        "ABORTED",
        "RUNNING",
        "SUCCEEDED",
        "FAILED",
        "DOES_NOT_EXIST",
        "DOES_NOT_EXIST",
    ]


def test_of_an_execution_that_was_started_again_the_last_run_counts() -> None:
    cloud: Any = Cloud()
    cloud.runs(run_of(FIRST, "FAILED"), run_of(FIRST, "RUNNING"))
    assert status_of(cloud, FIRST) == "RUNNING"


# ---- starts ----

LOCK = {"id": ID, "owner": FIRST, "fence": 2}


@pytest.mark.parametrize("payload", [{}, {"lock": "of the door"}, *({"lock": {**LOCK, name: None}} for name in LOCK)])
def test_a_payload_alone_is_no_start_that_a_lock_knows(journal: Journal, payload: dict[str, Any]) -> None:
    told = payload.get("lock")
    if isinstance(told, dict):
        payload = {"lock": {name: value for name, value in told.items() if value is not None}}
    journal.started(payload)
    assert journal.starts == []


def test_a_start_is_of_its_lock_whatever_else_that_has(journal: Journal) -> None:
    journal.started({"payload": {}, "lock": {**LOCK, "table": TABLE}})
    assert journal.starts == [Start(ID, FIRST, 2)]


# ---- what nobody saw ----

HELD, TAKEN, DONE = lock(), lock(SECOND, 2), done(SECOND, 2)
SEEN = [change(None, HELD), change(HELD, TAKEN), change(TAKEN, DONE)]


def unseen(left: Item | None, *seen: Write, before: Item | None = None) -> list[str]:
    journal = Journal(Cloud(), list(seen), before={ID: before} if before else {})  # type: ignore[arg-type]
    return [str(each) for each in unseen_faults(journal, {ID: left} if left else {})]


def test_what_was_written_leads_to_what_is_left() -> None:
    assert unseen(DONE, *SEEN) == unseen(DONE, *SEEN[1:], before=HELD) == []
    assert unseen(None, change(HELD, None), before=HELD) == unseen(HELD, before=HELD) == []


@pytest.mark.parametrize(
    ("left", "seen", "before"),
    [(DONE, [SEEN[0], SEEN[2]], None), (DONE, SEEN[1:], None), (DONE, SEEN, HELD), (DONE, SEEN[2:], HELD)],
    ids=["between", "made", "made-again", "taken-over"],
)
def test_a_write_that_does_not_begin_with_what_was_there_is_told(
    left: Item, seen: list[Write], before: Item | None
) -> None:
    [told] = unseen(left, *seen, before=before)
    assert told.startswith(f"P4 (broken): {ID}: changed before a write of Actor(kind='execution'")


@pytest.mark.parametrize(
    ("left", "seen", "before"),
    [(DONE, SEEN[:2], None), (None, SEEN, None), (HELD, [], None), (None, [], HELD), (TAKEN, [], HELD)],
    ids=["finished", "removed", "made", "removed-before", "taken-over"],
)
def test_a_record_that_is_not_as_it_was_written_is_told(
    left: Item | None, seen: list[Write], before: Item | None
) -> None:
    assert unseen(left, *seen, before=before) == [
        f"P4 (broken): {ID}: changed at last, and nobody saw by whom",
    ]


def test_what_was_there_when_it_was_opened_or_emptied_is_known(journal: Journal, dynamodb: Any) -> None:
    with journal.open():
        dynamodb.update_item(**AT_OLD, **SETS)
        journal.invoked.append(ran(DIRECT))
        journal.clear()
        assert not journal.writes and not journal.invoked and journal.before[OLD]["status"] == "FAILED"
        dynamodb.put_item(**PUT)
    assert [*unseen_faults(journal, all_records(journal.cloud))] == []
    assert sorted(journal.before) == [OLD] and [each.id for each in journal.writes] == [NEW]


# ---- what is left ----


def test_evidence_is_what_the_lanes_did_and_what_is_left(journal: Journal, dynamodb: Any) -> None:
    cloud: Any = journal.cloud
    http = {"http": {"operation": "charge-payment", "idempotencyKey": "key-1", "body": "{}"}}
    cloud.runs(run_of(FIRST), run_of(SECOND, input=http), run_of(full("third"), input="http"))
    cloud.runs(run_of(fast("first"), input=[REQUEST]), machine="fast")
    cloud.runs(run_of(full("recovery")), machine="sweep")
    cloud.refused.append({"executionArn": FIRST})
    store = cloud.client("s3")
    store.create_bucket(Bucket=BUCKET)
    store.put_object(Bucket=BUCKET, Key="kept", Body=b"[1]")
    journal.invoked.append(ran(DIRECT))
    seen = evidence_of(journal)
    assert [each.arn for each in seen.executions] == [FIRST, SECOND, full("third"), fast("first"), DIRECT]
    assert [each.input for each in seen.executions][:1] == [REQUEST]
    assert seen.executions[1].input["payload"] == {} and seen.by_http == {SECOND, DIRECT}
    assert [*seen.records] == [OLD] and seen.rejected == [{"executionArn": FIRST}]
    assert seen.object_of({"bucket": BUCKET, "key": "kept"}) == b"[1]"
    assert seen.object_of({"bucket": BUCKET, "key": "gone"}) is None
    store.delete_object(Bucket=BUCKET, Key="kept")
    store.delete_bucket(Bucket=BUCKET)


def test_every_rule_is_held_against_what_happened_in_the_cloud(journal: Journal, dynamodb: Any) -> None:
    with journal.open():
        dynamodb.delete_item(**AT_OLD)
    dynamodb.put_item(**PUT)
    journal.cloud.runs(run_of(FIRST))  # type: ignore[attr-defined]
    told = [(each.promise, each.what.partition(": ")[2]) for each in checker.faults(journal)]
    assert ("P5", "its record was removed by None") in told
    assert ("P4", "changed at last, and nobody saw by whom") in told
    running = [each for each in checker.faults(journal) if each.kind == "stuck"]
    assert len(running) == 2, "a record that is in progress, and an execution that runs"
    assert not [each for each in checker.faults(journal, at_rest=False) if each.kind == "stuck"]
