"""`once logs`: what business logic printed and logged for an id."""

from __future__ import annotations

import datetime
import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from logged import GROUP, logged, own
from operating import ID, Operator

from oncekit.cli.deployed import log_lines
from oncekit.cli.deployed.owners import events_of
from oncekit.cli.deployed.stack import Stack, connect
from oncekit.cli.here.kept_logs import KeptLogs
from oncekit.local.engine import Call, Interceptor
from oncekit.local.lambda_runtime import LogLine

OTHER = "default#told#other"


@pytest.fixture(autouse=True)
def by_the_clock_of_this_machine(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the lines are."""

    def connected(*place: Any, **needed: Any) -> Stack:
        return replace(connect(*place, **needed, open_session=operator.open_session), now=time.time)

    monkeypatch.setattr(operator, "_connect", connected)


def test_lines_of_an_attempt_are_shown_with_what_it_printed_between_them(operator: Operator) -> None:
    lines = [
        (0, "START RequestId: r1 Version: 1"),
        (1, own("begins")),
        (2, "printed by hand"),
        (3, json.dumps({"_aws": {}, "id": ID})),
        (4, own("ends")),
        (5, "[ERROR] KeyError: 'x'"),
        (6, "REPORT RequestId: r1"),
    ]
    with logged(operator, lines):
        head, *shown = operator.once("logs", ID).out.splitlines()
    assert head.startswith("attempt 1  ")
    assert [line.partition(" | ")[2] for line in shown] == [
        "WARNING begins",
        "printed by hand",
        "WARNING ends",
        "[ERROR] KeyError: 'x'",
    ]


def test_an_attempt_that_printed_nothing_is_said_to_have(operator: Operator) -> None:
    record = {"_aws": {}, "id": ID, "function_request_id": "r1", "attempt": 1, "disposition": "SUCCEEDED"}
    with logged(operator, [(0, "START RequestId: r1 Version: 1"), (1, json.dumps(record))]):
        head, *shown = operator.once("logs", ID).out.splitlines()
    assert head.startswith("attempt 1  ") and shown == ["it printed nothing"]


def test_what_lambda_says_of_an_attempt_that_it_ended_is_shown(operator: Operator) -> None:
    lines = [
        (0, own("begins")),
        (90_000, "2026-01-01T00:01:30.000Z r1 Task timed out after 90.00 seconds"),
        (90_001, "printed by nobody knows whom"),
    ]
    with logged(operator, lines):
        _, *shown = operator.once("logs", ID).out.splitlines()
    assert [line.partition(" | ")[2] for line in shown] == ["WARNING begins", lines[1][1]]


def ends(request: str, duration: float, disposition: str = "EXECUTED") -> str:
    """The library's one line about an attempt that succeeded."""
    told = {"level": "INFO", "disposition": disposition, "id": ID, "attempt": 1, "function_request_id": request}
    return json.dumps({**told, "Duration": duration, "_aws": {}})


def test_what_an_attempt_printed_before_the_librarys_line_is_shown(operator: Operator) -> None:
    lines = [
        (0, "START RequestId: r0 Version: 1"),
        (960, "printed by the attempt before"),
        (970, "END RequestId: r0"),
        (990, "START RequestId: r1 Version: 1"),
        (1000, "printed at once"),
        (3000, "printed late"),
        (3001, ends("r1", 2001.4)),
        (3002, "END RequestId: r1"),
    ]
    with logged(operator, lines):
        _, *shown = operator.once("logs", ID).out.splitlines()
    assert [line.partition(" | ")[2] for line in shown] == ["printed at once", "printed late"]


def test_what_the_next_attempt_printed_is_left_out(operator: Operator) -> None:
    lines = [
        (0, "START RequestId: r1 Version: 1"),
        (1, "printed in time"),
        (2, ends("r1", 2)),
        (2, "END RequestId: r1"),
        (2, "REPORT RequestId: r1"),
        (2, "printed by a thread that nobody waits for"),
        (3, "2026-01-01T00:01:30.000Z r1 Task timed out after 90.00 seconds"),
        (4, "START RequestId: r2 Version: 1"),
        (5, "printed by the next one"),
        (6, "r1 says the next one"),
    ]
    with logged(operator, lines):
        _, *shown = operator.once("logs", ID).out.splitlines()
    assert [line.partition(" | ")[2] for line in shown] == ["printed in time", lines[6][1]]


def test_an_attempt_that_died_without_a_line_is_found_by_the_records_error(operator: Operator) -> None:
    died = "0f5c1d2e-1111-4222-8333-444455556666"
    with operator.cloud.intercept(answers(died)):
        operator.cloud.run({**operator.request(), "onCrash": "quarantine"})
    lines = [
        (0, f"START RequestId: {died} Version: 1"),
        (5, "printed before it died"),
        (9, f"RequestId: {died} Error: Runtime exited with error: signal: killed"),
        (10, f"END RequestId: {died}"),
    ]
    with logged(operator, lines):
        head, *shown = operator.once("logs", ID).out.splitlines()
    assert head.startswith(f"attempt ?  request {died}  ")
    assert [line.partition(" | ")[2] for line in shown] == [lines[1][1], lines[2][1]]


CRASHED = "0f5c1d2e-1111-4222-8333-444455556666"
LATER = [
    (0, f"START RequestId: {CRASHED} Version: 1"),
    (5, "printed before it died"),
    (9, f"RequestId: {CRASHED} Error: Runtime exited with error: exit status 1"),
    (5000, own("second attempt", attempt=2)),
]
"""Of an operation whose first attempt crashed, and whose record has forgotten it."""


def test_crash_of_an_earlier_attempt_in_the_full_lane_is_found_by_the_owners_history(operator: Operator) -> None:
    with operator.cloud.intercept(answers(CRASHED, times=1)):
        operator.cloud.run(operator.request("retry"))
    assert operator.record["status"] == "COMPLETED" and operator.record["attempts"] == 2
    with logged(operator, LATER):
        done = operator.once("logs", ID)
    assert "printed before it died" in done.out and "another id's" not in done.out
    assert "not found" not in done.out


def test_crash_of_an_earlier_attempt_in_the_fast_lane_is_shown_as_a_guess(operator: Operator) -> None:
    with operator.cloud.intercept(answers(CRASHED, times=1)):
        operator.cloud.run(operator.request("retry"), lane="fast")
    began = datetime.datetime.fromtimestamp(time.time() - 3600, datetime.UTC).isoformat()
    operator.change({"acquiredAt": began})
    with logged(operator, LATER):
        done = operator.once("logs", ID)
        told = operator.once("logs", ID, "--json").answer
    assert "printed before it died" in done.out and "may be another id's" in done.out
    assert "1 of its 2 attempts was not found for certain: " in done.out
    assert [each["isCertain"] for each in told["attempts"]] == [False, True] and told["notFound"] == 1


def test_crash_at_another_time_is_no_guess(operator: Operator) -> None:
    with operator.cloud.intercept(answers(CRASHED, times=1)):
        operator.cloud.run(operator.request("retry"), lane="fast")
    began = datetime.datetime.fromtimestamp(time.time() - 3598, datetime.UTC).isoformat()
    operator.change({"acquiredAt": began})
    with logged(operator, LATER):
        done = operator.once("logs", ID)
    assert "printed before it died" not in done.out and "1 of its 2 attempts was not found: " in done.out


PLAIN = [
    (0, f"START RequestId: {CRASHED} Version: 1"),
    (1, "printed by a function without the library"),
    (2, f"END RequestId: {CRASHED}"),
]


def test_attempt_of_a_function_without_the_library_is_found_by_lambdas_answer_in_the_history(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_on_aws(client: Any, execution: str) -> Iterator[dict[str, Any]]:
        for event in events_of(client, execution):
            ended = event.get("taskSucceededEventDetails", {})
            if ended.get("resourceType") == "lambda":
                ended["output"] = json.dumps(
                    {**json.loads(ended["output"]), "SdkResponseMetadata": {"RequestId": CRASHED}}
                )
            yield event

    operator.cloud.run(operator.request())
    monkeypatch.setattr("oncekit.cli.deployed.crashed_attempts.events_of", as_on_aws)
    with logged(operator, PLAIN):
        told = operator.once("logs", ID, "--json").answer
    assert told["notFound"] == 0
    assert [line["text"] for attempt in told["attempts"] for line in attempt["lines"]] == [PLAIN[1][1]]


@pytest.mark.parametrize(
    ("attempts", "told"), [(1, "Its only attempt was not found"), (2, "2 of its 2 attempts were not found")]
)
@pytest.mark.parametrize("columns", [60, 140])
def test_lines_without_an_id_are_not_denied_but_shown_how_to_see(
    operator: Operator, attempts: int, told: str, columns: int
) -> None:
    operator.cloud.run(operator.request())
    operator.change({"attempts": attempts})
    with logged(operator, PLAIN):
        out = operator.once("logs", ID, columns=columns).out
    *sentences, command = out.splitlines()
    text = " ".join(sentences)
    assert f"No line in {GROUP} of the last 24 hours has the id {ID}. {told}: " in text
    assert "whose function does not use the library, logs no id" in text and "Nothing was logged" not in out
    began, ended = (
        int(datetime.datetime.fromisoformat(operator.record[name]).timestamp() * 1000)
        for name in ("acquiredAt", "finishedAt")
    )
    at = f"--start-time {began - 1000} --end-time {ended + 1000}"
    assert command == f"aws logs filter-log-events --log-group-name {GROUP} {at}"
    assert max(map(len, sentences)) <= columns


def answers(request_id: str, times: int = 99) -> Interceptor:
    """A function that ends without an answer so many times, as Lambda tells of it."""
    told_of: list[str] = []

    def invoke(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.action != "invoke" or len(told_of) >= times:
            return proceed()
        told_of.append(request_id)
        told = {"errorType": "Runtime.ExitError", "errorMessage": f"RequestId: {request_id} Error: Runtime exited"}
        body = io.BytesIO(json.dumps(told).encode())
        return {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": body}

    return invoke


class Pages:
    """CloudWatch Logs with one page that is empty before those with lines, as AWS may answer."""

    def get_log_events(self, **asked: Any) -> dict[str, Any]:
        number = int(asked.get("nextToken", 0))
        events = [{"timestamp": number, "message": f"line {number}"}] if number in (1, 2) else []
        return {"events": events, "nextForwardToken": str(min(number + 1, 3))}


def test_lines_are_read_page_by_page_also_behind_an_empty_one() -> None:
    attempt = log_lines.Attempt(1, "r1", "stream", 0, 5)
    found = [each["message"] for each in log_lines._events(Pages(), "group", attempt)]
    assert found == ["line 1", "line 2"]


def test_more_lines_than_are_shown_are_said(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "MOST_LINES", 2)
    lines = [(0, own("begins")), (1, "a"), (2, own("ends"))]
    with logged(operator, lines):
        assert "more than these 2 lines" in operator.once("logs", ID).out
        [attempt] = operator.once("logs", ID, "--json").answer["attempts"]
    assert not attempt["isComplete"] and len(attempt["lines"]) == 2


def test_an_id_that_nobody_knows_is_an_error(operator: Operator) -> None:
    done = operator.once("logs", "default#told#misspelt")
    assert done.code == 2 and "there is no such record" in done.err


def test_each_attempt_has_its_own_lines_and_another_ids_are_left_out(operator: Operator) -> None:
    lines = [
        (0, own("first")),
        (1, own("elsewhere", OTHER, "r2")),  # one stream has the lines of several in `once up`
        (2, own("first ends")),
        (3, own("elsewhere", OTHER, "r2")),
        (4, "printed for the other one"),
        (5, own("second", request="r3", attempt=2)),
        (6, "printed in the second"),
    ]
    with logged(operator, lines):
        answer = operator.once("logs", ID, "--json").answer
    told = [(each["attempt"], [line["text"] for line in each["lines"]]) for each in answer["attempts"]]
    assert told == [(1, [lines[0][1], lines[2][1]]), (2, [lines[5][1], lines[6][1]])]


@pytest.mark.parametrize("id", [ID, 'default#told#a"*\\b', "default#told#50%-é"])
def test_an_id_is_found_whatever_its_key_is(operator: Operator, id: str) -> None:
    with logged(operator, [(0, own("x", id)), (1, own("y", id + "c", "r2"))]):
        [attempt] = operator.once("logs", id, "--json").answer["attempts"]
    assert [json.loads(line["text"])["id"] for line in attempt["lines"]] == [id]


def test_lines_before_the_hours_asked_for_are_not_looked_at(operator: Operator) -> None:
    operator.cloud.run(operator.request())
    with logged(operator, [(-2 * 3600_000, own("old"))]):
        assert f"No line in {GROUP} of the last hour has the id {ID}." in operator.once("logs", ID, "--hours", "1").out
        assert "WARNING old" in operator.once("logs", ID).out


def test_an_operation_without_a_function_or_without_logs_is_said(operator: Operator) -> None:
    operator.cloud.run(operator.request())
    assert f"No line in {GROUP} of the last 24 hours has the id {ID}." in operator.once("logs", ID).out
    done = operator.once("logs", "default#none#k")
    assert done.code == 2 and "the operation none has no function once_op-none" in done.err


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
def test_once_up_tells_apart_what_one_process_printed_for_several_requests(operator: Operator) -> None:
    operator.script({"print": "for k", "return": 7}, {"print": "for another", "return": 8})
    for key in ("k", "other"):
        operator.cloud.run({**operator.request(), "idempotencyKey": key})
    for key, printed in (("k", "for k"), ("other", "for another")):
        [attempt] = operator.once("logs", f"default#told#{key}", "--json").answer["attempts"]
        assert [line["text"] for line in attempt["lines"] if not line["text"].startswith("{")] == [printed]


@pytest.mark.usefixtures("kept")
def test_once_up_shows_what_an_attempt_printed_that_crashed(operator: Operator) -> None:
    operator.script({"print": "before it died", "exit": 3}, {"print": "again", "return": 7})
    operator.cloud.run(operator.request("retry"))
    told = {each["attempt"]: each for each in operator.once("logs", ID, "--json").answer["attempts"]}
    crashed, succeeded = told[None], told[2]
    assert [line["text"].partition(" ")[2] for line in crashed["lines"]] == [
        "it died",
        f"{crashed['requestId']} Error: Runtime exited with error: exit status 3",
    ]
    assert "again" in [line["text"] for line in succeeded["lines"]]


def test_once_up_keeps_what_functions_print(
    operator: Operator, kept: KeptLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oncekit.cli.here.kept_logs.MOST_LINES", 2)
    for message in ("one", "two", "three"):
        kept.put(LogLine("once_op-told", "local/[1]a", own(message)))
    [attempt] = operator.once("logs", ID, "--json").answer["attempts"]
    assert [json.loads(line["text"])["message"] for line in attempt["lines"]] == ["three"], "the log began anew"


def test_a_line_that_cannot_be_kept_stops_nothing(operator: Operator) -> None:
    KeptLogs(operator.cloud).put(LogLine("no-such-function", "local/[1]a", "x"))
