"""Operations without an execution: a function that took the lock itself. Commands know them as well as any other."""

from __future__ import annotations

import json
from typing import Any

import pytest
from invoking import A_LEASE, DIRECT, Direct, ask
from logged import logged, own
from operating import Operator

from oncekit.local import LocalCloud

FAILS = {"raise": "Weather", "message": "it rains"}
DIES = {"die": "after"}


@pytest.fixture
def function(cloud: LocalCloud) -> Direct:
    return Direct(cloud)


def shown(operator: Operator) -> dict[str, Any]:
    answer: dict[str, Any] = operator.once("show", DIRECT, "--json").answer
    return answer


def lines(operator: Operator, *arguments: str) -> list[str]:
    return operator.once(*arguments, columns=400).out.splitlines()


def listed(operator: Operator) -> list[tuple[str, str, bool]]:
    found = operator.once("ls", "--json").answer["operations"]
    return [(each["status"], each["lane"], each["overdue"]) for each in found]


def lease_over(operator: Operator) -> None:
    operator.cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]


def test_what_is_done_says_by_which_invocation_and_where_its_log_is(operator: Operator, function: Direct) -> None:
    function.invoke(ask())
    told = shown(operator)
    assert (told["lane"], told["ownerStatus"], told["execution"], told["console"]) == ("direct", "ENDED", None, None)
    assert told["summary"] == "Your function was started once. Its answer is stored: every duplicate gets it."
    text = lines(operator, "show", DIRECT)
    assert f"  owner       ENDED  request {function.request} of {function.name}" in text
    assert (
        "the owner in the direct lane: what its invocation logged: aws logs filter-log-events "
        f"--log-group-name /aws/lambda/{function.name} --filter-pattern '\"{function.request}\"'"
    ) in text


def test_an_owner_that_died_may_run_until_its_lease_is_over(operator: Operator, function: Direct) -> None:
    function.invoke(ask("k", DIES))
    assert listed(operator) == [("IN_PROGRESS", "direct", False)]
    told = shown(operator)
    assert (told["ownerStatus"], told["summary"]) == (
        "MAY_RUN",
        "Your function may have been started once. "
        "If its owner has not ended it when its lease is over, a sweep starts it again.",
    )
    refused = operator.once("release", DIRECT, "--yes")
    assert refused.code == 3 and "in the direct lane, and may run until its lease is over" in refused.err
    assert [operator.once(*given, DIRECT).code for given in (["retry"], ["resolve", "--failed", "no"])] == [3, 3]
    lease_over(operator)
    assert listed(operator) == [("IN_PROGRESS", "direct", True)] and shown(operator)["ownerStatus"] == "LEASE_OVER"


@pytest.mark.parametrize(
    ("act", "before"),
    [
        (DIES, "Its owner before (request {} of {}) ended before it was done: your function may have run."),
        (FAILS, "Your function failed (OSError: it rains): its effect may have happened. The full lane went on with"),
    ],
)
def test_how_recovery_went_on_is_told(operator: Operator, function: Direct, act: Any, before: str) -> None:
    function.invoke(ask("k", act, {}))
    first = before.format(function.request, function.name)
    if act is DIES:
        lease_over(operator)
    operator.sweep()
    told = shown(operator)
    assert (told["lane"], told["ownerStatus"], told["record"]["attempts"]) == ("full", "SUCCEEDED", 2)
    assert told["summary"].startswith(first)
    assert told["summary"].endswith("Your function ran (attempt 2). Its answer is stored: every duplicate gets it.")
    states = [each["state"] for each in told["execution"]["states"]]
    assert "TakeNextFence" in states and states[-1] == "Finalize"


def test_what_a_function_could_not_finish_says_why_and_what_comes_next(operator: Operator, function: Direct) -> None:
    function.invoke(ask("k", FAILS))
    assert shown(operator)["summary"] == (
        "Your function was started once. Your function failed (OSError: it rains): its effect may have happened. "
        "Waits for the next sweep, which has it run."
    )
    [overdue] = [each for each in operator.once("doctor", "--json").answer["checks"] if each["name"] == "overdue"]
    assert "1 open though the lease is over" in overdue["message"]


def test_an_operator_ends_what_is_quarantined_and_duplicates_get_that(operator: Operator, function: Direct) -> None:
    careful = ask("k", FAILS, on_crash="quarantine")
    function.invoke(careful)
    assert listed(operator) == [("QUARANTINED", "direct", False)]
    told = shown(operator)
    assert "Quarantined (OSError: it rains), since onCrash is quarantine: its effect may" in told["summary"]
    assert any(line.startswith(f"  once retry '{DIRECT}'") for line in lines(operator, "show", DIRECT))
    assert operator.once("resolve", DIRECT, "--result", operator.file('{"by": "hand"}')).code == 0
    assert function.invoke(careful)[0]["result"] == {"by": "hand"}


def test_retry_starts_it_in_the_full_lane(operator: Operator, function: Direct) -> None:
    function.invoke(ask("k", FAILS, on_crash="quarantine"))
    operator.execution(operator.once("retry", DIRECT, "--json"))
    operator.cloud.settle()
    assert shown(operator)["lane"] == "full" and "It was started again" in shown(operator)["summary"]


def test_after_a_release_an_event_that_comes_again_is_a_new_request(operator: Operator, function: Direct) -> None:
    asked = ask("k", FAILS, {}, on_crash="quarantine")
    function.invoke(asked)
    assert "an event that is delivered again too, runs it again" in operator.once("release", DIRECT).err
    assert operator.once("release", DIRECT, "--yes").code == 0
    assert function.invoke(asked)[0]["error"][0] == "NeedsAttention"
    assert shown(operator)["record"]["fence"] == 3 and listed(operator) == [("QUARANTINED", "direct", False)]


def test_what_recovery_quarantined_for_a_dead_function_is_told_by_its_record(
    operator: Operator, function: Direct
) -> None:
    function.invoke(ask("k", DIES, on_crash="quarantine"))
    lease_over(operator)
    operator.sweep()
    told = shown(operator)
    assert (told["lane"], told["record"]["status"]) == ("direct", "QUARANTINED")
    assert "may have been started once. Quarantined (OwnerCrashed: " in told["summary"]


def test_a_crash_is_found_in_the_log_by_its_owner_also_after_recovery(operator: Operator, function: Direct) -> None:
    function.invoke(ask("k", DIES, {}))
    request = function.request
    log = [
        (0, f"START RequestId: {request} Version: 1"),
        (1, "printed before it died"),
        (2, own("of another one in the batch", "default#direct#other", request)),
        (3, json.dumps({"disposition": "EXECUTED", "id": "default#direct#o", "function_request_id": request})),
        (4, f"RequestId: {request} Error: Runtime exited with error: signal: killed"),
        (5, f"END RequestId: {request}"),
    ]
    group = f"/aws/lambda/{function.name}"
    with logged(operator, log, group=group):
        found = shown(operator)["attempts"]
    lease_over(operator)
    operator.sweep()
    with logged(operator, log, group=group):
        later = shown(operator)["attempts"]
    for [attempt] in (found, later):
        assert attempt["requestId"] == request
        assert [line["text"] for line in attempt["lines"]] == [log[1][1], log[4][1]]


def test_send_is_not_for_it_and_says_so(operator: Operator) -> None:
    done = operator.once("send", operator.file('{"Records": [{"body": "{}"}]}'))
    assert done.code == 2 and "If it is a function's own event, in the direct lane, its test sends it" in done.err
    assert "The direct lane is not reached so" in " ".join(operator.once("send", "--help").out.split())
