"""The recovery machine: finds what dead owners left, once, and lets the operation machine decide."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from latches import Latches
from scenario import (
    A_LEASE,
    by_recovery,
    cause,
    charge,
    dead,
    dies,
    id_of,
    record_of,
    scripted,
)

from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.service_calls import Call, Interceptor
from oncekit.local.faults import answer_lost, fails, never_arrives

_names = (f"test-recovery-{n}" for n in itertools.count(1))


def in_one_shard(count: int, request: Callable[..., dict[str, Any]] = charge) -> list[str]:
    """So many keys of requests whose records are in the same shard of the index."""
    keys = (f"key-{n}" for n in itertools.count())
    in_shard = (key for key in keys if hashlib.sha256(id_of(request(key=key)).encode()).hexdigest()[0] == "7")
    return list(itertools.islice(in_shard, count))


def test_live_owner_is_left_alone_however_old_its_lease(
    cloud: LocalCloud, latches: Latches, recover: Callable[..., Execution]
) -> None:
    request = scripted({"await": "go", "then": {"return": 1}})
    owner = cloud.start(request)
    latches.wait_for_starts(1)
    cloud.clock.advance(A_LEASE)
    arn = cloud.client("stepfunctions").start_execution(
        stateMachineArn=cloud.outputs["RecoveryStateMachineArn"], name=next(_names), input="{}"
    )["executionArn"]
    swept = cloud.wait(arn)
    assert (swept.output["recovered"], swept.output["left"]) == (0, 1)
    latches.open("go")
    assert cloud.wait(owner).output["attempt"] == 1
    assert "recoveries" not in record_of(cloud, request)


@pytest.mark.parametrize("state", ["EndLease", "StartRecovery"])
@pytest.mark.parametrize("fault", [never_arrives, answer_lost])
def test_recovery_that_gives_up_is_finished_by_the_next(
    cloud: LocalCloud, recover: Callable[..., Execution], state: str, fault: Callable[..., Interceptor]
) -> None:
    owner = dead(cloud, charge(), "ExecuteBusinessLogic")
    with cloud.intercept(fault(state=state, nth=0)):
        gave_up = recover(owner)
    # An answer of StartRecovery that never comes is no failure: asked again, it says that the execution is there.
    assert gave_up.error == (None if (state, fault) == ("StartRecovery", answer_lost) else "RecoveryIncomplete")
    cloud.clock.advance(A_LEASE)
    recover()
    assert record_of(cloud, charge())["status"] == "COMPLETED"
    assert record_of(cloud, charge())["recoveries"] == 1
    assert len(by_recovery(cloud)) == 1


def test_request_that_died_twice_before_it_had_a_record_is_kept_for_the_operator(
    cloud: LocalCloud, recover: Callable[..., Execution]
) -> None:
    with cloud.intercept(dies(cloud, "AcquireLock", only=2)):
        lost = cloud.run(charge())
        recover(lost)
    [again] = by_recovery(cloud)
    recover(again)
    [kept] = cloud.rejected()
    assert (kept["error"], kept["input"], kept["executionArn"]) == ("ExecutionDied", charge(), again.arn)
    assert cloud.record(id_of(charge())) is None


def kept_by_five_sweeps(cloud: LocalCloud, recover: Callable[..., Execution]) -> dict[str, Any]:
    """The one message that there is then: the second execution refused the request, and named itself."""
    for _ in range(5):
        recover()
        cloud.clock.advance(200)
    [kept] = cloud.rejected()
    [again] = by_recovery(cloud)
    assert (kept["executionArn"], again.error) == (again.arn, "InvalidRequest")
    assert kept["inputOmitted"] == "read it from the execution"
    return dict(kept)


def test_a_number_that_no_double_holds_is_refused_once_however_often_recovery_looks(
    cloud: LocalCloud, recover: Callable[..., Execution]
) -> None:
    text = json.dumps(charge()).replace("4200", "1e400")
    unlucky = cloud.run(text)
    assert (unlucky.status, unlucky.states) == ("FAILED", ("ReceiveRequest",))
    recover(unlucky)
    recover(unlucky)
    kept = kept_by_five_sweeps(cloud, recover)
    assert "a number that no double can hold" in kept["message"]


def test_refused_and_failed_requests_are_not_started_again(
    cloud: LocalCloud, recover: Callable[..., Execution], latches: Latches
) -> None:
    ended = [
        cloud.run({"operation": "charge-payment"}),
        cloud.run(scripted({"raise": "PermanentError"})),
        cloud.run(scripted({"raise": "NeedsAttention"})),
    ]
    for each in ended:
        assert recover(each).output == {"recovered": 0, "left": 0, "isComplete": True, "metrics": []}
    recover()
    assert not by_recovery(cloud)


def test_attempts_are_bounded_over_all_owners(
    cloud: LocalCloud, latches: Latches, recover: Callable[..., Execution]
) -> None:
    request = scripted({"return": 1})
    attempts = cloud.deployed_with({"MaxAttempts": "5"})
    with attempts, cloud.intercept(dies(cloud, "ExecuteBusinessLogic", only=99)):
        cloud.run(request)
        recover(cloud.describe(record_of(cloud, request)["owner"]))
        for _ in range(4):  # the first death is recovered at once, later ones when the lease is over
            cloud.clock.advance(A_LEASE)
            recover()
    record = record_of(cloud, request)
    assert (record["status"], record["attempts"]) == ("QUARANTINED", 5)
    assert record["error"]["name"] == "AttemptsUsedUp"


@pytest.mark.usefixtures("latches")
def test_sweep_goes_through_the_pages_of_every_shard(cloud: LocalCloud, recover: Callable[..., Execution]) -> None:
    made = functools.partial(scripted, {"return": "done"})  # recovered all at once, by functions that start quickly
    requests = [made(key=key) for key in [*in_one_shard(25, made), "another", "one more"]]
    with cloud.intercept(dies(cloud, "ExecuteBusinessLogic", only=len(requests))):
        cloud.run_all(requests)
    cloud.clock.advance(A_LEASE)
    swept = recover()
    assert (swept.output["recovered"], swept.output["isComplete"]) == (27, True)
    assert {record_of(cloud, each)["status"] for each in requests} == {"COMPLETED"}
    assert swept.states.count("QueryShards") == 9


def test_sweep_is_bounded_takes_the_oldest_leases_and_says_what_it_left(
    cloud: LocalCloud, recover: Callable[..., Execution]
) -> None:
    shard = in_one_shard(12)
    for key in shard:
        dead(cloud, charge(key=key), "ExecuteBusinessLogic")
        cloud.clock.advance(1)
    cloud.clock.advance(A_LEASE)
    with cloud.deployed_with({"RecoveryRounds": 1}):
        swept = recover()
        assert (swept.output["recovered"], swept.output["isComplete"]) == (3, False)
        done = [key for key in shard if record_of(cloud, charge(key=key))["status"] == "COMPLETED"]
        assert done == shard[:3]
        assert recover().output["recovered"] == 3


def test_one_record_that_cannot_be_recovered_does_not_keep_others_from_it(
    cloud: LocalCloud, recover: Callable[..., Execution]
) -> None:
    owners = [dead(cloud, charge(key=f"key-{n}"), "ExecuteBusinessLogic") for n in range(3)]
    cloud.clock.advance(A_LEASE)

    def unlucky(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == "AskOwner" and call.parameters["executionArn"] == owners[1].arn:
            raise ConnectionError
        return proceed()

    with cloud.intercept(unlucky):
        swept = recover()
    assert swept.error == "RecoveryIncomplete"
    assert cause(swept)["recovered"] == 2
    statuses = [record_of(cloud, charge(key=f"key-{n}"))["status"] for n in range(3)]
    assert statuses == ["COMPLETED", "IN_PROGRESS", "COMPLETED"]


def test_sweep_publishes_what_the_alarms_look_at(
    cloud: LocalCloud, latches: Latches, recover: Callable[..., Execution]
) -> None:
    cloud.run(scripted({"raise": "NeedsAttention"}))
    dead(cloud, charge(), "ExecuteBusinessLogic")
    with cloud.intercept(fails("ThrottlingException", state="StartRecovery", nth=0)):
        cloud.clock.advance(A_LEASE)
        published: list[Call] = []

        def listen(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
            if call.action == "put_metric_data":
                published.append(call)
            return proceed()

        with cloud.intercept(listen):
            recover()
    [call] = published
    assert call.parameters["Namespace"] == "Once"
    values = {each["MetricName"]: each["Value"] for each in call.parameters["MetricData"]}
    assert values == {
        "OpenOperations": 1,
        "OverdueOperations": 1,
        "QuarantinedOperations": 1,
        "RecoveredOperations": 0,
    }
    assert all(m["Dimensions"] == [{"Name": "Stack", "Value": "once"}] for m in call.parameters["MetricData"])


def test_request_that_cannot_get_its_lock_is_kept_as_unavailable(cloud: LocalCloud) -> None:
    with cloud.intercept(fails("InternalServerError", status=500, state="AcquireLock", nth=0)):
        refused = cloud.run(charge())
    assert refused.error == "Unavailable"
    [kept] = cloud.rejected()
    assert (kept["error"], kept["input"]) == ("Unavailable", charge())


def test_largest_request_can_be_recovered(
    cloud: LocalCloud, latches: Latches, recover: Callable[..., Execution]
) -> None:
    # 178,000 bytes, and 219,000 as a string.
    request = scripted({"return": "x", "ignored": ["", "a" * 97_000, '"' * 20_400, "é" * 10_000]})
    owner = dead(cloud, request, "ExecuteBusinessLogic")
    recover(owner)
    assert record_of(cloud, request)["status"] == "COMPLETED"
