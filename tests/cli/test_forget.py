"""`once release --forget`: nothing of a request is left in the table and in the bucket, and no promise is broken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from operating import ID, Operator

from oncekit.local.engine.interceptors import before

FORGET = ("release", ID, "--forget", "--yes")
SECRETS = ("jane-doe", "answer-for-jane", "step-of-jane", "told-jane-no", "other-jane")
"""In the payload, the answer, the result of a step, the message of an error, and a request of another payload."""
SIZES = pytest.mark.parametrize("size", [1, 9000], ids=["small", "large"])
LANES = pytest.mark.parametrize("lane", ["full", "fast"])


def sent(operator: Operator, size: int = 1, lane: Any = "full", **more: Any) -> Any:
    """How a request about a person ended."""
    request = operator.request() | {"payload": {"name": "jane-doe" * size}} | more
    return operator.cloud.run(request, lane=lane)


def kept(operator: Operator) -> str:
    """All that is in the table and in the bucket, keys included."""
    bucket, s3 = operator.outputs["ResponseBucketName"], operator.client("s3")
    objects = s3.list_objects_v2(Bucket=bucket).get("Contents", [])
    bodies = [s3.get_object(Bucket=bucket, Key=each["Key"])["Body"].read().decode() for each in objects]
    items = operator.client("dynamodb").scan(TableName=operator.outputs["TableName"])["Items"]
    return json.dumps([[each["Key"] for each in objects], bodies, items])


def found(operator: Operator) -> list[str]:
    there = kept(operator)
    return [each for each in SECRETS if each in there]


def starts_afresh(operator: Operator, fence: int) -> None:
    operator.script({"return": 2})
    again = operator.cloud.run(operator.request() | {"payload": {"another": True}})
    assert again.output is not None and again.output["disposition"] == "EXECUTED"
    assert operator.record["fence"] == fence + 1


@pytest.mark.parametrize(("size", "lane"), [(1, "full"), (9000, "fast")])
def test_nothing_is_left_of_a_completed_request_and_the_next_one_starts_afresh(
    operator: Operator, size: int, lane: str
) -> None:
    operator.script({"return": "answer-for-jane" * size})
    sent(operator, size, lane)
    sent(operator, payload={"name": "other-jane"})
    before = operator.record
    assert found(operator) == [*SECRETS[size == 1 : 2], "other-jane"], "a small request goes with its lock"
    told = operator.once(*FORGET, "--json").answer
    assert found(operator) == [] and before["fingerprint"] not in kept(operator)
    assert [len(each) for each in told["removed"].values()] == [size // 9000, size // 9000, 1]
    assert operator.record["fence"] == told["fence"] > before["fence"]
    starts_afresh(operator, told["fence"])


@SIZES
def test_nothing_is_left_of_a_quarantined_request(operator: Operator, size: int) -> None:
    operator.script({"step": "step-of-jane", "raise": "NeedsAttention"})
    sent(operator, size)
    assert operator.record["status"] == "QUARANTINED" and found(operator) == ["jane-doe", "step-of-jane"]
    told = operator.once(*FORGET, "--json").answer
    assert found(operator) == [] and operator.once("ls", "--json").answer["operations"] == []
    starts_afresh(operator, told["fence"])


@pytest.mark.parametrize("command", [["resolve", "--failed", "told-jane-no"], ["release", "--yes"]])
def test_nothing_is_left_of_a_failed_or_released_request(operator: Operator, command: list[str]) -> None:
    operator.script({"step": "step-of-jane", "raise": "NeedsAttention"})
    sent(operator, 9000)
    assert operator.once(command[0], ID, *command[1:]).code == 0
    assert found(operator)
    told = operator.once(*FORGET, "--json").answer
    assert found(operator) == []
    starts_afresh(operator, told["fence"])


def test_objects_go_though_the_record_is_gone_and_then_nothing_is_kept(operator: Operator) -> None:
    operator.script({"return": "answer-for-jane" * 9000})
    sent(operator, 9000)
    [old] = [each for each in json.loads(kept(operator))[0] if each.startswith("responses/")]
    operator.put_object(f"responses/7d/{old.partition('/')[2].partition('/')[2]}", b"answer-for-jane")
    operator.client("dynamodb").delete_item(TableName=operator.outputs["TableName"], Key={"id": {"S": ID}})
    operator.cloud.clock.advance(4 * 86400)  # type: ignore[attr-defined]  # as TTL, which deletes late
    told = operator.once(*FORGET, "--json").answer
    assert (told["fence"], len(told["removed"]["responses"]), found(operator)) == (None, 2, [])
    done = operator.once(*FORGET)
    assert done.code == 2 and "nothing is kept under this id" in done.err


def test_what_belongs_to_another_id_stays(operator: Operator) -> None:
    operator.script({"return": "answer-for-jane" * 9000})
    for other in ({"idempotencyKey": "k2"}, {"tenant": "acme"}):
        sent(operator, 9000, **other)
    operator.refuse_requests("k2")
    before = kept(operator)
    sent(operator, 9000)
    assert operator.once(*FORGET).code == 0
    operator.client("dynamodb").delete_item(TableName=operator.outputs["TableName"], Key={"id": {"S": ID}})
    assert kept(operator) == before


def test_it_counts_refused_requests_that_do_not_say_whose_they_are(operator: Operator) -> None:
    sent(operator)
    operator.keep_refused("x", "Unavailable")
    done = operator.once(*FORGET)
    assert done.code == 0 and "do not say whose they are, there are 1: `once ls --rejected`" in done.out


def test_it_asks_and_takes_one_id(operator: Operator) -> None:
    sent(operator)
    before = operator.record
    refused = operator.once("release", ID, "--forget")
    assert refused.code == 2 and "a late duplicate too" in refused.err and "--yes" in refused.err
    for wrong in (["--forget"], [ID, "--forget", "--rejected"], [ID, "--forget", "--error", "InvalidRequest"]):
        assert operator.once("release", *wrong, "--yes").code == 2
    assert operator.record == before


# ---- others at work ----


@LANES
def test_a_request_whose_owner_may_be_alive_is_not_forgotten(operator: Operator, lane: Any) -> None:
    with operator.holding("Finalize") as reached:
        operator.cloud.start(operator.request(), lane=lane)
        assert reached.wait(20)
        before = operator.record
        done = operator.once(*FORGET)
        assert done.code == 3 and "not forgotten: its owner is " in done.err
        assert operator.record == before


def test_a_request_whose_owner_has_ended_is_forgotten(operator: Operator) -> None:
    operator.script({"return": 7}, {"return": "nobody asked for it"})
    operator.died_in("Finalize")
    told = operator.once(*FORGET, "--json").answer
    operator.lease_over()
    operator.sweep()
    assert operator.starts == 1 and operator.record["fence"] == told["fence"]


def test_an_owner_that_comes_late_finishes_nothing(operator: Operator) -> None:
    operator.script({"return": "answer-for-jane"})
    with operator.holding("Finalize") as reached:
        operator.cloud.start(operator.request(), lane="fast")
        assert reached.wait(20)
        operator.lease_over()
        assert operator.once(*FORGET).code == 0
        forgotten = operator.record
    assert operator.record == forgotten and found(operator) == []


def test_a_large_answer_that_comes_late_is_an_object_that_the_same_command_deletes(operator: Operator) -> None:
    operator.script({"return": "answer-for-jane" * 9000})
    with operator.holding("ExecuteBusinessLogic") as reached:
        operator.cloud.start(operator.request(), lane="fast")
        assert reached.wait(20)
        operator.lease_over()
        assert "repeat this afterwards" in operator.once(*FORGET).out
        forgotten = operator.record
    assert operator.record == forgotten and found(operator) == ["answer-for-jane"]
    assert operator.once(*FORGET).code == 0 and found(operator) == []


@pytest.mark.parametrize("asks", [{}, {"onFailed": "retry"}])
def test_a_request_that_comes_meanwhile_keeps_no_object_that_could_be_deleted(
    operator: Operator, asks: dict[str, str]
) -> None:
    sent(operator, 9000)
    ends: list[Any] = []

    def come() -> None:
        operator.cloud.clock.advance(1)  # type: ignore[attr-defined]
        ends.append(sent(operator, 9000, **asks))

    operator.before("DeleteObject", come)
    assert operator.once(*FORGET).code == 0
    assert ends[0].error == "OperationFailed" and "ReleasedByOperator" in ends[0].cause and operator.starts == 1
    assert found(operator) == []


def test_an_object_of_a_request_that_may_be_about_to_take_the_lock_stays(operator: Operator) -> None:
    """Its lock would refer to nothing, and if it died, nobody could go on."""
    done: list[Any] = []
    # The first call of a large request only looks.
    coming = before(lambda: done.append(operator.once(*FORGET)), state="AcquireLock", nth=2)
    with operator.cloud.intercept(coming):
        assert sent(operator, 9000).output["disposition"] == "EXECUTED"
    assert done[0].code == 3 and "may be about to take the lock" in done[0].err
    assert operator.once(*FORGET).code == 0 and found(operator) == []


def test_a_record_that_changes_before_the_write_is_left_alone(operator: Operator) -> None:
    operator.script({"return": "answer-for-jane" * 9000})
    sent(operator, 9000)
    before, there = operator.record, found(operator)
    operator.before("UpdateItem", lambda: operator.change({"fence": 9}))
    assert operator.once(*FORGET).code == 3
    assert operator.record == {**before, "fence": 9} and found(operator) == there


def test_a_write_that_is_repeated_knows_itself(operator: Operator) -> None:
    sent(operator)
    with operator.every_write_sent_twice():
        assert operator.once(*FORGET).code == 0


def test_who_may_not_delete_is_told_so_and_another_goes_on(operator: Operator) -> None:
    sent(operator, 9000)
    operator.before("DeleteObject", _denied)
    done = operator.once(*FORGET)
    assert done.code == 2 and "AccessDenied" in done.err and found(operator) == ["jane-doe"]
    assert operator.record["expiresAt"] < operator.cloud.clock.now(), "requests are not kept out"
    assert operator.once(*FORGET).code == 0 and found(operator) == []


def _denied() -> None:
    raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "DeleteObject")
