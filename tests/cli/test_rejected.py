"""Refused requests: `once ls --rejected`, `once retry`, `once release --rejected`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError
from operating import ID, Operator

from oncekit.cli.deployed.rejected.queue import handle
from oncekit.cli.deployed.stack import Stack


def refuse(operator: Operator, *keys: str) -> None:
    for key in keys:
        operator.cloud.run({"operation": "told", "idempotencyKey": key, "payload": 1})


def own_execution(operator: Operator, name: str = "none") -> str:
    return operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + f":{name}"


def put(operator: Operator, body: Any) -> None:
    url = operator.cloud.outputs["RejectedQueueUrl"]
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    operator.cloud.client("sqs").send_message(QueueUrl=url, MessageBody=text)


def unavailable(operator: Operator, request: Any = None, name: str = "none") -> dict[str, Any]:
    """A message about a request with which nothing is wrong."""
    given = operator.request() if request is None else request
    return {"error": "Unavailable", "executionArn": own_execution(operator, name), "input": given}


def asked(operator: Operator, *arguments: str) -> list[dict[str, Any]]:
    """What a command told of each request."""
    told: list[dict[str, Any]] = operator.once(*arguments, "--json").answer["requests"]
    operator.cloud.settle()
    return told


def outcomes(told: list[dict[str, Any]]) -> list[str]:
    return sorted(each["outcome"] for each in told)


LS, RETRY, RELEASE = ("ls", "--rejected"), ("retry", "--rejected"), ("release", "--rejected", "--yes")


def test_list_says_of_each_why_it_was_refused_and_what_can_be_done(operator: Operator) -> None:
    refuse(operator, "a")
    put(operator, unavailable(operator))
    text = operator.once(*LS).out
    assert "REFUSED_AGAIN  InvalidRequest  default#told#a" in text and "CAN_START" in text and ID in text
    assert "payload must be a JSON object" in text and "/payload must be an object; it would be refused again" in text
    assert "`once retry --rejected`" in text and "`once release --rejected --error InvalidRequest`" in text
    assert outcomes(asked(operator, *LS, "--error", "Unavailable")) == ["CAN_START"]
    assert asked(operator, *LS, "--tenant", "acme") == [] and len(asked(operator, *LS, "--limit", "1")) == 1
    assert len(operator.cloud.rejected()) == 2
    assert operator.once(*LS, "--overdue").code == 2


def test_retry_starts_those_that_can_succeed_and_none_that_is_refused_again(operator: Operator) -> None:
    refuse(operator, "a")
    put(operator, unavailable(operator))
    executions = len(operator.executions())
    done = operator.once(*RETRY, "--json")
    operator.cloud.settle()
    assert (done.code, outcomes(done.answer["requests"])) == (1, ["REFUSED_AGAIN", "STARTED"])
    assert len(operator.executions()) == executions + 1 and operator.record["status"] == "COMPLETED"
    assert [each["error"] for each in operator.cloud.rejected()] == ["InvalidRequest"]


def test_retry_of_an_id_starts_its_refused_request_only(operator: Operator) -> None:
    put(operator, unavailable(operator))
    put(operator, unavailable(operator, operator.request() | {"idempotencyKey": "other"}, "b"))
    [started] = asked(operator, "retry", ID)
    assert (started["id"], started["outcome"]) == (ID, "STARTED") and operator.record["status"] == "COMPLETED"
    assert len(operator.cloud.rejected()) == 1 and operator.cloud.record("default#told#other") is None
    assert operator.once("retry", ID).code == 3, "it is done, and no request of it waits"
    assert operator.once("retry", "default#told#none").code == 2


def test_retry_of_an_id_prefers_what_is_quarantined(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()
    put(operator, unavailable(operator))
    assert "fence" in operator.once("retry", ID, "--json").answer
    operator.cloud.settle()
    assert operator.record["result"] == "8" and len(operator.cloud.rejected()) == 1


def test_release_deletes_those_of_an_error_or_an_id_after_it_asked(operator: Operator) -> None:
    refuse(operator, "a", "b", "c")
    careless = operator.once("release", "--rejected", "--error", "InvalidRequest")
    assert careless.code == 2 and "--yes" in careless.err and "are lost" in careless.err
    assert operator.once("release", "--rejected", "--yes").code == 2, "which ones is not said"
    assert asked(operator, *RELEASE, "--error", "PayloadMismatch") == []
    assert outcomes(asked(operator, *RELEASE, "default#told#a")) == ["DELETED"]
    assert len(operator.cloud.rejected()) == 2
    assert outcomes(asked(operator, *RELEASE, "--error", "InvalidRequest")) == ["DELETED"] * 2
    assert operator.cloud.rejected() == []


@pytest.mark.parametrize("arguments", [["retry"], ["release", "--yes"], ["retry", ID, "--error", "Unavailable"]])
def test_what_is_meant_has_to_be_said(operator: Operator, arguments: list[str]) -> None:
    done = operator.once(*arguments)
    assert done.code == 2 and "--rejected" in done.err and len(done.err.splitlines()) == 1


# ---- what would become of them ----


def test_mismatch_is_refused_again_for_as_long_as_the_record_says_so(operator: Operator) -> None:
    operator.cloud.run(operator.request())
    operator.cloud.run(operator.request() | {"payload": {"b": 1}})
    assert outcomes(asked(operator, *LS)) == ["REFUSED_AGAIN"]
    operator.change({"expiresAt": 5})
    assert outcomes(asked(operator, *LS)) == ["CAN_START"]


def test_request_of_an_operation_without_a_function_waits_until_there_is_one(operator: Operator) -> None:
    put(operator, {**unavailable(operator, operator.request() | {"operation": "none"}), "error": "InvalidRequest"})
    [told] = asked(operator, *RETRY)
    assert told["outcome"] == "REFUSED_AGAIN" and "no function once_op-none" in told["reason"]
    put(operator, {**unavailable(operator), "error": "InvalidRequest"})
    assert outcomes(asked(operator, *RETRY)) == ["REFUSED_AGAIN", "STARTED"]


@pytest.mark.parametrize("payload", ['{"n": 1e400}', '{"n": {"_jsonata_lambda": true}}'])
def test_request_that_no_execution_can_read_is_not_started(operator: Operator, payload: str) -> None:
    arn = operator.cloud.start(f'{{"operation": "told", "idempotencyKey": "k", "payload": {payload}}}', "again-1")
    operator.cloud.settle()
    put(operator, {"error": "ExecutionDied", "executionArn": arn, "inputOmitted": "read it from the execution"})
    [told] = asked(operator, *RETRY, "--error", "ExecutionDied")
    assert (told["outcome"], told["id"]) == ("REFUSED_AGAIN", ID) and "no execution can read it" in told["reason"]


def test_request_that_nobody_kept_is_said_with_its_id_and_why(operator: Operator) -> None:
    why = "it cannot be passed on: ask its sender"
    put(operator, {"error": "InvalidRequest", "executionArn": "x", "inputOmitted": why, "id": ID})
    put(operator, {"error": "InvalidRequest", "executionArn": own_execution(operator), "inputOmitted": "read it"})
    told = {each["id"]: each for each in asked(operator, *LS)}
    assert {each["outcome"] for each in told.values()} == {"NO_INPUT"} and why in told[ID]["reason"]


ODD = (
    {"error": "InvalidRequest", "message": None, "executionArn": None},
    {"error": "InvalidRequest", "executionArn": 6, "input": {}},
    {"error": {"a": 1}, "executionArn": "x"},
    {"error": "InvalidRequest", "message": ["x"], "executionArn": "x", "input": {}},
    {"error": "InvalidRequest", "executionArn": "x", "inputText": 5},
    [],
    5,
    '{"error": "InvalidRequest", "executionArn": "x", "input": ' + "[" * 100_000 + "]" * 100_000 + "}",
)


def test_odd_messages_are_left_in_a_row_each_and_the_others_go_on(operator: Operator) -> None:
    for body in ODD:
        put(operator, body)
    put(operator, unavailable(operator, operator.request() | {"idempotencyKey": "ü"}))
    assert outcomes(asked(operator, *RETRY)) == ["STARTED"] + ["UNREADABLE"] * len(ODD)
    assert operator.cloud.record("default#told#ü") is not None
    assert operator.once(*LS).out.count("nested too deep to be read") == 1
    assert asked(operator, *RELEASE, "--error", "InvalidRequest") == []
    assert outcomes(asked(operator, *RELEASE, "--error", "UNREADABLE")) == ["DELETED"] * len(ODD)
    assert operator.cloud.rejected() == []


# ---- how they are started ----


def test_copies_of_one_executions_message_start_one_execution(operator: Operator) -> None:
    for sweep in range(2):
        put(operator, {**unavailable(operator, name="dead"), "message": "it died", "refusedAt": str(sweep)})
    first, second = asked(operator, *RETRY)
    assert first["executionArn"] == second["executionArn"] and operator.cloud.rejected() == []


@pytest.mark.parametrize("character", ["\ufffe", "\uffff", "\ud800"])
def test_a_rejected_request_kept_as_escapes_starts_again(operator: Operator, character: str) -> None:
    request = operator.request() | {"payload": {"text": f"a{character}b"}, "onCrash": "x"}
    operator.cloud.run(request)
    [kept] = operator.cloud.rejected()
    asked(operator, *RELEASE, "--error", "InvalidRequest")
    body = kept | {"error": "Unavailable", "executionArn": own_execution(operator)}
    url = operator.cloud.outputs["RejectedQueueUrl"]
    operator.cloud.client("sqs").send_message(QueueUrl=url, MessageBody=json.dumps(body))
    [started] = asked(operator, *RETRY)
    assert json.loads(operator.input_of(started["executionArn"])) == request


def test_request_in_a_pipes_envelope_is_named_and_started_unchanged(operator: Operator) -> None:
    envelope = [{"body": {**operator.request(), "payload": {"number": 12345678901234567890, "text": "日"}}}]
    put(operator, unavailable(operator, envelope))
    [started] = asked(operator, *RETRY)
    assert (started["id"], json.loads(operator.input_of(started["executionArn"]))) == (ID, envelope)


def test_large_request_is_started_without_escapes(operator: Operator) -> None:
    payload = {"note": "日" * 44_000}  # as escapes it is larger than an input may be
    put(operator, unavailable(operator, operator.request() | {"payload": payload}))
    assert outcomes(asked(operator, *RETRY)) == ["STARTED"] and operator.record["status"] == "COMPLETED"


def test_message_that_could_not_be_deleted_after_its_start_starts_nothing_more(operator: Operator) -> None:
    put(operator, unavailable(operator))

    def lost() -> None:
        raise ConnectionClosedError(endpoint_url="https://sqs")

    operator.before("DeleteMessage", lost)
    assert operator.once(*RETRY).code == 2
    operator.cloud.settle()
    [again] = asked(operator, *RETRY)
    assert again["outcome"] == "STARTED" and operator.cloud.rejected() == []
    assert operator.starts == 1 and operator.record["owner"] == again["executionArn"]


def test_no_more_messages_are_looked_at_than_were_there_at_the_start() -> None:
    class Endless:
        received = 0

        def get_queue_attributes(self, **_: Any) -> Any:
            return {"Attributes": {"ApproximateNumberOfMessages": "2"}}

        def receive_message(self, **_: Any) -> Any:
            self.received += 1
            return {"Messages": [{"MessageId": str(self.received), "ReceiptHandle": "r", "Body": "{}"}]}

        def change_message_visibility(self, **_: Any) -> None: ...

    stack = Stack("once", {"RejectedQueueUrl": "url"}, {}, None, clients={"sqs": Endless()})
    assert len(handle(stack, "list", limit=9)) == 2
