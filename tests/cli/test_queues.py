"""`once replay-rejected` and `once send`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError
from operating import Operator

from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import connect


def refuse(operator: Operator, *keys: str) -> None:
    for key in keys:
        operator.cloud.run({"operation": "told", "idempotencyKey": key, "payload": 1})


def put(operator: Operator, body: Any) -> None:
    url = operator.cloud.outputs["RejectedQueueUrl"]
    operator.cloud.client("sqs").send_message(QueueUrl=url, MessageBody=json.dumps(body))


def replay(operator: Operator, *options: str) -> tuple[int, list[str]]:
    done = operator.once("replay-rejected", "--json", *options)
    return done.code, [each["outcome"] for each in done.answer["messages"]]


def test_each_message_starts_once_and_what_is_refused_again_waits(operator: Operator) -> None:
    refuse(operator, "a", "b")
    assert replay(operator, "--dry-run") == (0, ["WOULD_BE_REFUSED"] * 2)
    assert "/payload must be an object" in operator.once("replay-rejected", "--dry-run").out
    assert replay(operator, "--error", "Unavailable") == (0, [])
    assert replay(operator, "--limit", "1") == (0, ["STARTED"])
    operator.cloud.settle()
    assert replay(operator) == (0, ["STARTED"] * 2)
    operator.cloud.settle()
    assert len(operator.cloud.rejected()) == 2


def test_a_message_without_its_input_is_left_and_the_others_go_on(operator: Operator) -> None:
    gone = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":none"
    put(operator, {"error": "InvalidRequest", "executionArn": gone, "inputOmitted": "read it from the execution"})
    put(operator, "no message of Once")
    put(
        operator, {"error": "Unavailable", "executionArn": gone, "input": {**operator.request(), "idempotencyKey": "ü"}}
    )
    code, outcomes = replay(operator)
    assert (code, sorted(outcomes)) == (1, ["NO_INPUT", "STARTED", "UNREADABLE"])
    operator.cloud.settle()
    assert len(operator.cloud.rejected()) == 2
    assert operator.cloud.record("default#told#ü") is not None


ODD = (
    {"error": "InvalidRequest", "message": None, "executionArn": None},
    {"error": "InvalidRequest", "executionArn": 6, "input": {}},
    {"error": {"a": 1}, "executionArn": "x"},
    {"error": "InvalidRequest", "message": ["x"], "executionArn": "x", "input": {}},
    {"error": "InvalidRequest", "executionArn": "x", "inputText": 5},
    [],
    5,
)


def test_odd_message_is_left_in_one_line_and_the_others_go_on(operator: Operator) -> None:
    url, client = operator.cloud.outputs["RejectedQueueUrl"], operator.cloud.client("sqs")
    deep = '{"error": "InvalidRequest", "executionArn": "x", "input": ' + "[" * 100_000 + "]" * 100_000 + "}"
    client.send_message(QueueUrl=url, MessageBody=deep)
    for body in ODD:
        put(operator, body)
    put(operator, {"error": "Unavailable", "executionArn": "x", "input": operator.request()})
    done = operator.once("replay-rejected")
    assert done.code == 1 and not done.err, done
    assert sorted(line.split()[0] for line in done.out.splitlines()) == ["STARTED"] + ["UNREADABLE"] * (len(ODD) + 1)
    assert done.out.count("nested too deep to be read") == 1
    assert replay(operator, "--error", "InvalidRequest", "--discard") == (0, [])
    operator.cloud.settle()
    assert operator.record["status"] == "COMPLETED"
    unreadable = len(ODD) + 1
    assert replay(operator, "--error", "UNREADABLE") == (1, ["UNREADABLE"] * unreadable)
    assert replay(operator, "--error", "UNREADABLE", "--discard", "--dry-run") == (0, ["WOULD_DISCARD"] * unreadable)
    assert replay(operator, "--error", "UNREADABLE", "--discard") == (0, ["DISCARDED"] * unreadable)
    assert replay(operator) == (0, [])


def test_message_whose_members_are_no_names_has_no_id(operator: Operator) -> None:
    request = {"operation": ["a"], "idempotencyKey": {"b": 1}, "tenant": None}
    put(operator, {"error": "InvalidRequest", "executionArn": "x", "input": request})
    [told] = operator.once("replay-rejected", "--dry-run", "--json").answer["messages"]
    assert (told["outcome"], told["id"]) == ("WOULD_BE_REFUSED", None)


@pytest.mark.parametrize("character", ["\ufffe", "\uffff", "\ud800"])
def test_a_request_that_no_queue_takes_as_it_is_starts_again_when_its_execution_is_gone(
    operator: Operator, character: str
) -> None:
    request = operator.request() | {"payload": {"text": f"a{character}b"}, "onCrash": "x"}
    operator.cloud.run(request)
    [kept] = operator.cloud.rejected()
    assert replay(operator, "--discard", "--error", "InvalidRequest") == (0, ["DISCARDED"])
    put(operator, kept | {"executionArn": kept["executionArn"].rpartition(":")[0] + ":gone"})
    done = operator.once("replay-rejected", "--json").answer["messages"]
    assert [each["outcome"] for each in done] == ["STARTED"]
    started = operator.cloud.client("stepfunctions").describe_execution(executionArn=done[0]["executionArn"])
    assert json.loads(started["input"]) == request


def own_execution(operator: Operator, name: str) -> str:
    return operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + f":{name}"


def test_copies_of_one_executions_message_are_one_start_and_go_with_it(operator: Operator) -> None:
    dead = {"error": "ExecutionDied", "executionArn": own_execution(operator, "dead"), "input": operator.request()}
    for sweep in range(3):
        put(operator, {**dead, "message": "it died", "refusedAt": str(sweep)})
    put(operator, {**dead, "executionArn": own_execution(operator, "another")})
    told = operator.once("replay-rejected", "--dry-run", "--json").answer["messages"]
    assert sorted((each["outcome"], each["copies"]) for each in told) == [("WOULD_START", 0), ("WOULD_START", 2)]
    told = operator.once("replay-rejected", "--json").answer["messages"]
    assert sorted((each["outcome"], each["copies"]) for each in told) == [("STARTED", 0), ("STARTED", 2)]
    assert operator.cloud.rejected() == []
    put(operator, {**dead, "refusedAt": "a later sweep"})
    [late] = operator.once("replay-rejected", "--json").answer["messages"]
    assert late["executionArn"] in [each["executionArn"] for each in told], "it starts nothing more"
    operator.cloud.settle()


def test_copies_do_not_count_against_the_limit(operator: Operator) -> None:
    dead = {"error": "ExecutionDied", "executionArn": own_execution(operator, "dead"), "input": operator.request()}
    for _ in range(3):
        put(operator, dead)
    done = operator.once("replay-rejected", "--limit", "1")
    assert done.out.rstrip().endswith("and 2 more of its messages") and operator.cloud.rejected() == []
    operator.cloud.settle()


def test_mismatch_is_said_to_be_refused_again_for_as_long_as_the_record_says_so(operator: Operator) -> None:
    operator.cloud.run(operator.request())
    operator.cloud.run(operator.request() | {"payload": {"b": 1}})
    assert replay(operator, "--dry-run") == (0, ["WOULD_BE_REFUSED"])
    operator.change({"expiresAt": 5})
    assert replay(operator, "--dry-run") == (0, ["WOULD_START"])


UNREADABLE_PAYLOADS = ['{"n": 1e400}', '{"n": {"_jsonata_lambda": true}}']


@pytest.mark.parametrize("payload", UNREADABLE_PAYLOADS)
@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_request_that_no_execution_can_read_is_not_started_but_to_be_discarded(
    operator: Operator, payload: str, options: list[str]
) -> None:
    text = f'{{"operation": "told", "idempotencyKey": "k", "payload": {payload}}}'
    arn = operator.cloud.start(text, "again-1")
    operator.cloud.settle()
    put(operator, {"error": "ExecutionDied", "executionArn": arn, "inputOmitted": "read it from the execution"})
    told = operator.once("replay-rejected", "--error", "ExecutionDied", "--json", *options).answer["messages"]
    assert {each["outcome"] for each in told} == {"NOT_STARTED"}
    assert "`once replay-rejected --discard --error ExecutionDied`" in told[0]["reason"]
    assert {each["id"] for each in told} == {"default#told#k"}
    assert operator.cloud.rejected()


def test_message_whose_request_nobody_kept_says_why(operator: Operator) -> None:
    arn = operator.cloud.outputs["FastStateMachineArn"].replace(":stateMachine:", ":express:") + ":a:b"
    why = "it cannot be passed on: ask its sender"
    put(operator, {"error": "InvalidRequest", "executionArn": arn, "inputOmitted": why, "id": "default#told#k"})
    [told] = operator.once("replay-rejected", "--dry-run", "--json").answer["messages"]
    assert (told["outcome"], told["id"]) == ("NO_INPUT", "default#told#k")
    assert why in told["reason"] and "too large" not in told["reason"]


@pytest.mark.parametrize("via", ["direct", "sqs", "eventbridge", "http"])
def test_send_brings_a_request_and_its_duplicates_to_one_effect(operator: Operator, via: str) -> None:
    event = operator.file(json.dumps(operator.request()), "event.json")
    with operator.cloud.delivering():
        done = operator.once("send", event, "--via", via, "--duplicates", "2", "--json").answer
        operator.cloud.settle()
    assert list(done) == ["id", "via", "to", "sent"] and done["id"] == "default#told#k" and len(set(done["sent"])) == 3
    assert operator.record["status"] == "COMPLETED" and operator.starts == 1


@pytest.mark.parametrize(
    ("via", "switch"), [("sqs", "QueueTrigger"), ("eventbridge", "EventTrigger"), ("http", "HttpTrigger")]
)
def test_send_says_that_a_trigger_is_switched_off(operator: Operator, via: str, switch: str) -> None:
    event = operator.file(json.dumps(operator.request()), "event.json")
    with operator.cloud.deployed_with({switch: "false"}):
        done = operator.once("send", event, "--via", via)
    assert done.code == 2 and switch in done.err and len(done.err.splitlines()) == 1


def test_stack_comes_from_the_environment(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    assert connect(Place("once")).table == operator.cloud.resources["IdempotencyTable"]
    monkeypatch.setenv("ONCE_STACK", "other")
    done = operator.once("ls")
    assert done.code == 2 and "there is no stack other" in done.err


def test_no_more_messages_are_looked_at_than_were_there_at_the_start() -> None:
    from oncekit.cli.deployed.rejected import replay as replay_messages
    from oncekit.cli.deployed.stack import Stack

    class Endless:
        received = 0

        def get_queue_attributes(self, **_: Any) -> Any:
            return {"Attributes": {"ApproximateNumberOfMessages": "2"}}

        def receive_message(self, **_: Any) -> Any:
            self.received += 1
            return {"Messages": [{"MessageId": str(self.received), "ReceiptHandle": "r", "Body": "{}"}]}

        def change_message_visibility(self, **_: Any) -> None: ...

    stack = Stack("once", {"RejectedQueueUrl": "url"}, {}, None, clients={"sqs": Endless()})
    assert len(replay_messages(stack, None, True, 9)) == 2


def test_what_was_refused_is_told_and_can_be_discarded_by_its_error(operator: Operator) -> None:
    refuse(operator, "a", "b")
    [first, _] = operator.once("replay-rejected", "--dry-run", "--json").answer["messages"]
    assert first["id"] in ("default#told#a", "default#told#b")
    assert "payload" in first["message"] and ":execution:" in first["refused"]
    listed = operator.once("replay-rejected", "--dry-run").out
    assert "default#told#a" in listed and first["message"] in listed

    careless = operator.once("replay-rejected", "--discard")
    assert careless.code == 2 and "--error" in careless.err
    assert replay(operator, "--discard", "--error", "PayloadMismatch") == (0, [])
    assert replay(operator, "--discard", "--error", "InvalidRequest", "--dry-run") == (0, ["WOULD_DISCARD"] * 2)
    assert len(operator.cloud.rejected()) == 2
    assert replay(operator, "--discard", "--error", "InvalidRequest") == (0, ["DISCARDED"] * 2)
    assert operator.cloud.rejected() == []


def test_ls_says_what_it_was_asked_for_when_nothing_matches(operator: Operator) -> None:
    assert operator.once("ls", "--tenant", "acme").out == "Nothing is open that matches --tenant acme.\n"
    mistyped = operator.once("ls", "--operation", "Send Invoice")
    assert mistyped.code == 2 and "--operation Send Invoice" in mistyped.err


def test_an_operation_is_not_resolved_as_failed_without_a_reason(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    done = operator.once("resolve", "default#told#k", "--failed", " ")
    assert done.code == 2 and "--failed" in done.err
    assert operator.record["status"] == "QUARANTINED"


def test_refused_request_in_a_pipes_envelope_is_named_and_started_unchanged(operator: Operator) -> None:
    envelope = [{"body": {**operator.request(), "payload": {"number": 12345678901234567890, "text": "日"}}}]
    arn = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":none"
    put(operator, {"error": "Unavailable", "executionArn": arn, "input": envelope})
    done = operator.once("replay-rejected", "--error", "Unavailable", "--json").answer
    [message] = done["messages"]
    assert (message["id"], message["outcome"]) == ("default#told#k", "STARTED")
    assert json.loads(operator.input_of(message["executionArn"])) == envelope
    operator.cloud.settle()


def test_message_that_could_not_be_deleted_after_its_start_starts_nothing_more(operator: Operator) -> None:
    arn = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":none"
    put(operator, {"error": "Unavailable", "executionArn": arn, "input": operator.request()})

    def lost() -> None:
        raise ConnectionClosedError(endpoint_url="https://sqs")

    operator.before("DeleteMessage", lost)
    assert operator.once("replay-rejected").code == 2
    operator.cloud.settle()
    [message] = operator.once("replay-rejected", "--json").answer["messages"]
    assert message["outcome"] == "STARTED" and operator.cloud.rejected() == []
    assert operator.starts == 1 and operator.record["owner"] == message["executionArn"]


def test_large_refused_request_is_started_without_escapes(operator: Operator) -> None:
    arn = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":none"
    request = {**operator.request(), "payload": {"note": "日" * 44_000}}  # as escapes it is larger than an input may be
    body = json.dumps({"error": "Unavailable", "executionArn": arn, "input": request}, ensure_ascii=False)
    url = operator.cloud.outputs["RejectedQueueUrl"]
    operator.cloud.client("sqs").send_message(QueueUrl=url, MessageBody=body)
    assert replay(operator) == (0, ["STARTED"])
    operator.cloud.settle()
    assert operator.record["status"] == "COMPLETED"
