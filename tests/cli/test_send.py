"""`once send`, and its --wait in both lanes."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from operating import ID, Operator

from oncekit.cli.deployed.send import synchronous
from oncekit.cli.outcomes import exit_code
from oncekit.stack.stack import Stack

OTHER = {"payload": {"b": 2}}
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_real_pauses(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oncekit.cli.deployed.send.time.sleep", lambda _: operator.cloud.settle())


def event(operator: Operator, **other: Any) -> str:
    return operator.file(json.dumps(operator.request() | other), "event.json")


def last_words(out: str) -> list[str]:
    return out.splitlines()[-1].split()


# ---- the full lane ----


def sent(operator: Operator, *options: str) -> list[str]:
    return ["send", event(operator), "--wait", *options]


def test_send_waits_for_the_end_and_shows_the_result(operator: Operator) -> None:
    done = operator.once(*sent(operator))
    assert (done.code, done.out.splitlines()[-1].split()) == (0, ["✓", "EXECUTED", "7"])
    again = operator.once(*sent(operator, "--json")).answer
    assert [(each["outcome"], each["result"]) for each in again["ended"]] == [("REPLAYED", 7)]


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_send_does_not_wait_where_nobody_answers(operator: Operator, via: str) -> None:
    done = operator.once(*sent(operator, "--via", via))
    assert done.code == 2 and "`once show ID`" in done.err and operator.cloud.record(ID) is None


def test_send_ends_with_the_code_of_what_it_waited_for(operator: Operator) -> None:
    operator.script({"raise": "PermanentError"})
    failed = operator.once(*sent(operator))
    assert failed.code == 1 and "OperationFailed" in failed.out and "PermanentError: " in failed.out
    other = operator.file(json.dumps(operator.request() | {"payload": {"b": 1}}))
    assert operator.once("send", other, "--wait").code == 3, "PayloadMismatch"


def test_send_does_not_wait_for_ever(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("oncekit.cli.deployed.send.time.sleep", pauses.append)
    with operator.holding("ExecuteBusinessLogic"):
        done = operator.once(*sent(operator, "--timeout", "20"))
    assert done.code == 3 and "still without an end after 20 s" in done.out
    assert 20 <= sum(pauses) < 26


# ---- the fast lane ----


def test_answer_of_the_fast_lane_is_that_of_the_execution_itself(operator: Operator) -> None:
    first = operator.once("send", event(operator), "--lane", "fast", "--wait")
    assert (first.code, last_words(first.out)) == (0, ["✓", "EXECUTED", "7"])
    assert first.out.startswith("arn:aws:states:") and ":express:" in first.out.splitlines()[0]
    again = operator.once("send", event(operator), "--lane", "fast", "--wait", "--duplicates", "2", "--json").answer
    assert [(each["outcome"], each["result"]) for each in again["ended"]] == [("REPLAYED", 7)] * 3
    assert sorted(each["of"] for each in again["ended"]) == sorted(again["sent"])


@pytest.mark.parametrize(
    ("policy", "outcome"), [({"onConflict": "reject"}, "OperationInProgress"), ({}, "IN_PROGRESS")]
)
def test_request_that_meets_another_at_work_is_told_of_as_that(
    operator: Operator, policy: dict[str, str], outcome: str
) -> None:
    with operator.holding("ExecuteBusinessLogic"):
        operator.cloud.start(operator.request())
        done = operator.once("send", event(operator, **policy), "--lane", "fast", "--wait", "--timeout", "1")
    assert done.code == 3 and outcome in done.out


@pytest.mark.parametrize("lane", ["full", "fast"])
def test_request_that_is_in_progress_is_told_why(operator: Operator, lane: str) -> None:
    waits = ("--lane", lane, "--wait")
    operator.died_in("Finalize")  # nobody knows before its lease is over
    assert "somebody else is at work on it" in operator.once("send", event(operator), *waits).out
    other = event(operator, idempotencyKey="pending")
    operator.script({"pending": 60})
    for _ in range(2):
        told = operator.once("send", other, *waits, "--json")
        [ended] = json.loads(told.out)["ended"]
        assert (told.code, ended["message"]) == (3, "pending: work elsewhere ends it")


def test_request_that_the_fast_lane_handed_over_is_told_of_as_that(operator: Operator) -> None:
    with operator.cloud.deployed_with({"FullLaneOperations": "told"}), operator.holding("AcquireLock"):
        done = operator.once("send", event(operator), "--lane", "fast", "--wait")
    assert done.code == 3 and "handed over: the full lane goes on with it" in done.out


# ---- each way ----


@pytest.mark.parametrize("via", ["direct", "sqs", "eventbridge"])
@pytest.mark.parametrize("body", [{"orderId": "1"}, {"Records": [{"body": "{}"}]}, [{"a": 1}, {"a": 2}]])
def test_what_is_no_request_is_refused_before_it_is_sent(operator: Operator, via: str, body: object) -> None:
    given = operator.file(json.dumps(body), "charge-card-message.json")
    before = operator.executions()
    done = operator.once("send", given, "--via", via)
    assert (done.code, done.out, operator.executions()) == (2, "", before)
    assert "charge-card-message.json is no request: it has neither operation nor idempotencyKey." in done.err


@pytest.mark.parametrize("via", ["direct", "sqs", "eventbridge"])
def test_send_brings_a_request_and_its_duplicates_to_one_effect(operator: Operator, via: str) -> None:
    with operator.cloud.delivering():
        done = operator.once("send", event(operator), "--via", via, "--duplicates", "2", "--json").answer
        operator.cloud.settle()
    assert list(done) == ["id", "via", "to", "sent"] and done["id"] == "default#told#k" and len(done["sent"]) == 3
    assert operator.record["status"] == "COMPLETED" and operator.starts == 1


@pytest.mark.parametrize(("via", "switch"), [("sqs", "QueueTrigger"), ("eventbridge", "EventBusName")])
def test_send_says_that_a_trigger_is_switched_off(operator: Operator, via: str, switch: str) -> None:
    request = event(operator)
    with operator.cloud.deployed_with({switch: "none" if via == "eventbridge" else "false"}):
        done = operator.once("send", request, "--via", via)
    assert done.code == 2 and switch in done.err and len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "parameter", "kind"),
    [(["--lane", "fast"], "full", "express"), (["--lane", "full"], "fast", "execution"), ([], "fast", "express")],
)
def test_direct_start_is_in_the_lane_that_is_named_or_else_the_triggers_lane(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, options: list[str], parameter: str, kind: str
) -> None:
    connect = operator._connect

    def in_lane(*place: Any, **needed: Any) -> Stack:
        stack = connect(*place, **needed)
        return replace(stack, parameters={**stack.parameters, "Lane": parameter})

    monkeypatch.setattr(operator, "_connect", in_lane)
    answer = operator.once("send", event(operator), *options, "--json").answer
    operator.cloud.settle()
    assert [arn.split(":")[5] for arn in answer["sent"]] == [kind]
    assert answer["to"] == operator.cloud.outputs[{"express": "FastStateMachineArn"}.get(kind, "StateMachineArn")]


def test_send_refuses_a_lane_that_it_cannot_choose(operator: Operator) -> None:
    done = operator.once("send", event(operator), "--lane", "fast", "--via", "sqs")
    assert done.code == 2 and "parameter Lane" in done.err


# ---- what it prints ----


@pytest.mark.parametrize("way", [["--lane", "full"], ["--via", "sqs"]])
def test_it_says_what_to_ask_show_for(operator: Operator, way: list[str]) -> None:
    with operator.cloud.delivering():
        told = operator.once("send", event(operator), *way)
        operator.cloud.settle()
    assert len(told.out.splitlines()) == 1
    [command] = re.findall("`once (.*?)`", told.err)
    assert operator.once(*shlex.split(command)).out.startswith(f"{ID}  COMPLETED")
    [sent] = told.out.splitlines()
    if ":execution:" in sent:
        assert operator.once("show", sent).out.startswith(f"{ID}  COMPLETED")


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        ([("a", "EXECUTED"), ("a", "IN_PROGRESS"), ("a", "REPLAYED")], 0),
        ([("a", "IN_PROGRESS"), ("a", "COMPLETED")], 0),
        ([("a", "EXECUTED"), ("b", "IN_PROGRESS")], 3),
        ([("a", "EXECUTED"), ("a", "OperationInProgress")], 3),
        ([("a", "PayloadMismatch"), ("b", "OperationFailed")], 1),
        ([("a", "IN_PROGRESS"), ("a", "QUARANTINED")], 1),
        ([], 0),
    ],
)
def test_run_and_send_have_one_rule_for_the_exit_code(ended: list[tuple[str, str]], code: int) -> None:
    assert exit_code(ended) == code


def test_start_without_an_answer_in_time_is_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    class Slow:
        def start_sync_execution(self, **given: str) -> None:
            sent.append(given["stateMachineArn"])
            raise ReadTimeoutError(endpoint_url="https://sync-states")

    class Session:
        def client(self, service: str, endpoint_url: str | None, config: Any) -> Slow:
            told.append((config.read_timeout, config.retries, config.inject_host_prefix))
            return Slow()

    told: list[tuple[float, dict[str, int], bool]] = []
    stack = Stack("shop", {"StateMachineArn": "m", "FastStateMachineArn": "f"}, {}, Session())
    [late] = synchronous(stack, "{}", 1, 600)
    assert sent == ["f"] and "`once show ID` tells" in str(late.message)
    assert told == [(330, {"total_max_attempts": 1}, True)], "as long as AWS lets it live, and its answer takes"


# ---- what is refused ----


def test_of_a_request_without_an_id_it_says_where_it_is_kept(operator: Operator) -> None:
    done = operator.once("send", event(operator, idempotencyKey=None))
    assert done.code == 0 and "once show" not in done.err and "`once ls --rejected`" in done.err
    assert operator.cloud.wait(done.out.strip()).states[-1] == "RequestRefused"
