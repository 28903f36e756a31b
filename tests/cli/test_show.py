"""`once show`: the record, its owners, the path of the last one, what each attempt logged, and what to do next."""

from __future__ import annotations

import datetime
import getpass
import io
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from logged import GROUP, logged, own
from operating import ID, Operator, put

from oncekit.cli.here.kept_logs import KeptLogs
from oncekit.local.engine.boundaries import Boundary, boundaries
from oncekit.local.engine.interceptors import fails
from oncekit.local.engine.service_calls import Call, Interceptor
from oncekit.stack.executions import events_of, where_its_path_is
from oncekit.stack.facts import KEYS, MOST_READ
from oncekit.stack.stack import Stack, connect

PLAIN = Path(__file__).parents[1] / "functions" / "plain_echo"
STATES = ["ReceiveRequest", "AcquireLock", "ExecuteBusinessLogic", "JudgeAnswer", "Finalize"]


def shown(operator: Operator, about: str = ID) -> dict[str, Any]:
    answer: dict[str, Any] = operator.once("show", about, "--json").answer
    assert list(answer) == list(KEYS)
    return answer


# ---- the record and its owner ----


def test_record_owner_and_steps_are_told(operator: Operator) -> None:
    operator.script({"step": "first", "exit": 1})
    operator.quarantined()
    operator.execution(operator.once("retry", ID, "--json"))
    told = shown(operator)
    assert told["record"] == operator.record and told["ownerStatus"] == "FAILED"
    assert list(told["steps"]) == ["note"] and told["console"].endswith(operator.record["owner"])
    text = operator.once("show", ID).out
    assert "  owner       FAILED  recover-" in text and "step done" in text


def test_quarantined_id_is_shown_with_the_commands_that_end_it(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    *_, resolve, retry = operator.once("show", ID).out.splitlines()
    assert resolve.startswith(f"  once resolve '{ID}' --result FILE  # ") and retry.startswith(
        f"  once retry '{ID}'  # "
    )
    operator.once("resolve", ID, "--failed", "no")
    assert "next: " not in operator.once("show", ID).out


def test_owner_that_is_gone_and_record_that_has_expired_are_said_to_be(operator: Operator) -> None:
    gone = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":none"
    put(operator, ID, "IN_PROGRESS", 5, owner={"S": gone})
    assert shown(operator)["ownerStatus"] == "GONE"
    put(operator, ID, "COMPLETED", 5, owner={"S": gone}, expiresAt={"N": "5"}, result={"S": "1"})
    assert shown(operator)["expired"] is True and "EXPIRED" in operator.once("show", ID).out


def test_an_operators_lock_is_said_to_be_one(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    operator.before("StartExecution", _lost)
    assert operator.once("retry", ID).code == 2
    told = shown(operator)
    assert (told["ownerStatus"], told["execution"], told["lane"]) == ("OPERATOR", None, None)
    assert "  lane  " not in operator.once("show", ID).out


def _lost() -> None:
    raise ConnectionClosedError(endpoint_url="https://states")


def test_an_owner_in_the_fast_lane_is_told_of_by_its_record(operator: Operator) -> None:
    dead = operator.died_fast_in("Finalize")
    before = shown(operator)
    assert (before["lane"], before["ownerStatus"], before["execution"]) == ("fast", "MAY_RUN", None)
    lines = operator.once("show", ID).out.splitlines()
    assert "  lane        fast: its owner cannot be asked, but has ended when its lease is over" in lines
    [log] = [line for line in lines if line.startswith("the owner in the fast lane: its log has ")]
    assert "--log-group-name /aws/vendedlogs/states/once-fast " in log and f'"{dead.arn}"' in log
    operator.lease_over()
    assert shown(operator)["ownerStatus"] == "LEASE_OVER"


@pytest.mark.parametrize("lane", ["full", "fast"])
def test_the_owner_is_called_by_the_name_of_its_execution(operator: Operator, lane: Any) -> None:
    ended = operator.cloud.run(operator.request(), lane=lane)
    lines = operator.once("show", ID, columns=400).out.splitlines()
    [owner] = [line.split()[-1] for line in lines if line.startswith("  owner ")]
    assert owner == ended.name


@pytest.mark.parametrize("lane", ["full", "fast"])
def test_what_is_pending_says_since_when_until_when_and_how_a_person_ends_it(operator: Operator, lane: str) -> None:
    record = operator.pending(lane=lane)
    told, lines = shown(operator), operator.once("show", ID, columns=200).out.splitlines()
    until = datetime.datetime.fromtimestamp(record["leaseExpiresAt"], datetime.UTC).isoformat(timespec="milliseconds")
    until = until.replace("+00:00", "Z")
    waits = f"since {record['pendingSince']}, until {until}: work elsewhere ends it with its ticket"
    assert f"  pending     {waits}" in lines
    assert told["ownerStatus"] == "PENDING" and "Waits for work elsewhere to end it" in told["summary"]
    assert any("once resolve 'default#told#k' --result FILE  # if the work is done" in line for line in lines)
    assert any("once retry 'default#told#k'  # if it is lost" in line for line in lines)


def test_the_newest_request_that_was_refused_under_the_key_is_told(operator: Operator) -> None:
    operator.cloud.run(operator.request())
    assert shown(operator)["refused"] is None and "  refused " not in operator.once("show", ID).out
    operator.keep_refused("old", "InvalidRequest", input=operator.request())
    mismatch = operator.cloud.run(operator.request() | {"payload": {"b": 1}})
    operator.refuse_requests("another")
    told, text = shown(operator), operator.once("show", ID, columns=400).out
    refused = told["refused"]
    assert list(refused) == ["key", "error", "message", "refusedAt"] and refused["error"] == "PayloadMismatch"
    line = f"  refused     PayloadMismatch, at {refused['refusedAt']}, kept: `once show {refused['key']}`"
    assert line in text.splitlines()
    assert operator.once("show", refused["key"], "--json").answer["refusedBy"] == mismatch.arn
    assert shown(operator, mismatch.arn)["refused"] == refused


@pytest.mark.parametrize("call", ["ListObjectsV2", "GetObject"])
def test_who_may_not_see_refused_requests_sees_the_rest(operator: Operator, call: str) -> None:
    operator.cloud.run(operator.request())
    operator.cloud.run(operator.request() | {"payload": {"b": 1}})
    operator.before(call, _denied)
    done = operator.once("show", ID)
    assert done.code == 0 and "COMPLETED" in done.out and "  refused " not in done.out
    assert "  refused " in operator.once("show", ID).out


def _denied() -> None:
    raise ClientError({"Error": {"Code": "AccessDenied"}}, "ListObjectsV2")


def test_of_many_refused_requests_only_the_newest_are_read(operator: Operator) -> None:
    operator.cloud.run(operator.request())
    operator.keep_refused("0", "InvalidRequest", input=operator.request())
    for number in range(1, MOST_READ):
        operator.keep_refused(f"1-{number}", "InvalidRequest", input=operator.request() | {"idempotencyKey": "other"})
    assert shown(operator)["refused"] is not None
    operator.keep_refused("2", "InvalidRequest", input=operator.request() | {"idempotencyKey": "other"})
    assert shown(operator)["refused"] is None


def test_what_its_ticket_ended_has_no_owner_in_a_lane(operator: Operator) -> None:
    operator.pending()
    operator.end_by_ticket(9)
    told, text = shown(operator), operator.once("show", ID).out
    assert (told["ownerStatus"], told["lane"], told["log"], told["execution"]) == ("TICKET", None, None, None)
    assert "  owner       TICKET  " in text and "  lane  " not in text and "next:" not in text


# ---- the timeline ----


def test_the_timeline_begins_with_the_total_and_has_each_owner_and_who_decided(operator: Operator) -> None:
    first = operator.died_in("Finalize")
    operator.lease_over()
    assert operator.once("retry", ID, "--because", "it hangs").code == 0
    operator.cloud.settle()
    told = shown(operator)["timeline"]
    assert told["total"].startswith(f"asked {told['askedAt'][:19].replace('T', ' ')}, answered ")
    assert [each["kind"] for each in told["moments"]] == [
        *("asked", "owner", "ran", "died", "unknown", "person", "owner", "ran", "answer"),
    ]
    assert told["moments"][1]["executions"] == [first.arn], "the owner before has a history, too"
    lines = operator.once("show", ID, columns=400).out.splitlines()
    assert lines[1] == f"{told['total']} (UTC)"
    [said] = [each for each in lines if "had it run again: it hangs" in each]
    assert "  attempts    1 since it was run again" in lines
    assert said.startswith(f"  {told['moments'][5]['at'][11:19]}  ◆ {getpass.getuser()} ")


def test_after_a_decision_the_owners_before_it_are_still_told(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    first = operator.record["owner"]
    second = operator.execution(operator.once("retry", ID, "--json")).arn
    assert operator.once("resolve", ID, "--failed", "refunded").code == 0
    moments = shown(operator)["timeline"]["moments"]
    assert [each["executions"] for each in moments if each["kind"] == "owner"] == [[first], [second]]
    decided = [each["kind"] for each in moments if each["kind"] in ("person", "failure")]
    assert decided == ["person", "person", "failure"]


@pytest.mark.parametrize("option", ["--failed", "--result"])
def test_the_timeline_says_that_what_led_to_a_decision_is_not_kept(operator: Operator, option: str) -> None:
    """Recovery did it, of which the record names nothing once a person has decided."""
    operator.died_in("Finalize")
    operator.lease_over()
    operator.sweep()
    assert operator.record["status"] == "QUARANTINED"
    assert operator.once("resolve", ID, option, operator.file("7")).code == 0
    moments = shown(operator)["timeline"]["moments"]
    assert [each["kind"] for each in moments][3:6] == ["died", "unknown", "person"]
    assert moments[4]["what"].endswith("is not kept") and moments[4]["at"] is None


def test_an_attempt_of_an_owner_without_a_history_is_told_by_its_log(operator: Operator) -> None:
    operator.cloud.run(operator.request(), lane="fast")
    with logged(operator, [(0, own("x")), (2000, own("y"))]):
        found = shown(operator)["timeline"]["moments"]
    assert ("The log has something of attempt 1", "2 s") in [(each["what"], each["lasted"]) for each in found]


def test_an_attempt_of_which_only_the_library_logged_printed_nothing_of_its_own(operator: Operator) -> None:
    operator.cloud.run(operator.request(), lane="fast")
    with logged(operator, [(0, START.format("r1")), (1, ends("r1")), (2, END.format("r1"))]):
        text = operator.once("show", ID).out
    assert "The log has something of attempt 1" in text and "  it printed nothing of its own\n" in text


# ---- the path ----


def test_path_has_each_state_and_json_its_times_input_and_output(operator: Operator) -> None:
    ended = operator.cloud.run(operator.request())
    told = shown(operator)["execution"]
    assert (told["execution"], told["status"]) == (ended.arn, "SUCCEEDED")
    assert [each["state"] for each in told["states"]] == STATES
    first, *_, last = told["states"]
    assert json.loads(first["input"]) == operator.request()
    assert json.loads(last["output"])["disposition"] == "EXECUTED"
    assert told["startedAt"] <= first["enteredAt"] <= first["exitedAt"] <= last["exitedAt"] <= told["endedAt"]
    assert f"  {' → '.join(STATES)}\n" in operator.once("show", ID).out


def test_path_says_which_state_failed_and_why(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    with operator.cloud.intercept(fails("ThrottlingException", state="AcquireLock")):
        operator.quarantined()
    text = operator.once("show", ID).out
    assert "  AcquireLock  DynamoDB.ThrottlingException" in text
    assert "  ExecuteBusinessLogic  NeedsAttention: " in text


def test_execution_is_shown_with_the_record_of_its_id(operator: Operator) -> None:
    owner = operator.cloud.run(operator.request())
    duplicate = operator.cloud.run(operator.request())
    told = shown(operator, duplicate.arn)
    assert (told["execution"]["execution"], told["record"]["owner"]) == (duplicate.arn, owner.arn)


def test_execution_that_refused_its_request_is_shown_though_there_is_no_record(operator: Operator) -> None:
    refused = operator.cloud.run(operator.request() | {"payload": 1})
    assert shown(operator, refused.arn)["record"] is None
    text = operator.once("show", refused.arn).out
    assert text.startswith(f"{ID}  there is no record") and "payload must be a JSON object" in text


@pytest.mark.parametrize("about", ["arn:aws:states:us-east-1:123456789012:execution:Other:x", "{own}:gone"])
def test_execution_that_is_not_there_is_a_line(operator: Operator, about: str) -> None:
    own = operator.cloud.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:")
    done = operator.once("show", about.format(own=own))
    assert done.code == 2 and len(done.err.splitlines()) == 1


def test_payload_that_is_the_whole_event_is_shown_and_not_read(operator: Operator) -> None:
    request = operator.request() | {"operation": "plain-echo", "payload": {"payload": {"return": 1}, "attempt": "2nd"}}
    with operator.cloud.deployed_with({"PayloadOnlyOperations": "plain-echo"}):
        operator.cloud.add_function("plain-echo", PLAIN)
        operator.cloud.run(request)
        told = operator.once("show", "default#plain-echo#k", "--json").answer
    assert told["summary"] == "Your function ran (attempt 1). Its answer is stored: every duplicate gets it."


def test_fast_execution_has_no_path_but_a_reason_and_where_to_look(operator: Operator) -> None:
    ended = operator.cloud.run(operator.request(), lane="fast")
    done = operator.once("show", ended.arn)
    assert done.code == 2 and done.out == "" and len(done.err.splitlines()) == 1
    assert "Express executions keep no history" in done.err
    assert ended.arn in done.err and "`once show ID`" in done.err


def test_in_once_up_the_terminal_shows_the_path_of_what_has_ended() -> None:
    arn = "arn:aws:states:eu-west-1:1:express:FastStateMachine-x:name:run"
    said = where_its_path_is(Stack("once", {}, {"ExecutionLog": "ALL"}, None, endpoint_url="http://127.0.0.1:1"), arn)
    assert said == "`once up` prints the path of each execution when it ends"


# ---- what was logged ----


@pytest.fixture
def at_work(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record in progress, and lines by the clock of this machine, as moto's are."""

    def connected(*place: Any, **needed: Any) -> Stack:
        return replace(connect(*place, **needed, open_session=operator.open_session), now=time.time)

    monkeypatch.setattr(operator, "_connect", connected)
    put(operator, ID, "IN_PROGRESS", 4_000_000_000)


def attempts_of(operator: Operator, lines: list[tuple[int, str]]) -> list[tuple[Any, list[str]]]:
    """Number and lines of each attempt that is shown."""
    with logged(operator, lines):
        told = shown(operator)["attempts"]
    return [(each["attempt"], [line["text"] for line in each["lines"]]) for each in told]


def ends(request: str) -> str:
    """The library's one line about an attempt that succeeded."""
    told = {"level": "INFO", "disposition": "EXECUTED", "id": ID, "attempt": 1, "function_request_id": request}
    return json.dumps({**told, "_aws": {}})


START, END = "START RequestId: {} Version: 1", "END RequestId: {}"


@pytest.mark.usefixtures("at_work")
def test_attempt_has_all_lines_of_its_invocation_and_no_other(operator: Operator) -> None:
    mine = [
        (10, "printed at once"),
        (11, own("warned")),
        (12, "printed late"),
        (13, ends("r1")),
        (14, "[ERROR] KeyError: 'x'"),
    ]
    timeout = (16, "2026-01-01T00:01:30.000Z r1 Task timed out after 90.00 seconds")
    lines = [
        (0, START.format("r0")),
        (5, "printed by the attempt before"),
        (6, END.format("r0")),
        (9, START.format("r1")),
        *mine,
        (14, json.dumps({"_aws": {}, "id": ID})),
        (15, END.format("r1")),
        (15, "REPORT RequestId: r1"),
        timeout,
        (17, START.format("r2")),
        (18, "r1, says the next one"),
    ]
    assert attempts_of(operator, lines) == [(1, [text for _, text in (*mine, timeout)])]
    with logged(operator, lines):
        text = operator.once("show", ID).out
    assert "attempt 1  " in text and " | WARNING warned\n" in text and " | printed late\n" in text


@pytest.mark.usefixtures("at_work")
@pytest.mark.parametrize("id", [ID, 'default#told#50%-é"*\\b'])
def test_id_is_found_in_the_log_whatever_its_key_is(operator: Operator, id: str) -> None:
    put(operator, id, "IN_PROGRESS", 4_000_000_000)
    with logged(operator, [(0, own("x", id)), (1, START.format("r2")), (2, own("y", id + "c", "r2"))]):
        [attempt] = shown(operator, id)["attempts"]
    assert [json.loads(line["text"])["id"] for line in attempt["lines"]] == [id]


CRASHED = "0f5c1d2e-1111-4222-8333-444455556666"
OF_CRASHED = [
    (0, START.format(CRASHED)),
    (5, "printed before it died"),
    (9, f"RequestId: {CRASHED} Error: Runtime exited with error: signal: killed"),
    (10, END.format(CRASHED)),
]


def answers(times: int = 99) -> Interceptor:
    """A function that ends without an answer so many times, as Lambda tells of it."""
    told_of: list[str] = []

    def invoke(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.action != "invoke" or len(told_of) >= times:
            return proceed()
        told_of.append(CRASHED)
        told = {"errorType": "Runtime.ExitError", "errorMessage": f"RequestId: {CRASHED} Error: Runtime exited"}
        body = io.BytesIO(json.dumps(told).encode())
        return {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": body}

    return invoke


@pytest.mark.parametrize("lane", ["full", "fast"])
def test_attempt_that_crashed_is_found_by_the_error_in_the_record(operator: Operator, lane: Any) -> None:
    with operator.cloud.intercept(answers()):
        operator.cloud.run(operator.request(), lane=lane)
    assert attempts_of(operator, OF_CRASHED) == [(None, [OF_CRASHED[1][1], OF_CRASHED[2][1]])]
    with logged(operator, OF_CRASHED):
        assert f"attempt ?  request {CRASHED}  " in operator.once("show", ID).out


@pytest.mark.parametrize("name", [CRASHED, f"{CRASHED}_{CRASHED}"])
def test_owners_execution_in_an_error_is_no_attempt(operator: Operator, name: str) -> None:
    operator.pending(60)
    operator.lease_over()
    operator.sweep()
    error = operator.record["error"]
    assert error["name"] == "PendingTimedOut"
    owner = operator.record["owner"].rpartition(":")[2]
    operator.change({"error": error | {"message": error["message"].replace(owner, name)}})
    assert attempts_of(operator, [(0, f"owner: arn:aws:states:x:1:execution:m:{name}")]) == []


def test_earlier_crash_in_the_full_lane_is_found_by_the_owners_history(operator: Operator) -> None:
    with operator.cloud.intercept(answers(times=1)):
        operator.cloud.run(operator.request("retry"))
    assert operator.record["status"] == "COMPLETED" and operator.record["attempts"] == 2
    lines = [*OF_CRASHED, (5000, START.format("r2")), (5001, own("second", request="r2", attempt=2))]
    assert [number for number, _ in attempts_of(operator, lines)] == [None, 2]


def test_crash_in_the_fast_lane_is_told_and_found_after_the_full_lane_has_succeeded(operator: Operator) -> None:
    with operator.cloud.intercept(answers(times=1)):
        operator.cloud.run(operator.request("retry"), lane="fast")
        operator.cloud.settle()
    assert operator.record["status"] == "COMPLETED" and "error" not in operator.record
    assert "Your function failed (Runtime.ExitError: RequestId: " in shown(operator)["summary"]
    lines = [*OF_CRASHED, (5000, START.format("r2")), (5001, own("second", request="r2", attempt=2))]
    assert [number for number, _ in attempts_of(operator, lines)] == [None, 2]


def test_function_without_the_library_is_found_by_lambdas_answer_in_the_history(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_on_aws(client: Any, execution: str) -> Iterator[dict[str, Any]]:
        for event in events_of(client, execution):
            ended = event.get("taskSucceededEventDetails", {})
            if ended.get("resourceType") == "lambda":
                about = {"SdkResponseMetadata": {"RequestId": CRASHED}}
                ended["output"] = json.dumps(json.loads(ended["output"]) | about)
            yield event

    operator.cloud.run(operator.request())
    monkeypatch.setattr("oncekit.stack.executions.events_of", as_on_aws)
    lines = [(0, START.format(CRASHED)), (1, "printed without the library"), (2, END.format(CRASHED))]
    assert attempts_of(operator, lines) == [(None, ["printed without the library"])]


def test_attempts_without_a_trace_are_said_with_the_command_that_shows_that_time(operator: Operator) -> None:
    operator.cloud.run(operator.request())
    operator.change({"attempts": 2})
    with logged(operator, [(0, START.format("r1")), (1, "printed without the library")]):
        *sentences, command = operator.once("show", ID, columns=60).out.splitlines()
    assert f"2 of its 2 attempts were not found in {GROUP}: " in " ".join(sentences)
    began, ended = (
        int(datetime.datetime.fromisoformat(operator.record[name]).timestamp() * 1000)
        for name in ("acquiredAt", "finishedAt")
    )
    start, end = map(int, re.findall(r"-time (\d+)", command))
    assert command.startswith(f"aws logs filter-log-events --log-group-name {GROUP} --start-time ")
    assert start <= began - 1000 and end == ended + 1000


@pytest.mark.parametrize(("end", "crashed"), [({"return": 7}, False), ({"exit": 3}, True)])
def test_crash_is_a_reason_only_for_an_attempt_that_gave_no_answer(
    operator: Operator, end: dict[str, Any], crashed: bool
) -> None:
    operator.script(end)
    operator.cloud.run(operator.request())
    text = operator.once("show", ID, columns=400).out
    why = "a function that does not use the library logs no id"
    assert f"Its only attempt was not found in {GROUP}: {'an attempt that crashed' if crashed else why}" in text


def test_attempt_of_a_pending_operation_is_not_said_to_have_crashed(operator: Operator) -> None:
    operator.pending()
    text = operator.once("show", ID, columns=400).out
    assert f"was not found in {GROUP}: what it logged is not there yet, or not any more. " in text


@pytest.mark.parametrize("state", ["BackOff", "ReadRecord"])
def test_attempt_that_its_owner_still_waits_for_is_not_missed(operator: Operator, state: str) -> None:
    operator.script({"exit": 3}, {"return": 7})
    told: list[Any] = []

    def look(at: Boundary) -> None:
        if (at.place, at.state) == ("enter", state):
            told.extend([shown(operator), operator.once("show", ID, columns=400).out])

    with boundaries(look):
        operator.cloud.run(operator.request("retry"))
    waiting, text = told
    assert (waiting["record"]["attempts"], waiting["notFound"], waiting["notBegun"]) == (2, 1, True)
    assert "attempts    2, the last of which is still to begin\n" in text and "Its only attempt was not found" in text
    ended = shown(operator)
    assert (ended["record"]["attempts"], ended["notFound"], ended["notBegun"]) == (2, 2, False)


NOT_YET = "goes on, and nothing that names it is logged yet"


@pytest.mark.parametrize(("lane", "told_as"), [("full", NOT_YET), ("fast", NOT_YET.replace("goes", "may go", 1))])
def test_an_attempt_that_goes_on_is_not_said_to_have_crashed(operator: Operator, lane: Any, told_as: str) -> None:
    operator.script({"exit": 3}, {"return": 7})
    with operator.holding("ExecuteBusinessLogic") as reached:
        operator.cloud.start(operator.request("retry"), lane=lane)
        assert reached.wait(20)
        told, text = shown(operator), operator.once("show", ID, columns=400).out
    assert (told["record"]["attempts"], told["notFound"]) == (1, 1)
    assert f"Its only attempt {told_as}. This shows" in text and "was not found" not in text and "crashed" not in text


def test_attempts_that_are_missing_are_told_beside_the_one_that_goes_on(operator: Operator) -> None:
    texts: list[str] = []

    def look(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.action == "invoke":
            texts.append(operator.once("show", ID, columns=400).out)
        return proceed()

    operator.script({"exit": 3}, {"exit": 3}, {"return": 7})
    with operator.cloud.intercept(look):
        operator.cloud.run(operator.request("retry"))
    assert f"Attempt 2 {NOT_YET}; 1 of its 2 attempts was not found in {GROUP}: an attempt that crashed" in texts[1]
    assert f"Attempt 3 {NOT_YET}; 2 of its 3 attempts were not found in {GROUP}: an attempt that crashed" in texts[2]


# ---- the logs of `once up` ----


@pytest.fixture
def kept(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeptLogs]:
    """What the functions of the local cloud log, as `once up` keeps it: by the clock of the cloud."""
    kept = KeptLogs(operator.cloud)
    monkeypatch.setattr(operator, "_connect", partial(Operator._connect, operator))
    monkeypatch.setattr(operator.cloud.functions, "_on_output", kept.put)
    yield kept
    monkeypatch.undo()
    operator.cloud.client("logs").delete_log_group(logGroupName=GROUP)


@pytest.mark.usefixtures("kept")
def test_once_up_shows_what_an_attempt_printed_that_crashed(operator: Operator) -> None:
    operator.script({"print": "before it died", "exit": 3}, {"print": "again", "return": 7})
    operator.cloud.run(operator.request("retry"))
    crashed, succeeded = shown(operator)["attempts"]
    assert [line["text"].partition(" ")[2] for line in crashed["lines"]] == [
        "it died",
        f"{crashed['requestId']} Error: Runtime exited with error: exit status 3",
    ]
    assert "again" in [line["text"] for line in succeeded["lines"]]
