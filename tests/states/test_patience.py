"""How patient each state is: how long one try may take, what is tried again, how often and after which waits.

The waits are the longest ones, before jitter: a wait is drawn between nothing and them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from one_state import NOW, State, states_of

CONDITION = "DynamoDB.ConditionalCheckFailedException"
GONE = "Sfn.ExecutionDoesNotExistException"
EXISTS = "Sfn.ExecutionAlreadyExistsException"
STARTED = "StepFunctions.ExecutionAlreadyExistsException"
MISSING = "S3.NoSuchKeyException"
NOT_REDRIVABLE = "Sfn.ExecutionNotRedrivableException"
FINAL = (CONDITION, GONE, EXISTS, STARTED, MISSING, NOT_REDRIVABLE)
PASSING = ("States.Timeout", "DynamoDB.ThrottlingException", "Sfn.ServiceUnavailableException", "SomethingNew")


@dataclass(frozen=True)
class Patience:
    """Seconds that one try may take, the errors that are final at once, and the waits before further tries."""

    seconds: int
    final: tuple[str, ...]
    tries: int
    cap: int

    def waits(self) -> list[float]:
        return [min(2.0**number, self.cap) for number in range(self.tries)]


OWN = Patience(10, (CONDITION,), tries=10, cap=20)
"""A write or a read within an execution: about two and a half minutes, then somebody else finds what is left."""
DECISION = Patience(10, (CONDITION,), tries=300, cap=60)
"""What was decided must be written down, whatever it takes: five hours."""
LOOK = Patience(10, (GONE,), tries=4, cap=10)
"""A question about another owner: whoever cannot be asked counts as alive, and the next duplicate asks again."""
SWEEP = Patience(10, (), tries=3, cap=5)
"""A look at one execution or record: a sweep has five minutes, and the next one comes."""

PATIENCE = {
    "AcquireLock": OWN,
    "CacheResponse": Patience(35, (), tries=300, cap=60),
    "Finalize": DECISION,
    "ReadRecord": Patience(10, (), tries=10, cap=20),
    "RetryFailed": OWN,
    "CheckOwner": LOOK,
    "ReadOwnerHistory": LOOK,
    "ClaimRedrive": OWN,
    "RedriveOwner": Patience(10, (NOT_REDRIVABLE, GONE), tries=3, cap=10),
    "TakeOverLock": OWN,
    "KeepInFlight": Patience(10, (), tries=2, cap=5),
    "ReleaseLock": Patience(10, (CONDITION,), tries=3, cap=5),
    "KeepRefused": Patience(20, (), tries=300, cap=60),
    "UndoLock": DECISION,
    "HandOver": Patience(10, (STARTED,), tries=3, cap=5),
    "RefuseInFullLane": Patience(10, (STARTED,), tries=3, cap=5),
    "RenewLock": OWN,
    "RecordFailure": DECISION,
    "KeepRequest": Patience(20, (), tries=300, cap=60),
    "RecordQuarantine": DECISION,
    "RefuseRequest": Patience(20, (), tries=300, cap=60),
    "ListExecutions": Patience(20, (), tries=4, cap=10),
    "DescribeDeadExecution": Patience(10, (GONE,), tries=3, cap=5),
    "ReadItsEnd": Patience(10, (GONE,), tries=3, cap=5),
    "ReadItsRecord": Patience(10, (), tries=3, cap=5),
    "ReadItsHistory": Patience(10, (GONE,), tries=3, cap=5),
    "StartAgain": Patience(10, (EXISTS,), tries=3, cap=5),
    "KeepDeadRequest": Patience(10, (), tries=3, cap=5),
    "ReadKeptRequest": Patience(10, (MISSING,), tries=3, cap=5),
    "ReadOpenRecord": Patience(10, (), tries=3, cap=5),
    "AskOwner": Patience(10, (GONE,), tries=3, cap=5),
    "ReadOwnerEnd": Patience(10, (GONE,), tries=3, cap=5),
    "EndLease": Patience(10, (CONDITION,), tries=3, cap=5),
    "StartRecovery": Patience(10, (EXISTS,), tries=3, cap=5),
    "QuarantineRecord": Patience(10, (CONDITION,), tries=3, cap=5),
    "QueryShard": Patience(20, (), tries=6, cap=10),
    "CountShard": Patience(20, (), tries=6, cap=10),
    "PublishMetrics": Patience(20, (), tries=6, cap=10),
}
FAST = {
    **PATIENCE,
    **dict.fromkeys(("AcquireLock", "RetryFailed", "RenewLock"), Patience(3, (CONDITION,), tries=4, cap=20)),
    "ReadRecord": Patience(3, (), tries=4, cap=20),
    "RefuseRequest": Patience(20, (), tries=3, cap=60),
    "KeepRefused": Patience(20, (), tries=3, cap=60),
    "UndoLock": Patience(10, (CONDITION,), tries=3, cap=60),
}


def test_every_call_has_its_patience(definitions: dict[str, dict[str, Any]]) -> None:
    tasks = {name for each in definitions.values() for name, raw in states_of(each) if raw["Type"] == "Task"}
    assert tasks == {*PATIENCE, "ExecuteBusinessLogic"}


@pytest.mark.parametrize("name", PATIENCE)
def test_one_try_of_a_call_takes_no_longer_than_this(name: str, state: Callable[..., State]) -> None:
    assert state(name).raw["TimeoutSeconds"] == PATIENCE[name].seconds


@pytest.mark.parametrize("name", PATIENCE)
def test_a_passing_error_is_waited_out_with_waits_that_double_up_to_a_cap(
    name: str, state: Callable[..., State]
) -> None:
    for error in PASSING:
        assert state(name).waits(error) == PATIENCE[name].waits(), error


def test_calls_of_the_fast_lane_are_as_patient_unless_the_execution_would_end_before_them(
    fast: Callable[..., State], definitions: dict[str, dict[str, Any]]
) -> None:
    names = {name for name, raw in states_of(definitions["fast"]) if raw["Type"] == "Task"} - {"ExecuteBusinessLogic"}
    for name in names:
        patience, raw = FAST[name], fast(name)
        assert raw.raw["TimeoutSeconds"] == patience.seconds, name
        assert [raw.waits(error) for error in PASSING] == [patience.waits()] * len(PASSING), name
        assert {error for error in FINAL if not raw.waits(error)} == set(patience.final), name


def test_a_history_that_cannot_be_parsed_is_not_asked_for_again(state: Callable[..., State]) -> None:
    broken = "States.QueryEvaluationError"
    assert state("DescribeDeadExecution").waits(broken) == []
    assert state("AskOwner").waits(broken) == state("ReadKeptRequest").waits(broken) == []


@pytest.mark.parametrize("name", PATIENCE)
def test_what_cannot_change_by_asking_again_is_not_asked_again(name: str, state: Callable[..., State]) -> None:
    final = {error for error in FINAL if not state(name).waits(error)}
    assert final == set(PATIENCE[name].final)


def test_no_two_executions_wait_in_step(definitions: dict[str, dict[str, Any]]) -> None:
    for definition in definitions.values():
        for name, raw in states_of(definition):
            for retrier in raw.get("Retry", ()):
                assert retrier.get("MaxAttempts") == 0 or retrier["JitterStrategy"] == "FULL", name


def test_business_logic_is_not_called_again_under_the_same_fence(state: Callable[..., State]) -> None:
    """Not even when it was throttled: a function can call its own error so, and a Retry does not see the cause."""
    assert "Retry" not in state("ExecuteBusinessLogic").raw


def test_business_logic_gets_five_seconds_beyond_its_own_timeout_to_be_heard(state: Callable[..., State]) -> None:
    assert state("ExecuteBusinessLogic").value("TimeoutSeconds", {}) == 35


def test_an_execution_of_the_full_lane_ends_after_a_day_and_any_other_within_five_minutes(
    definitions: dict[str, dict[str, Any]],
) -> None:
    seconds = {name: definition["TimeoutSeconds"] for name, definition in definitions.items()}
    assert seconds == {"operation": 86400, "fast": 295, "recovery": 290}


@pytest.mark.parametrize(("falls", "longest"), [(0.0, [0] * 8), (0.999999, [2, 4, 8, 16, 32, 60, 60, 60])])
def test_back_off_doubles_up_to_its_cap_and_is_drawn_between_nothing_and_that(
    falls: float, longest: list[int], state: Callable[..., State]
) -> None:
    back_off = state("BackOff", falls=falls)
    assert [back_off.value("Seconds", {"backOffs": number}) for number in range(8)] == longest
    assert back_off.takes(None, {"backOffs": 3}).assigned == {"backOffs": 4}


def test_back_off_after_very_many_attempts_is_still_a_number(
    definitions: dict[str, dict[str, Any]], state: Callable[..., State]
) -> None:
    raw = state("BackOff").raw["Seconds"].replace("'60'", "'3600'")
    uncapped = State("BackOff", {"Seconds": raw}, falls=0.999999)
    assert [uncapped.value("Seconds", {"backOffs": number}) for number in (10, 11, 5000)] == [2048, 3600, 3600]


def test_a_duplicate_that_waits_looks_at_growing_intervals_and_once_more_on_its_deadline(
    state: Callable[..., State],
) -> None:
    wait = state("WaitForOwner")

    def seconds(interval: int, left: int) -> int:
        found: int = wait.value("Seconds", {"wait": {"deadline": NOW + left, "seconds": interval}})
        return found

    assert [seconds(interval, 100) for interval in (1, 2, 20)] == [1, 2, 20]
    assert [seconds(20, left) for left in (20, 7, 1, 0, -5)] == [20, 7, 1, 1, 1]
    intervals = [1]
    for _ in range(6):
        variables = {"wait": {"deadline": NOW, "seconds": intervals[-1]}}
        after = wait.takes(None, variables)
        assert (after.to, after.assigned["wait"]["deadline"]) == ("IsWaitOver", NOW)
        intervals.append(after.assigned["wait"]["seconds"])
    assert intervals == [1, 2, 4, 8, 16, 20, 20]


@pytest.mark.parametrize(("deadline", "to"), [(-1, "OperationInProgress"), (0, "ReadRecord"), (1, "ReadRecord")])
def test_a_wait_is_over_when_its_deadline_is(deadline: int, to: str, state: Callable[..., State]) -> None:
    assert state("IsWaitOver").chooses({"wait": {"deadline": NOW + deadline, "seconds": 1}}).to == to


def test_half_a_minute_passes_before_a_refused_redrive_is_believed(state: Callable[..., State]) -> None:
    news = state("WaitForNews")
    assert (news.raw["Seconds"], news.takes(None, {}).to) == (30, "CheckOwner")


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("ListDeadExecutions", 3),
        ("LookAtDeadExecutions", 4),
        ("RecoverRecords", 4),
        ("QueryShards", 4),
        ("CountOperations", 8),
    ],
)
def test_recovery_does_so_many_things_at_a_time(name: str, most: int, state: Callable[..., State]) -> None:
    assert state(name).raw["MaxConcurrency"] == most
