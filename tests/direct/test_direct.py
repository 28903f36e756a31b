"""The lock in the user's own function, on the record that the machines write."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from invariants import invariants_hold
from invoking import A_LEASE, DIRECT, Direct, ask
from tickets import end_by_ticket

from oncekit.contract.items import plain_item
from oncekit.local import LocalCloud
from oncekit.local.client_errors import client_error
from oncekit.local.endpoint.own_services import Answer, Proceed, Request, Service

Invoke = Callable[..., Any]
Recover = Callable[[], None]


@pytest.fixture(autouse=True)
def invariants(cloud: LocalCloud) -> Iterator[None]:
    """The promises, held against every write and against what is left."""
    with invariants_hold(cloud):
        yield


@pytest.fixture
def invoke(cloud: LocalCloud) -> Invoke:
    """Sends the function an event of its own, with these requests; what it made of them."""
    return Direct(cloud).invoke


@pytest.fixture
def recover(cloud: LocalCloud) -> Recover:
    """A sweep, and what it started."""
    names = (f"sweep-{number}" for number in itertools.count())

    def sweep() -> None:
        machine = cloud.outputs["RecoveryStateMachineArn"]
        started = cloud.client("stepfunctions").start_execution(stateMachineArn=machine, name=next(names), input="{}")
        cloud.wait(started["executionArn"])
        there = cloud.client("stepfunctions").list_executions(stateMachineArn=cloud.outputs["StateMachineArn"])
        for each in there["executions"]:
            cloud.wait(each["executionArn"])

    return sweep


def record(cloud: LocalCloud) -> dict[str, Any]:
    return cloud.record(DIRECT) or {}


def sold(cloud: LocalCloud, key: str = "k") -> int:
    key_of = {"sku": {"S": key}}
    found = cloud.client("dynamodb").get_item(TableName=cloud.resources["StockTable"], Key=key_of)
    return int(found["Item"]["sold"]["N"]) if "Item" in found else 0


def test_a_duplicate_gets_the_answer_and_each_lane_knows_it(cloud: LocalCloud, invoke: Invoke) -> None:
    [first, second] = invoke(ask(), ask())
    assert (first["disposition"], second["disposition"]) == ("EXECUTED", "REPLAYED")
    assert first["result"] == second["result"]
    request = {"operation": "direct", "idempotencyKey": "k", "payload": ask()["payload"]}
    for lane in ("full", "fast"):
        end = cloud.run(request, lane=lane)
        assert (end.output["disposition"], json.loads(end.output["result"])) == ("REPLAYED", first["result"])
    assert [each["refused"] for each in invoke(ask() | {"payload": {}})] == ["PayloadMismatch"]
    assert sold(cloud) == 1


def test_what_a_machine_has_done_the_function_gives_back(cloud: LocalCloud, invoke: Invoke) -> None:
    end = cloud.run({"operation": "direct", "idempotencyKey": "k", "payload": ask()["payload"]})
    [again] = invoke(ask())
    assert (again["disposition"], again["result"]) == ("REPLAYED", json.loads(end.output["result"]))


@pytest.mark.parametrize("act", [{"die": "before"}, {"die": "after"}, {"raise": "Weather"}])
def test_what_a_function_leaves_is_finished_in_the_full_lane(
    cloud: LocalCloud, invoke: Invoke, act: dict[str, Any], recover: Recover
) -> None:
    told = invoke(ask("k", act, {}))
    if "die" in act:
        assert "died" in told
        cloud.clock.advance(A_LEASE)
    else:
        assert (told[0]["disposition"], told[0]["http"]["statusCode"]) == ("IN_PROGRESS", 202)
    recover()
    there = record(cloud)
    assert (there["status"], there["attempts"], there["fence"], sold(cloud)) == ("COMPLETED", 2, 2, 1)
    assert invoke(ask("k", act, {}))[0]["disposition"] == "REPLAYED"


def test_a_lease_is_over_a_minute_after_its_function(cloud: LocalCloud, invoke: Invoke) -> None:
    """Its clock, and that of whoever looks at the lease, may differ by so much."""
    invoke(ask("k", {"die": "before"}))
    left = record(cloud)["leaseExpiresAt"] - cloud.clock.now()
    assert left == pytest.approx(int(cloud.parameters["BusinessTimeoutSeconds"]) + 60, abs=3)


def test_a_failure_for_good_is_every_duplicates_answer(cloud: LocalCloud, invoke: Invoke) -> None:
    asked = ask("k", {"raise": "PermanentError", "message": "no money"})
    for told, disposition in zip(invoke(asked, asked), ("EXECUTED", "REPLAYED"), strict=True):
        assert (told["disposition"], told["error"]) == (disposition, ["PermanentError", "no money"])
        assert told["http"]["statusCode"] == 422


@pytest.mark.parametrize(("error", "more"), [("Weather", {"on_crash": "quarantine"}), ("NeedsAttention", {})])
def test_a_careful_request_is_for_the_operator(
    cloud: LocalCloud, invoke: Invoke, recover: Recover, error: str, more: dict[str, str]
) -> None:
    [told] = invoke(ask("k", {"raise": error}, **more))
    assert (told["error"][0], told["http"]["statusCode"], record(cloud)["status"]) == (
        "NeedsAttention",
        500,
        "QUARANTINED",
    )
    invoke(ask("dies", {"die": "after"}, on_crash="quarantine"))
    cloud.clock.advance(A_LEASE)
    recover()
    assert sold(cloud, "dies") == 1 and invoke(ask("dies", {"die": "after"}))[0]["error"][0] == "NeedsAttention"


def test_a_failure_is_tried_again_for_who_asks(cloud: LocalCloud, invoke: Invoke) -> None:
    asked = ask("k", {"raise": "PermanentError"})
    invoke(asked)
    cloud.clock.advance(5)
    [told] = invoke(asked | {"on_failed": "retry"})
    assert (told["disposition"], record(cloud)["fence"], sold(cloud)) == ("EXECUTED", 2, 1)


def test_large_requests_and_answers_are_kept_in_the_bucket(cloud: LocalCloud, invoke: Invoke, recover: Recover) -> None:
    big = ask("k", {"raise": "Weather"}, {"size": 9000})
    big["payload"]["text"] = "ü" * 5000
    assert invoke(big)[0]["disposition"] == "IN_PROGRESS"
    kept = record(cloud)["requestRef"]
    cloud.run({"operation": "direct", "idempotencyKey": "k", "payload": big["payload"]}, lane="fast")
    assert record(cloud)["requestRef"] == kept
    recover()
    [told] = invoke(big)
    assert (told["disposition"], len(told["result"]["text"])) == ("REPLAYED", 9000)
    [own] = invoke(ask("other", {"size": 9000}))
    assert (own["disposition"], len(own["result"]["text"])) == ("EXECUTED", 9000)


def test_the_largest_request_outside_ascii_is_recovered(cloud: LocalCloud, invoke: Invoke, recover: Recover) -> None:
    """An execution takes no more bytes than it has, and its letters' escapes would be more."""
    big = ask("k", {"raise": "Weather"}, {})
    big["payload"]["text"] = "ü" * 44_000
    invoke(big)
    recover()
    assert invoke(big)[0]["disposition"] == "REPLAYED"


@pytest.mark.parametrize("text", ["ü", "ü" * 5000], ids=["small", "large"])
def test_a_request_is_kept_as_a_machine_keeps_it(cloud: LocalCloud, invoke: Invoke, text: str) -> None:
    asked = ask("k", {"pending": 60})
    asked["payload"] |= {"text": text, "half": 0.5}
    invoke(asked)
    cloud.run({"operation": "direct", "idempotencyKey": "m", "payload": asked["payload"]})
    texts = {kept(cloud, key).replace(f'"idempotencyKey":"{key}"', "") for key in "km"}
    assert len(texts) == 1, texts


def kept(cloud: LocalCloud, key: str) -> str:
    """The request in the record, or in the object that this names."""
    table, id = cloud.resources["IdempotencyTable"], {"id": {"S": f"default#direct#{key}"}}
    there = plain_item(cloud.client("dynamodb").get_item(TableName=table, Key=id)["Item"])
    if "request" in there:
        return str(there["request"])
    ref = there["requestRef"]
    text: bytes = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
    return text.decode()


def test_work_elsewhere_is_ended_by_its_ticket(cloud: LocalCloud, invoke: Invoke) -> None:
    asked = ask("k", {"pending": 3600})
    assert invoke(asked)[0]["disposition"] == "IN_PROGRESS" and "pendingSince" in record(cloud)
    assert record(cloud)["leaseExpiresAt"] == pytest.approx(cloud.clock.now() + 3600, abs=2)
    assert end_by_ticket(cloud, DIRECT, "by hand") and invoke(asked)[0]["result"] == "by hand"


def test_twenty_at_once_have_one_effect(cloud: LocalCloud, invoke: Invoke) -> None:
    with ThreadPoolExecutor(20) as pool:
        told = [each[0]["disposition"] for each in pool.map(lambda _: invoke(ask("k", wait=5)), range(20))]
    assert (told.count("EXECUTED"), set(told), sold(cloud)) == (1, {"EXECUTED", "REPLAYED"}, 1)


@contextmanager
def before_writes(cloud: LocalCloud, having: str, act: Callable[[], None]) -> Iterator[None]:
    """Does something before each write to a table whose expression has this in it."""

    def front(behind: Service) -> Service:
        def answer(request: Request, proceed: Proceed) -> Answer:
            if having in request.asked.parameters.get("UpdateExpression", ""):
                act()
            return behind(request, proceed)

        return answer

    with cloud.services.behind("dynamodb", front):
        yield


def test_the_end_is_written_when_the_table_is_back(cloud: LocalCloud, invoke: Invoke) -> None:
    left = [1, 2, 3]

    def away() -> None:
        if left and left.pop():
            raise client_error("AccessDeniedException", "not now", "UpdateItem")

    with before_writes(cloud, "finishedAt = :at, expiresAt", away):
        [told] = invoke(ask())
    assert (told["disposition"], record(cloud)["status"], sold(cloud), left) == ("EXECUTED", "COMPLETED", 1, [])


HASTY = """
from types import SimpleNamespace

from once import Refused, operation


@operation()
def hasty(request):
    return "done"


@hasty.entry(needs=10)
def asks(event, context):
    try:
        return hasty.once({}, key="k").http()
    except Refused as refused:
        return refused.http()


def handler(event, context):
    left = iter(event["left"])
    more = SimpleNamespace(function_name="hasty", aws_request_id="r-1")
    more.get_remaining_time_in_millis = lambda: next(left, event["left"][-1]) * 1000
    return asks(event, more)
"""


@pytest.fixture
def hasty(cloud: LocalCloud, tmp_path: Path) -> Callable[..., Any]:
    """Asks after so many seconds are left: at the beginning, and later."""
    (tmp_path / "app.py").write_text(HASTY)
    place = {"ONCE_TABLE": cloud.resources["IdempotencyTable"], "ONCE_BUCKET": cloud.resources["ResponseBucket"]}
    cloud.add_function("hasty", tmp_path, environment={**place, "ONCE_RETENTION_DAYS": "30"})
    name = cloud.operations.function_of("hasty")
    assert name is not None

    def send(*left: int) -> Any:
        answer = cloud.client("lambda").invoke(FunctionName=name.name, Payload=json.dumps({"left": left}).encode())
        return json.loads(answer["Payload"].read())

    return send


def refusals(cloud: LocalCloud) -> list[str]:
    """What the log says of them."""
    lines = [json.loads(each) for each in cloud.logs("hasty") if each.startswith("{")]
    return [f"{each['level']} {each['id']} {each['message']}" for each in lines if "error_name" not in each]


def test_a_function_that_never_has_the_time_it_needs_fails_at_once(hasty: Callable[..., Any]) -> None:
    told = hasty(5)
    assert told["errorType"] == "RuntimeError"
    assert "needs=10" in told["errorMessage"] and "began with 5 seconds" in told["errorMessage"]


def test_what_begins_too_late_is_told_why_and_logged(cloud: LocalCloud, hasty: Callable[..., Any]) -> None:
    answer = hasty(30, 9)
    why = "less than 10 seconds are left of this invocation"
    assert (answer["statusCode"], json.loads(answer["body"]).get("detail")) == (503, why)
    assert refusals(cloud) == [f"WARNING default#hasty#k Unavailable: {why}"]
    assert hasty(30, 11)["statusCode"] == 200


def test_what_aws_says_is_for_the_log_alone(cloud: LocalCloud, hasty: Callable[..., Any]) -> None:
    def away(behind: Service) -> Service:
        def answer(request: Request, proceed: Proceed) -> Answer:
            raise client_error("AccessDeniedException", "role r has no GetItem on t", "GetItem")

        return answer

    with cloud.services.behind("dynamodb", away):
        answer = hasty(30)
    assert (answer["statusCode"], "detail" in json.loads(answer["body"])) == (503, False)
    [told] = refusals(cloud)
    assert told.startswith("WARNING default#hasty#k Unavailable: ") and "role r has no GetItem on t" in told
