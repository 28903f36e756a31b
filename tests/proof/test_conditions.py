"""What the definitions' own expressions say, each by itself: which record lets a write through, what is repeated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError
from once.lock import Lock
from once.step_log import StepLog

from oncekit.proof.model.exploration import CASES, rules_of
from oncekit.proof.model.machine import NOW, At, End, Machine
from oncekit.proof.model.moves import Rules

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
    "idBytes": 16,
    "idempotencyKey": "k",
    "onConflict": "acknowledge",
    "idHash": "0",
    "shard": "0",
    "tenant": "default",
    "operation": "charge",
    "fingerprint": "f",
    "onCrash": "retry",
    "onFailed": "replay",
    "payload": {},
    "kept": {"as": "request", "not": "requestRef", "value": {"NULL": True}},
}
VARIABLES: dict[str, Any] = {
    "me": ME,
    "stopsAt": 0,
    "backOffSeconds": 4,
    "isKept": False,
    "handedOver": False,
    "failedFence": "",
    "hasTime": True,
    "hasNoFunction": False,
    "request": REQUEST,
    "lock": {"fence": 3, "attempts": 1, "onCrash": "retry", "leaseExpiresAt": NOW},
    "record": record("IN_PROGRESS", THEIRS, 3),
    "answer": {"text": "1", "inline": True},
    "failure": {"name": "E", "message": "m"},
    "about": {"owner": THEIRS, "fence": "3", "lease": str(NOW - 5)},
    "refusal": {"error": "InvalidRequest", "message": "m"},
    "ran": True,
    "throttled": False,
    "redriveRefused": False,
    "history": {"succeeded": False},
    "wait": {"deadline": NOW, "seconds": 1},
}
RECOVERY: dict[str, Any] = {
    "failure": {"name": "E", "message": "m"},
    "id": "default#charge#k",
    "sweeps": True,
    "wasStarted": False,
    "isDamaged": False,
    "isFast": False,
    "recoveries": 1,
}
LOCK = {"record": {"owner": THEIRS, "fence": "3", "recoveries": 0, "lease": NOW - 5, "status": "IN_PROGRESS"}}

# A state, and every lock under which its write goes through: status, owner, fence.
WRITES = {
    "TakeOverLock": {("IN_PROGRESS", THEIRS, 3), ("IN_PROGRESS", ME, 4)},
    "RenewLock": {("IN_PROGRESS", ME, 3), ("IN_PROGRESS", ME, 4)},
    "Finalize": {("IN_PROGRESS", ME, 3), ("COMPLETED", ME, 3)},
    "ReleaseLock": {("IN_PROGRESS", ME, 3), ("IN_PROGRESS", ME, 4)},
    "RecordFailure": {("IN_PROGRESS", ME, 3), ("FAILED", ME, 3)},
    "UndoLock": {("IN_PROGRESS", ME, 3), ("FAILED", ME, 3)},
    "RecordQuarantine": {("IN_PROGRESS", THEIRS, 3)},
    "RetryFailed": {("FAILED", THEIRS, 3), ("IN_PROGRESS", ME, 4)},
    "ClaimRedrive": {("IN_PROGRESS", THEIRS, 3)},
    "EndLease": {("IN_PROGRESS", THEIRS, 3)},
    "QuarantineRecord": {("IN_PROGRESS", THEIRS, 3)},
}
OF_RECOVERY = ("EndLease", "QuarantineRecord")


def goes_through(rules: Rules, machine: Machine, state: str, variables: dict[str, Any], there: dict[str, Any]) -> bool:
    call = machine.call(state, json.dumps(variables), ME, "{}")
    return rules.setting.table.update(json.dumps(there), call) is not None


@pytest.mark.parametrize("state", WRITES)
def test_write_goes_through_for_the_lock_that_it_names_and_for_no_other(rules: Rules, state: str) -> None:
    machine = rules.setting.recover if state in OF_RECOVERY else rules.setting.operation
    variables = RECOVERY | LOCK if state in OF_RECOVERY else VARIABLES
    locks = [(status, owner, fence) for status in STATUSES for owner in (ME, THEIRS, OTHER) for fence in range(1, 6)]
    through = {lock for lock in locks if goes_through(rules, machine, state, variables, record(*lock))}
    assert through == WRITES[state]


@pytest.mark.parametrize("state", ["TakeOverLock", "ClaimRedrive", "RecordQuarantine", "QuarantineRecord"])
@pytest.mark.parametrize(("lease", "through"), [(NOW - 5, True), (NOW - 4, False), (NOW + 95, False), (0, False)])
def test_lock_of_another_is_written_to_only_with_the_lease_that_was_read(
    rules: Rules, state: str, lease: int, through: bool
) -> None:
    there = record("IN_PROGRESS", THEIRS, 3, leaseExpiresAt={"N": str(lease)})
    machine = rules.setting.recover if state in OF_RECOVERY else rules.setting.operation
    variables = RECOVERY | LOCK if state in OF_RECOVERY else VARIABLES
    assert goes_through(rules, machine, state, variables, there) is through


def test_owner_quarantines_its_own_lock_whatever_the_lease(rules: Rules) -> None:
    about = {"about": {"owner": ME, "fence": "3", "lease": str(NOW)}}
    there = record("IN_PROGRESS", ME, 3, leaseExpiresAt={"N": "0"})
    assert goes_through(rules, rules.setting.operation, "RecordQuarantine", VARIABLES | about, there)


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


@pytest.mark.parametrize(
    "position",
    ["Finalize", "TakeOverLock", "RenewLock", "ReleaseLock", "UndoLock", "RecordFailure", "RecordQuarantine"],
)
def test_refused_write_is_not_tried_again_and_the_record_is_read(rules: Rules, position: str) -> None:
    error = "DynamoDB.ConditionalCheckFailedException"
    assert rules.setting.operation.retries(position, error) == 0
    after = rules.setting.operation.fail(position, json.dumps(VARIABLES), ME, "{}", error, "")
    assert isinstance(after, At)
    assert after.position == "ReadRecord"


@pytest.mark.parametrize("status", ["RUNNING", "PENDING_REDRIVE", "SOMETHING_NEW"])
def test_owner_counts_as_dead_only_when_it_is_known_to_have_ended(rules: Rules, status: str) -> None:
    after = rules.setting.operation.succeed(
        "CheckOwner", json.dumps(VARIABLES), ME, "{}", json.dumps({"Status": status})
    )
    assert "ReadOwnerHistory" not in (after.passed if isinstance(after, At) else ())


def test_request_is_kept_before_the_record_says_that_an_operator_is_needed(rules: Rules) -> None:
    machine = rules.setting.operation
    first = machine.fail("ExecuteBusinessLogic", json.dumps(VARIABLES), ME, "{}", "NeedsAttention", "?")
    assert isinstance(first, At)
    assert machine.resource(first.position) == "s3:putObject"
    second = machine.succeed(first.position, first.variables, ME, "{}", "{}")
    assert isinstance(second, At)
    assert machine.resource(second.position) == "dynamodb:updateItem"


def test_new_life_of_an_id_begins_with_nothing_of_the_last_one(rules: Rules) -> None:
    left = {
        "recoveries": {"N": "2"},
        "steps": {"M": {}},
        "result": {"S": "1"},
        "error": {"M": {}},
        "requestRef": {"M": {}},
        "mayStartAgain": {"BOOL": True},
    }
    old = record("COMPLETED", THEIRS, 3, expiresAt={"N": str(NOW - 1)}, finishedAt={"S": "then"}, **left)
    call = rules.setting.operation.call("AcquireLock", json.dumps(VARIABLES), ME, "{}")
    new = json.loads(rules.setting.table.update(json.dumps(old), call))
    assert set(new) == set(record("IN_PROGRESS", ME, 4)) | {"acquiredAt", "openShard", "request"}
    assert (new["fence"], new["attempts"]) == ({"N": "4"}, {"N": "1"})


@pytest.mark.parametrize("state", ["AcquireLock", "TakeOverLock", "RenewLock", "RetryFailed"])
def test_acquisition_has_a_lease_of_its_own(rules: Rules, state: str) -> None:
    owner = ME if state == "RenewLock" else THEIRS
    status = {"AcquireLock": "COMPLETED", "RetryFailed": "FAILED"}.get(state, "IN_PROGRESS")
    over = {"expiresAt": {"N": str(NOW - 1)}} if state == "AcquireLock" else {}
    call = rules.setting.operation.call(state, json.dumps(VARIABLES), ME, "{}")
    new = json.loads(rules.setting.table.update(json.dumps(record(status, owner, 3, **over)), call))
    assert int(new["leaseExpiresAt"]["N"]) > NOW
    assert (new["status"], new["owner"], new["fence"]) == ({"S": "IN_PROGRESS"}, {"S": ME}, {"N": "4"})


@pytest.mark.parametrize("error", ["Sfn.ThrottlingException", "Sfn.SdkClientException", "States.Timeout"])
def test_redrive_that_may_have_been_heard_is_not_taken_for_a_refusal(rules: Rules, error: str) -> None:
    after = rules.setting.operation.fail("RedriveOwner", json.dumps(VARIABLES), ME, "{}", error, "")
    assert isinstance(after, End)
    assert after.state == "AcknowledgeDuplicate"


def test_redrive_takes_less_time_than_the_lease_that_claims_it(rules: Rules) -> None:
    """The model relies on it: no lease ends while a claimed redrive is on its way."""
    state = rules.setting.operation.states["RedriveOwner"]
    [retrier] = [each for each in state["Retry"] if each["ErrorEquals"] == ["States.ALL"]]
    waits = [min(2**number, retrier["MaxDelaySeconds"]) for number in range(retrier["MaxAttempts"])]
    claim = json.loads(rules.setting.operation.call("ClaimRedrive", json.dumps(VARIABLES), ME, "{}"))
    lease = int(claim["ExpressionAttributeValues"][":lease"]["N"]) - NOW
    assert state["TimeoutSeconds"] * (retrier["MaxAttempts"] + 1) + sum(waits) < lease


@pytest.mark.parametrize(("lease", "left"), [(NOW - 1, False), (NOW, True), (NOW + 1, True)])
def test_sweep_leaves_a_lease_alone_that_is_not_over(rules: Rules, lease: int, left: bool) -> None:
    there = record("IN_PROGRESS", THEIRS, 3, leaseExpiresAt={"N": str(lease)})
    after = rules.setting.recover.succeed("ReadOpenRecord", json.dumps(RECOVERY), ME, "{}", json.dumps({"Item": there}))
    assert (after.state == "LeftAlone" if isinstance(after, End) else False) is left


def step(there: dict[str, Any], answers: list[str]) -> list[dict[str, Any]]:
    """The transactions that a step sends when the record is this and its sends are answered like that."""
    sent: list[dict[str, Any]] = []

    class Client:
        def get_item(self, **_: Any) -> dict[str, Any]:
            return {"Item": there}

        def transact_write_items(self, **parameters: Any) -> None:
            sent.append(parameters)
            if answers.pop(0) == "lost":
                raise ConnectionClosedError(endpoint_url="dynamodb")

    lock = Lock("IdempotencyTable", "default#charge#k", ME, 3, NOW)
    log = StepLog(lock, Client(), pause=lambda _: None)  # type: ignore[arg-type]  # a client of two methods
    log.run("pay", lambda step: step.put("ledger", {"id": "1"}), "pay")
    return sent


DONE = {"M": {"meaning": {"S": "pay"}, "result": {"S": "null"}}}


@pytest.mark.parametrize("before", [None, {"M": {"other": DONE}}], ids=["first step", "second step"])
def test_step_goes_through_for_the_lock_that_it_names_and_once(rules: Rules, before: dict[str, Any] | None) -> None:
    steps = {} if before is None else {"steps": before}
    [sent] = step(record("IN_PROGRESS", ME, 3, **steps), ["done"])
    note = json.dumps(next(each["Update"] for each in sent["TransactItems"] if "Update" in each))

    def goes(there: dict[str, Any]) -> bool:
        return rules.setting.table.update(json.dumps(there), note) is not None

    locks = [(status, owner, fence) for status in STATUSES for owner in (ME, THEIRS, OTHER) for fence in range(1, 6)]
    assert [lock for lock in locks if goes(record(*lock, **steps))] == [("IN_PROGRESS", ME, 3)]
    done = {"M": {**(before or {"M": {}})["M"], "pay": DONE}}
    assert not goes(record("IN_PROGRESS", ME, 3, steps=done))


def test_lost_answer_of_a_step_is_resolved_by_what_the_record_says() -> None:
    assert len(step(record("IN_PROGRESS", ME, 3), ["lost", "lost", "done"])) == 3


def test_recovery_passes_the_owners_request_on_as_it_was_written(rules: Rules) -> None:
    machine, about = rules.setting.recover, '"operation" :"charge","idempotencyKey": "\\u006b"'
    written = f'{{ {about}, "payload": {{"n": 12345678901234567890, "b":1.50}}, "a":"\\u00e9" }}'
    known = RECOVERY | LOCK | {"recoveries": 0}
    described = json.dumps({"Status": "ABORTED", "Input": written})
    after = machine.succeed("AskOwner", json.dumps(known), ME, "{}", described)
    assert isinstance(after, At)
    started = machine.succeed(after.position, after.variables, ME, "{}", "{}")
    assert isinstance(started, At)
    assert json.loads(machine.call(started.position, started.variables, ME, "{}"))["Input"] == written


def test_stored_text_is_the_answer_as_it_is(rules: Rules) -> None:
    stored, expires = '{ "n": 1.10, "large": 12345678901234567890 }', {"N": str(NOW + 1)}
    there = record("COMPLETED", THEIRS, 3, result={"S": stored}, expiresAt=expires)
    read = json.dumps({"Item": there})
    after = rules.setting.operation.succeed("ReadRecord", json.dumps(VARIABLES), ME, "{}", read)
    assert isinstance(after, End)
    assert (after.state, after.output["result"]) == ("ReturnStoredResponse", stored)


@pytest.mark.parametrize(("number", "state"), [(0.5, "Finalize"), (0.1234567890123456789, "CacheResponse")])
def test_plain_result_is_kept_as_text_only_where_that_is_exact(rules: Rules, number: float, state: str) -> None:
    answered = json.dumps({"Payload": {"n": number}})
    after = rules.setting.operation.succeed("ExecuteBusinessLogic", json.dumps(VARIABLES), ME, "{}", answered)
    assert isinstance(after, At)
    assert after.position == state
