"""`once ls` and `once show`."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import re
from typing import Any

import pytest
from operating import ID, Operator, put

KEYS = [
    *("id", "expired", "record", "lane", "ownerStatus", "owners", "started", "steps"),
    *("request", "requestKept", "requestMissing", "log", "console"),
]


def in_one_shard(count: int) -> list[str]:
    ids = (f"acme#told#{n}" for n in itertools.count())
    return list(itertools.islice((id for id in ids if hashlib.sha256(id.encode()).hexdigest()[0] == "7"), count))


def listed(operator: Operator, *options: str) -> tuple[list[str], bool]:
    answer = operator.once("ls", "--json", *options).answer
    assert list(answer) == ["operations", "isComplete"]
    return [each["id"] for each in answer["operations"]], answer["isComplete"]


def test_ls_pages_through_a_shard_and_shows_the_oldest_lease_first(operator: Operator) -> None:
    ids = in_one_shard(30)
    for number, id in enumerate(ids):
        put(operator, id, "IN_PROGRESS", 1000 - number)
    assert listed(operator, "--limit", "7") == (ids[::-1][:7], False)
    assert listed(operator, "--limit", "30") == (ids[::-1], True)
    assert listed(operator) == (ids[::-1], True)


def test_ls_reads_no_more_than_it_shows(operator: Operator) -> None:
    for number, id in enumerate(in_one_shard(30)):
        put(operator, id, "IN_PROGRESS", number + 1)
    sizes: list[int] = []

    def count(model: Any, params: Any, **_: Any) -> None:
        if model.name == "BatchGetItem":
            sizes.append(str(params["body"]).count("acme#told#"))

    connect = operator._connect

    def watched(*place: Any, **needed: Any) -> Any:
        stack = connect(*place, **needed)
        operator.hear(stack.client("dynamodb"), "before-call", count)
        return stack

    operator._connect = watched  # type: ignore[method-assign]
    assert len(listed(operator, "--limit", "3")[0]) == 3
    assert sum(sizes) == 3


def test_ls_chooses_by_status_lease_tenant_and_operation(operator: Operator) -> None:
    late = int(operator.cloud.clock.now()) + 999
    for id, status, lease in (
        ("acme#told#late", "IN_PROGRESS", 5),
        ("acme#other#now", "IN_PROGRESS", late),
        ("b#told#q", "QUARANTINED", 6),
    ):
        put(operator, id, status, lease)
    assert listed(operator)[0] == ["acme#told#late", "b#told#q", "acme#other#now"]
    assert listed(operator, "--overdue")[0] == ["acme#told#late"]
    assert listed(operator, "--status", "QUARANTINED")[0] == ["b#told#q"]
    assert listed(operator, "--tenant", "acme")[0] == ["acme#told#late", "acme#other#now"]
    assert listed(operator, "--operation", "other")[0] == ["acme#other#now"]


def test_ls_chooses_by_the_lane_of_the_owner_also_of_what_is_finished(operator: Operator) -> None:
    operator.cloud.run(operator.request() | {"idempotencyKey": "done"}, lane="fast")
    operator.died_fast_in("Finalize")
    put(operator, "acme#told#full", "IN_PROGRESS", 5)
    assert listed(operator, "--lane", "fast")[0] == ["default#told#k"]
    assert listed(operator, "--lane", "full")[0] == ["acme#told#full"]
    done = operator.once("ls", "--lane", "fast", "--status", "COMPLETED", "--json").answer["operations"]
    assert [each["id"] for each in done] == ["default#told#done"]
    assert "that matches --status FAILED --lane fast" in operator.once("ls", "--lane", "fast", "--status", "FAILED").out
    assert "--lane slow: there are full, fast" in operator.once("ls", "--lane", "slow").err


def finish(operator: Operator, id: str, status: str, at: str, expires: int = 4_000_000_000) -> None:
    """A record of a finished operation; `put` would give it a lease."""
    texts = {"id": id, "status": status, "owner": "arn:gone", "acquiredAt": "2026-01-01T00:00:00Z", "finishedAt": at}
    numbers = {"fence": 1, "attempts": 2, "expiresAt": expires}
    item = {key: {"S": value} for key, value in texts.items()}
    item |= {key: {"N": str(value)} for key, value in numbers.items()}
    operator.cloud.client("dynamodb").put_item(TableName=operator.cloud.outputs["TableName"], Item=item)


def test_ls_of_finished_operations_reads_the_table_and_says_what_that_was(operator: Operator) -> None:
    put(operator, "acme#told#open", "IN_PROGRESS", 5)
    finish(operator, "acme#told#first", "COMPLETED", "2026-01-02T00:00:00Z")
    finish(operator, "acme#told#second", "FAILED", "2026-01-03T00:00:00Z")
    finish(operator, "acme#told#expired", "COMPLETED", "2026-01-01T00:00:00Z", 5)
    done = operator.once("ls", "--status", "COMPLETED", "--status", "FAILED", "--json")
    assert [each["id"] for each in done.answer["operations"]] == ["acme#told#second", "acme#told#first"]
    assert done.answer["isComplete"] and done.answer["read"]["records"] == 4 and done.answer["read"]["units"] > 0
    assert re.fullmatch(r"Read 4 records of the table, \d+\.\d read units\.\n", done.err)
    shown = operator.once("ls", "--status", "FAILED").out.splitlines()
    assert shown[0].split() == ["status", "lane", "attempts", "age", "finished", "error", "id"]
    assert len(shown) == 2 and re.fullmatch(r"✗ +FAILED .* acme#told#second", shown[1])
    assert "No such operation" in operator.once("ls", "--status", "FAILED", "--tenant", "other").out


def test_ls_of_finished_operations_stops_at_its_limits(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(9):
        finish(operator, f"acme#told#{number}", "COMPLETED", f"2026-01-02T00:00:0{number}Z")
    monkeypatch.setattr("oncekit.cli.deployed.finished.PAGE", 2)
    few = operator.once("ls", "--status", "COMPLETED", "--limit", "3", "--json").answer
    assert (len(few["operations"]), few["isComplete"], few["read"]["records"]) == (3, False, 4)
    monkeypatch.setattr("oncekit.cli.deployed.finished.MOST_READ", 6)
    some = operator.once("ls", "--status", "COMPLETED", "--json").answer
    assert (len(some["operations"]), some["isComplete"]) == (6, False)
    assert "There may be more" in operator.once("ls", "--status", "COMPLETED").out


def test_ls_table_has_its_columns(operator: Operator) -> None:
    put(operator, "acme#told#late", "IN_PROGRESS", int(operator.cloud.clock.now()) - 300, recoveries={"N": "2"})
    head, row = operator.once("ls").out.splitlines()
    assert " ".join(head.split()) == "status lane attempts age overdue error id"
    assert re.fullmatch(r"↻ +IN_PROGRESS +full +1 +\d+ \w+ +5 min +- +acme#told#late", row)


def test_keys_that_dynamodb_leaves_over_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from oncekit.cli.deployed.listing import read_all
    from oncekit.cli.deployed.stack import Stack

    class Reluctant:
        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 - boto3's name
            first, *rest = RequestItems["t"]["Keys"]
            return {"Responses": {"t": [first]}, "UnprocessedKeys": {"t": {"Keys": rest}} if rest else {}}

    monkeypatch.setattr("oncekit.cli.deployed.listing.time.sleep", lambda _: None)
    stack = Stack("once", {"TableName": "t"}, {}, None, clients={"dynamodb": Reluctant()})
    assert [each["id"] for each in read_all(stack, ["a", "b", "c"])] == ["a", "b", "c"]


def test_show_tells_of_owners_back_through_an_operator_steps_and_the_kept_request(operator: Operator) -> None:
    operator.script({"step": "first", "exit": 1})
    first = operator.quarantined()
    operator.execution(operator.once("retry", ID, "--json"))
    shown = operator.once("show", ID, "--json").answer
    assert list(shown) == KEYS
    assert shown["record"] == operator.record and shown["ownerStatus"] == "FAILED"
    assert [each["status"] for each in shown["owners"]] == ["FAILED", "OPERATOR", "FAILED"]
    assert shown["owners"][2]["owner"] == first["owner"]
    assert [lock["fence"] for each in shown["owners"] for lock in each["locks"]] == [3, 1]
    assert list(shown["steps"]) == ["note"]
    assert shown["request"] == operator.request()
    assert [each["execution"] for each in shown["started"]] == [shown["owners"][0]["owner"]]
    assert "console" in shown["console"]["owner"]
    text = operator.once("show", ID).out
    assert "OPERATOR" in text and "TakeOverLock: fence 3" in text and "step done" in text


def test_show_has_no_links_to_the_console_of_aws_on_the_local_cloud(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(operator, ID, "QUARANTINED", 5)
    for name, value in operator.cloud.environment.items():
        monkeypatch.setenv(name, value)
    shown = operator.once("show", ID)
    assert shown.code == 0 and "console.aws.amazon.com" not in shown.out


def test_show_says_that_an_owner_is_gone_and_that_a_record_has_expired(operator: Operator) -> None:
    gone = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":none"
    put(operator, ID, "IN_PROGRESS", 5, owner={"S": gone})
    assert operator.once("show", ID, "--json").answer["owners"][0]["status"] == "GONE"
    put(operator, ID, "COMPLETED", 5, owner={"S": gone}, expiresAt={"N": "5"}, result={"S": "1"})
    assert operator.once("show", ID, "--json").answer["expired"] is True
    assert "EXPIRED" in operator.once("show", ID).out


def test_show_tells_which_steps_of_a_failed_operation_are_done(operator: Operator) -> None:
    operator.script({"step": "first", "raise": "PermanentError"})
    assert operator.cloud.run(operator.request()).error == "OperationFailed"
    shown = operator.once("show", ID, "--json").answer
    assert shown["record"]["status"] == "FAILED" and list(shown["steps"]) == ["note"]
    text = operator.once("show", ID).out
    assert re.search("step done +note: .*first", text) and "PermanentError" in text


def test_owner_that_tried_a_failed_operation_again_leads_back_to_the_one_that_failed() -> None:
    from oncekit.cli.deployed.owners import owners
    from oncekit.cli.deployed.stack import Stack

    def entered(state: str) -> dict[str, Any]:
        return {"type": "TaskStateEntered", "stateEnteredEventDetails": {"name": state}}

    def answered(output: dict[str, Any]) -> dict[str, Any]:
        details = {"resourceType": "dynamodb", "output": json.dumps(output)}
        return {"type": "TaskSucceeded", "taskSucceededEventDetails": details}

    has = {"fence": {"N": "2"}, "attempts": {"N": "1"}, "acquiredAt": {"S": "2026-01-01T00:00:00Z"}}
    events = {
        "second": [
            entered("ReadRecord"),
            answered({"Item": {"owner": {"S": "a:execution:m:first"}}}),
            entered("RetryFailed"),
            answered({"Attributes": has}),
        ],
        "first": [],
    }

    class Executions:
        class exceptions:  # noqa: N801 - boto3's name
            class ExecutionDoesNotExist(Exception): ...

        def describe_execution(self, executionArn: str) -> Any:  # noqa: N803 - boto3's name
            given = '{"operation": "told", "idempotencyKey": "k", "payload": {}}'
            return {
                "status": "SUCCEEDED",
                "input": given,
                "startDate": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
            }

        def get_paginator(self, _: str) -> Any:
            return self

        def paginate(self, executionArn: str) -> Any:  # noqa: N803 - boto3's name
            return [{"events": events[executionArn.rpartition(":")[2]]}]

    stack = Stack("once", {"StateMachineArn": "a:stateMachine:m"}, {}, None, clients={"stepfunctions": Executions()})
    found = owners(stack, {"id": ID, "owner": "a:execution:m:second"})
    assert [each["owner"] for each in found] == ["a:execution:m:second", "a:execution:m:first"]
    assert [(lock["state"], lock["fence"]) for lock in found[0]["locks"]] == [("RetryFailed", 2)]


def test_show_says_how_long_a_lease_lasts_and_since_when_it_is_over(operator: Operator) -> None:
    gone = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":none"
    now = int(operator.cloud.clock.now())
    put(operator, ID, "IN_PROGRESS", now + 9000, owner={"S": gone})
    assert re.search(r"lease +\d+ s more", operator.once("show", ID).out)
    put(operator, ID, "IN_PROGRESS", now - 7300, owner={"S": gone})
    assert re.search(r"lease +over since 2 h", operator.once("show", ID).out)
