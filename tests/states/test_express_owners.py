"""An owner in the fast lane, seen from the full lane and from recovery: nobody can ask it, but its lease is enough."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from one_state import FAST_ME, NOW, THEIRS, State, Way
from test_decisions import ABOUT, REQUEST, alive, decided, found
from test_patience import MISSING
from test_recovery import ID, INPUT, RECOVERS, UNREADABLE, WHOLE, is_fast

States = Callable[..., State]

MINE = {**ABOUT, "owner": FAST_ME}
IN_A_RECORD = {"status": "IN_PROGRESS", "lease": NOW - 1, "recoveries": 0}
LOOKALIKES = [
    FAST_ME.replace(":express:", ":execution:"),
    FAST_ME.replace(":express:", ":expressx:"),
    FAST_ME.replace("123456789012", "999999999999"),
    FAST_ME.replace("us-east-1", "us-east-2"),
    FAST_ME + "x" * 400,
    f"x:{FAST_ME}",
    "express",
    ":express:",
    "a:b:c:d:e:express:f",
]


def left(**more: Any) -> dict[str, Any]:
    return found(owner=FAST_ME) | more


# ---- the full lane ----


def test_an_owner_in_the_fast_lane_is_dead_when_its_lease_is_over_and_not_before(state: States) -> None:
    known = {"ended": True, "succeeded": False, "decided": False, "neverStarted": False}
    way = decided(state, left())
    assert way == Way("IsOwnerAlive", {"ownerStatus": "LEASE_OVER", "history": known})
    for conflict, to in (("acknowledge", "AcknowledgeDuplicate"), ("reject", "OperationInProgress")):
        assert decided(state, found(owner=FAST_ME, leaseExpiresAt=str(NOW)), onConflict=conflict) == Way(to)
    assert decided(state, found("COMPLETED", FAST_ME)).to == "ReturnStoredResponse"
    assert decided(state, found("FAILED", FAST_ME)).to == "OperationFailed"


@pytest.mark.parametrize("owner", LOOKALIKES)
def test_what_only_looks_like_an_owner_in_the_fast_lane_is_for_the_operator(owner: str, state: States) -> None:
    way = decided(state, found(owner=owner))
    assert (way.to, way.assigned["failure"]["name"]) == ("KeepRequest", "ForeignOwner")
    assert not is_fast(state, owner)
    known = {"record": {**IN_A_RECORD, "owner": owner}, "isFast": False, "sweeps": True}
    way = state("IsItOverdue").chooses(known)
    assert (way.to, way.assigned["failure"]["name"]) == ("QuarantineRecord", "ForeignOwner")


@pytest.mark.parametrize(("length", "is_one"), [(400, True), (401, False)])
def test_an_owner_in_the_fast_lane_has_at_most_400_characters(length: int, is_one: bool, state: States) -> None:
    owner = FAST_ME + "x" * (length - len(FAST_ME))
    assert (decided(state, found(owner=owner)).to == "IsOwnerAlive") is is_one
    assert is_fast(state, owner) is is_one


def test_its_recoveries_are_counted_and_its_history_is_not_read(state: States) -> None:
    assert alive(state, "LEASE_OVER").to == alive(state, "LEASE_OVER", recoveries=5).to == "HowFarDidOwnerGet"
    way = alive(state, "LEASE_OVER", recoveries=6)
    assert (way.to, way.assigned["failure"]["name"]) == ("KeepRequest", "RecoveriesUsedUp")


def after_it(state: States, record: dict[str, Any]) -> Way:
    assigned = decided(state, record).assigned
    return state("HowFarDidOwnerGet").chooses(
        {**assigned, "record": record, "redriveRefused": False, "request": REQUEST}
    )


def test_what_it_did_is_not_known_so_its_policy_decides(state: States) -> None:
    assert after_it(state, left()) == Way("TakeOverLock")
    way = after_it(state, left(onCrash={"S": "quarantine"}))
    assert (way.to, way.assigned["about"]) == ("KeepRequest", MINE)
    assert way.assigned["failure"]["name"] == "OwnerCrashed"


def test_a_lock_that_was_released_may_be_started_again_whatever_the_policy(state: States) -> None:
    released = left(onCrash={"S": "quarantine"}, mayStartAgain={"BOOL": True}, leaseExpiresAt={"N": "0"})
    assert after_it(state, released) == Way("TakeOverLock")
    way = after_it(state, {name: value for name, value in released.items() if name != "mayStartAgain"})
    assert (way.to, way.assigned["failure"]["name"]) == ("KeepRequest", "OwnerCrashed")


@pytest.mark.parametrize(("attempts", "to"), [("4", "TakeOverLock"), ("5", "KeepRequest")])
def test_its_attempts_count(attempts: str, to: str, state: States) -> None:
    for record in (left(attempts={"N": attempts}), left(attempts={"N": attempts}, mayStartAgain={"BOOL": True})):
        assert after_it(state, record).to == to


# ---- recovery ----


def test_recovery_takes_the_request_from_the_record_or_says_where_it_is(state: States) -> None:
    read = state("ReadOpenRecord")
    item = {"status": {"S": "IN_PROGRESS"}, "owner": {"S": FAST_ME}, "fence": {"N": "3"}}
    known = {"status": "IN_PROGRESS", "owner": FAST_ME, "fence": "3", "recoveries": 0}
    for text in (INPUT, f"[{INPUT}]", f'{{"body": {INPUT}}}', f'[{{"body": {INPUT}}}]'):
        owner = {"status": "LEASE_OVER", "input": text, "id": ID}
        way = read.takes({"Item": {**item, "request": {"S": text}}}, WHOLE)
        assert way == Way("IsItOverdue", {"record": known, "isFast": True, "owner": owner})
        damaged = read.takes({"Item": {**item, "request": {"S": text}}}, {"isDamaged": True})
        assert damaged == Way("IsItOverdue", {"record": known, "isFast": True, "owner": UNREADABLE})
    default = read.takes({"Item": {**item, "request": {"S": INPUT.replace("tenant", "onFailed")}}}, WHOLE)
    assert default.assigned["owner"]["id"] == "default#charge#k"
    reference = {"M": {"bucket": {"S": "b"}, "key": {"S": "inflight/x.json"}}}
    way = read.takes({"Item": {**item, "requestRef": reference}}, WHOLE)
    in_the_bucket = {**known, "requestKey": "inflight/x.json"}
    assert way.assigned == {"record": in_the_bucket, "isFast": True, "owner": UNREADABLE}
    assert read.takes({"Item": {**item, "request": {"NULL": True}}}, WHOLE).assigned["owner"] == UNREADABLE
    for text in ("7", "[]", '"x"', "null"):
        way = read.takes({"Item": {**item, "request": {"S": text}}}, WHOLE)
        assert way.assigned["owner"]["id"] == "default##", "which no record has"


def test_a_request_that_is_no_json_is_for_the_operator(state: States) -> None:
    read, asks = state("ReadOpenRecord"), state("IsRequestDamaged")
    broken = "States.QueryEvaluationError"
    assert (read.fails(broken, WHOLE), read.waits(broken)) == (Way("IsRequestDamaged"), [])
    assert asks.chooses({"isDamaged": False}) == Way("ReadOpenRecord", {"isDamaged": True})
    assert asks.chooses({"isDamaged": True}) == Way("CouldNotRecover"), "something else in it is damaged"
    assert state("TakeCandidate").takes(None, {}, {"id": ID}).assigned["isDamaged"] is False


TENANT = ID.partition("#")[0]
HASH = hashlib.sha256(ID.encode()).hexdigest()
IN_FLIGHT = f"inflight/{TENANT}/{HASH}/0123456789abcdef.json"


def overdue(state: States, sweeps: bool, lease: int, recoveries: int = 0, **more: str) -> str:
    record = {"status": "IN_PROGRESS", "lease": lease, "recoveries": recoveries, "owner": FAST_ME, **more}
    return state("IsItOverdue").chooses({"record": record, "id": ID, "isFast": True, "sweeps": sweeps}).to


@pytest.mark.parametrize("sweeps", [True, False])
def test_recovery_leaves_it_alone_until_its_lease_is_over_and_asks_nobody_then(sweeps: bool, state: States) -> None:
    for key, to in (({}, "IsOwnerDead"), ({"requestKey": IN_FLIGHT}, "ReadKeptRequest")):
        found = [overdue(state, sweeps, NOW + late, **key) for late in (-1, 0, 1)]
        assert found == [to, "LeftAlone", "LeftAlone"]
        assert overdue(state, sweeps, 0, recoveries=2, **key) == to


@pytest.mark.parametrize(
    "key",
    [
        "",
        "responses/x.json",
        IN_FLIGHT.replace("inflight/", "requests/"),
        IN_FLIGHT.replace(f"/{TENANT}/", "/other/"),
        IN_FLIGHT.replace(HASH, HASH[::-1]),
        f"{IN_FLIGHT}x",
        f"x{IN_FLIGHT}",
        IN_FLIGHT.replace(".json", "0.json"),
        IN_FLIGHT.replace(f"{HASH}/", f"{HASH}/../"),
        IN_FLIGHT + "x" * 1100,
    ],
)
def test_a_request_is_read_only_where_the_fast_lane_keeps_those_of_its_id(key: str, state: States) -> None:
    """S3 would refuse another key for ever; so its operation is for the operator."""
    assert overdue(state, True, NOW - 1, requestKey=key) == "IsOwnerDead"


def test_an_owner_in_the_full_lane_is_asked_whatever_is_in_its_record(state: States) -> None:
    assert not is_fast(state, THEIRS)
    record = {**IN_A_RECORD, "owner": THEIRS, "requestKey": IN_FLIGHT}
    known = {"record": record, "id": ID, "isFast": False, "sweeps": True}
    assert state("IsItOverdue").chooses(known) == Way("AskOwner")


def test_a_request_in_the_bucket_is_read_from_there(state: States, definitions: dict[str, Any]) -> None:
    read = state("ReadKeptRequest")
    bucket = definitions["fast"]["States"]["KeepInFlight"]["Arguments"]["Bucket"]
    assert read.asks({"record": {"requestKey": "inflight/x.json"}}) == {"Bucket": bucket, "Key": "inflight/x.json"}
    for text in (INPUT, f"[{INPUT}]", f'{{"body": {INPUT}}}', f'[{{"body": {INPUT}}}]'):
        owner = {"status": "LEASE_OVER", "input": text, "id": ID}
        assert read.takes({"Body": text}, {}) == Way("IsOwnerDead", {"owner": owner})
    default = read.takes({"Body": INPUT.replace("tenant", "onFailed")}, {})
    assert default.assigned["owner"]["id"] == "default#charge#k"
    for text in ("7", "[]", '"x"', "null"):
        assert read.takes({"Body": text}, {}).assigned["owner"]["id"] == "default##"


def test_a_request_that_is_gone_from_the_bucket_is_for_the_operator(state: States) -> None:
    read = state("ReadKeptRequest")
    for error in (MISSING, "States.DataLimitExceeded", "States.QueryEvaluationError"):
        assert read.fails(error, {}) == Way("IsOwnerDead", {"owner": UNREADABLE})
    for error in ("States.Runtime", "States.Timeout", "SomethingNew"):
        assert read.fails(error, {}) == Way("CouldNotRecover")
    assert "ReadKeptRequest" not in RECOVERS


def is_dead(state: States, owner: dict[str, Any], **more: Any) -> Way:
    record = {"recoveries": 0, "lease": NOW - 1, "owner": FAST_ME, "fence": "3", **more}
    return state("IsOwnerDead").chooses({"id": ID, "owner": owner, "record": record, "wasStarted": False})


def test_its_request_is_started_in_the_full_lane_once_for_each_lease(state: States) -> None:
    owner = {"status": "LEASE_OVER", "input": INPUT, "id": ID}
    assert is_dead(state, owner) == Way("EndLease", {"recoveries": 1})
    assert is_dead(state, owner, recoveries=2, lease=0) == Way("StartRecovery", {"recoveries": 2})
    way = is_dead(state, {**owner, "id": "acme#charge#other"})
    assert (way.to, way.assigned["failure"]["name"]) == ("QuarantineRecord", "ForeignOwner")
    assert way.assigned["failure"]["message"].endswith(f"has another request: {FAST_ME}")
    way = is_dead(state, UNREADABLE)
    assert (way.to, way.assigned["failure"]["name"]) == ("QuarantineRecord", "RequestUnreadable")
    assert is_dead(state, owner, recoveries=7).to == "QuarantineRecord"
