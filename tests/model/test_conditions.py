"""What the definitions' own expressions say, each by itself: which record lets a write through, which error is repeated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from proof.model import CASES, rules_of
from proof.model_machine import NOW, At, Machine
from proof.model_moves import Rules
from proof.model_record import ConditionFailed

ME, THEIRS, OTHER = "arn:me", "arn:theirs", "arn:other"
STATUSES = ("IN_PROGRESS", "COMPLETED", "FAILED", "QUARANTINED")


@pytest.fixture(scope="module")
def rules() -> Iterator[Rules]:
    with rules_of(CASES["recovery"]) as rules:
        yield rules


def record(status: str, owner: str, fence: int, **more: dict[str, Any]) -> dict[str, Any]:
    times = {"leaseExpiresAt": {"N": str(NOW - 5)}} if status in ("IN_PROGRESS", "QUARANTINED") else {}
    return {
        "id": {"S": "default#charge#k"},
        "status": {"S": status},
        "owner": {"S": owner},
        "fence": {"N": str(fence)},
        "attempts": {"N": "1"},
        "onCrash": {"S": "retry"},
        "fingerprint": {"S": "f"},
        **times,
        **more,
    }


REQUEST = {
    "id": "default#charge#k",
    "idHash": "0",
    "shard": "0",
    "tenant": "default",
    "operation": "charge",
    "fingerprint": "f",
    "onCrash": "retry",
    "payload": {},
}
VARIABLES: dict[str, Any] = {
    "request": REQUEST,
    "lock": {"fence": 3, "attempts": 1, "onCrash": "retry", "leaseExpiresAt": NOW},
    "record": record("IN_PROGRESS", THEIRS, 3),
    "answer": {"text": "1", "inline": True},
    "failure": {"name": "E", "message": "m"},
    "about": {"owner": THEIRS, "fence": "3"},
    "ran": True,
    "throttled": False,
    "redriveRefused": False,
    "history": {"succeeded": False},
    "wait": {"deadline": NOW, "seconds": 1},
}
RECOVERY = {"id": "default#charge#k", "sweeps": True, "wasStarted": False, "recoveries": 1}
LOCK = {"record": {"owner": THEIRS, "fence": "3", "recoveries": 0, "lease": NOW - 5, "status": "IN_PROGRESS"}}

# A state, and every lock under which its write goes through: status, owner, fence.
WRITES = {
    "TakeOverLock": {("IN_PROGRESS", THEIRS, 3), ("IN_PROGRESS", ME, 4)},
    "RenewLock": {("IN_PROGRESS", ME, 3), ("IN_PROGRESS", ME, 4)},
    "Finalize": {("IN_PROGRESS", ME, 3), ("COMPLETED", ME, 3)},
    "RecordFailure": {("IN_PROGRESS", ME, 3), ("FAILED", ME, 3)},
    "RecordQuarantine": {("IN_PROGRESS", THEIRS, 3)},
    "EndLease": {("IN_PROGRESS", THEIRS, 3)},
}


def goes_through(rules: Rules, machine: Machine, state: str, variables: dict[str, Any], there: dict[str, Any]) -> bool:
    call = machine.call(state, json.dumps(variables), ME, "{}")
    try:
        rules.setting.table.update(json.dumps(there), call)
    except ConditionFailed:
        return False
    return True


@pytest.mark.parametrize("state", WRITES)
def test_write_goes_through_for_the_lock_that_it_names_and_for_no_other(rules: Rules, state: str) -> None:
    machine = rules.setting.recover if state == "EndLease" else rules.setting.operation
    variables = RECOVERY | LOCK if state == "EndLease" else VARIABLES
    locks = [(status, owner, fence) for status in STATUSES for owner in (ME, THEIRS, OTHER) for fence in range(1, 6)]
    through = {lock for lock in locks if goes_through(rules, machine, state, variables, record(*lock))}
    assert through == WRITES[state]


@pytest.mark.parametrize(("lease", "through"), [(NOW - 5, True), (NOW - 4, False), (NOW + 95, False), (0, False)])
def test_lock_is_taken_over_only_with_the_lease_that_was_read(rules: Rules, lease: int, through: bool) -> None:
    there = record("IN_PROGRESS", THEIRS, 3, leaseExpiresAt={"N": str(lease)})
    assert goes_through(rules, rules.setting.operation, "TakeOverLock", VARIABLES, there) is through


@pytest.mark.parametrize(("expires", "through"), [(NOW - 1, True), (NOW, False), (NOW + 1, False)])
def test_record_is_free_only_after_it_has_expired(rules: Rules, expires: int, through: bool) -> None:
    there = record("COMPLETED", THEIRS, 3, expiresAt={"N": str(expires)})
    assert goes_through(rules, rules.setting.operation, "AcquireLock", VARIABLES, there) is through


@pytest.mark.parametrize(
    "error",
    [
        "Lambda.Unknown",
        "Lambda.ServiceException",
        "Lambda.AWSLambdaException",
        "Lambda.SdkClientException",
        "Sandbox.Timedout",
        "States.Timeout",
        "States.TaskFailed",
        "ConnectionError",
    ],
)
def test_business_logic_that_may_have_started_is_not_called_again(rules: Rules, error: str) -> None:
    assert rules.setting.operation.retries("ExecuteBusinessLogic", error) == 0


@pytest.mark.parametrize("position", ["Finalize", "TakeOverLock", "RenewLock", "RecordFailure", "RecordQuarantine"])
def test_refused_write_is_not_tried_again_and_the_record_is_read(rules: Rules, position: str) -> None:
    error = "DynamoDB.ConditionalCheckFailedException"
    assert rules.setting.operation.retries(position, error) == 0
    after = rules.setting.operation.fail(position, json.dumps(VARIABLES), ME, "{}", error, "")
    assert isinstance(after, At)
    assert after.position == "ReadRecord"


@pytest.mark.parametrize("status", ["RUNNING", "PENDING_REDRIVE", "SOMETHING_NEW"])
def test_owner_counts_as_dead_only_when_it_is_known_to_have_ended(rules: Rules, status: str) -> None:
    after = rules.setting.operation.succeed("CheckOwner", json.dumps(VARIABLES), ME, "{}", json.dumps({"Status": status}))
    assert "ReadOwnerHistory" not in (after.passed if isinstance(after, At) else ())


def test_request_is_kept_before_the_record_says_that_an_operator_is_needed(rules: Rules) -> None:
    machine = rules.setting.operation
    first = machine.fail("ExecuteBusinessLogic", json.dumps(VARIABLES), ME, "{}", "NeedsAttention", "?")
    assert isinstance(first, At)
    assert machine.resource(first.position) == "s3:putObject"
    second = machine.succeed(first.position, first.variables, ME, "{}", "{}")
    assert isinstance(second, At)
    assert machine.resource(second.position) == "dynamodb:updateItem"
