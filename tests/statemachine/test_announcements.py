"""Each end is announced on the bus, from every lane, by a ticket and by an operator, and nothing else is."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jmespath
import pytest
from invoking import Direct, ask
from latches import Latches
from published import deployed
from scenario import LANES, charge, id_of, operators, released, scripted
from template_parts import TEMPLATE, written_with
from tickets import end_by_ticket

from oncekit.contract.lanes import Lane
from oncekit.local import LocalCloud
from oncekit.local.endpoint.own_services import Answer, Proceed, Request
from oncekit.local.engine.interceptors import answer_lost
from oncekit.local.events import Delivery, Fate
from oncekit.local.events.mappings import filters_of
from oncekit.local.events.patterns import matches
from oncekit.local.permissions.needs import Need
from oncekit.local.permissions.policies import permissions_of
from oncekit.stack import decisions
from oncekit.stack.records import read

RULE, QUEUE = "ends", "heard"
PAGE = (TEMPLATE.parent / "docs" / "announcements.md").read_text()


@pytest.fixture(scope="module")
def announcing(shared_cloud: LocalCloud) -> Iterator[LocalCloud]:
    with shared_cloud.deployed_with({"Announcements": "default"}):
        yield shared_cloud


class Bus:
    """What a consumer of the bus hears: each event as EventBridge delivers it."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        self._sqs = cloud.client("sqs")

    def heard(self) -> list[dict[str, Any]]:
        self._cloud.settle()
        found = self._sqs.receive_message(QueueUrl=QUEUE, MaxNumberOfMessages=10).get("Messages", [])
        for each in found:
            self._sqs.delete_message(QueueUrl=QUEUE, ReceiptHandle=each["ReceiptHandle"])
        return [json.loads(each["Body"]) for each in found]


@contextmanager
def listening(cloud: LocalCloud, bus: str = "default") -> Iterator[Bus]:
    events, sqs = cloud.client("events"), cloud.client("sqs")
    url = sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name=RULE, EventBusName=bus, EventPattern=json.dumps({"source": ["once"]}))
    events.put_targets(Rule=RULE, EventBusName=bus, Targets=[{"Id": "heard", "Arn": arn}])
    yield Bus(cloud)
    events.remove_targets(Rule=RULE, EventBusName=bus, Ids=["heard"])
    events.delete_rule(Name=RULE, EventBusName=bus)
    sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def bus(announcing: LocalCloud, cloud: LocalCloud) -> Iterator[Bus]:
    with listening(cloud) as heard, cloud.delivering():
        yield heard


def test_the_end_of_an_operation_arrives_on_the_bus(cloud: LocalCloud, bus: Bus) -> None:
    cloud.run(charge())
    [event] = bus.heard()
    record = cloud.record(id_of(charge()))
    assert record is not None
    assert (event["source"], event["detail-type"]) == ("once", "Operation Completed")
    text = f"acme#charge-payment#order-1#{record['acquiredAt']}#1#COMPLETED"
    assert event["detail"] == {
        "key": hashlib.sha256(text.encode()).hexdigest(),
        "table": cloud.outputs["TableName"],
        "id": "acme#charge-payment#order-1",
        "tenant": "acme",
        "operation": "charge-payment",
        "idempotencyKey": "order-1",
        "status": "COMPLETED",
        "acquiredAt": record["acquiredAt"],
        "fence": 1,
    }
    assert event["time"] == record["finishedAt"][:19] + "Z"


def told(events: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(each["detail-type"], each["detail"]["fence"]) for each in events]


@LANES
def test_every_end_of_each_lane_is_announced(cloud: LocalCloud, bus: Bus, latches: Latches, lane: Lane) -> None:
    ends = {
        "Operation Completed": scripted({"return": 1}),
        "Operation Failed": scripted({"raise": "PermanentError", "message": "her card is no good"}),
        "Operation Quarantined": scripted({"raise": "NeedsAttention", "message": "ask her"}),
    }
    for request in ends.values():
        cloud.wait(cloud.start(request, lane=lane))
    heard = bus.heard()
    assert {each["detail-type"]: each["detail"]["id"] for each in heard} == {kind: id_of(r) for kind, r in ends.items()}
    errors = {each["detail-type"]: each["detail"].get("error") for each in heard}
    assert errors == {
        "Operation Completed": None,
        "Operation Failed": "PermanentError",
        "Operation Quarantined": "NeedsAttention",
    }
    assert "her" not in json.dumps([each["detail"] for each in heard])


def test_the_end_of_the_direct_lane_is_announced(cloud: LocalCloud, bus: Bus) -> None:
    Direct(cloud).invoke(ask())
    assert told(bus.heard()) == [("Operation Completed", 1)]


def test_an_end_by_a_ticket_is_announced(cloud: LocalCloud, bus: Bus, latches: Latches) -> None:
    request = scripted({"pending": 3600})
    cloud.run(request)
    assert bus.heard() == []
    end_by_ticket(cloud, id_of(request), {"done": True})
    assert told(bus.heard()) == [("Operation Completed", 2)]


def test_what_an_operator_decides_is_announced_and_what_he_releases_or_forgets_is_not(
    cloud: LocalCloud, bus: Bus, latches: Latches
) -> None:
    resolved, let_go = scripted({"raise": "NeedsAttention"}), scripted({"raise": "NeedsAttention"})
    for request in (resolved, let_go):
        cloud.run(request)
    assert told(bus.heard()) == [("Operation Quarantined", 1)] * 2
    decisions.resolve(operators(cloud), id_of(resolved), '{"by": "hand"}', None)
    released(cloud, let_go)
    [event] = bus.heard()
    assert (event["detail"]["id"], event["detail-type"]) == (id_of(resolved), "Operation Completed")
    stack = operators(cloud)
    decisions.let_go(stack, decisions.hold(stack, read(stack, id_of(resolved))))
    assert bus.heard() == []


def test_each_end_of_one_id_has_a_key_of_its_own_and_they_are_in_order_by_time_and_fence(
    cloud: LocalCloud, bus: Bus, latches: Latches
) -> None:
    request = scripted({"raise": "PermanentError"}, {"return": 1}, onFailed="retry")
    for _ in range(2):
        cloud.run(request)
        cloud.clock.advance(1)  # type: ignore[attr-defined]  # the clock of tests is virtual
    details = [each["detail"] for each in bus.heard()]
    assert len({each["key"] for each in details}) == len(details) == 2
    assert details == sorted(details, key=lambda each: (each["acquiredAt"], each["fence"]))


def test_an_end_that_is_written_again_is_announced_once(cloud: LocalCloud, bus: Bus) -> None:
    """Its owner, whose answer was lost, says it once more, a little later."""
    with cloud.intercept(answer_lost(state="Finalize")):
        cloud.run(charge())
    assert len(bus.heard()) == 1


def test_a_record_that_dynamodb_deletes_is_not_announced(cloud: LocalCloud, bus: Bus) -> None:
    cloud.run(charge())
    assert len(bus.heard()) == 1
    key = {"id": {"S": id_of(charge())}}
    cloud.client("dynamodb").delete_item(TableName=cloud.outputs["TableName"], Key=key)
    assert bus.heard() == []


@pytest.mark.parametrize("key", ['a", "status": "FAILED', "<$.id>", "back\\slash", "ключ 😀", "k" * 256])
def test_whatever_is_in_a_key_the_event_says_that_and_no_more(cloud: LocalCloud, bus: Bus, key: str) -> None:
    cloud.run(charge(key))
    [event] = bus.heard()
    assert event["detail"]["idempotencyKey"] == key
    assert event["detail"]["status"] == "COMPLETED"
    assert len(event["detail"]["key"]) == 64, "a key of another operation has 256 characters at most"


@contextmanager
def refusing(cloud: LocalCloud, which: Callable[[str], bool] = lambda _: True) -> Iterator[None]:
    """The bus refuses what it gets of some ids, as it says for each entry."""

    def answer(request: Request, proceed: Proceed) -> Answer:
        if request.target == "PutEvents":
            entries = json.loads(request.body)["Entries"]
            if any(which(json.loads(each["Detail"])["id"]) for each in entries):
                no = {"ErrorCode": "InternalFailure", "ErrorMessage": "not now"}
                told = {"FailedEntryCount": len(entries), "Entries": [no for _ in entries]}
                return 200, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(told).encode()
        return proceed()

    cloud.services.named["events"] = answer
    try:
        yield
    finally:
        del cloud.services.named["events"]


def of_the_stream(*delays: float) -> Fate:
    return lambda delivery: delays if delivery.kind == "mapping" else no_sweeps(delivery)


@pytest.mark.parametrize("delays", [(), (90.0,), (0.0, 0.0), (60.0, 60.0)])
def test_what_is_lost_late_or_there_twice_is_announced_under_the_same_key(
    cloud: LocalCloud, bus: Bus, delays: tuple[float, ...]
) -> None:
    with cloud.lose_events(of_the_stream(*delays)):
        cloud.run(charge())
        heard = bus.heard()
    cloud.clock.advance(60)  # type: ignore[attr-defined]
    heard += bus.heard()
    assert len(heard) == max(1, len(delays))
    assert len({json.dumps(each["detail"], sort_keys=True) for each in heard}) == 1


def test_what_the_bus_refuses_comes_again_and_nothing_after_it_is_lost(cloud: LocalCloud, bus: Bus) -> None:
    with refusing(cloud, lambda id: id.endswith("order-2")):
        for number in (1, 2, 3):
            cloud.run(charge(f"order-{number}"))
        cloud.settle()
    heard = bus.heard()
    assert "order-2" not in {each["detail"]["idempotencyKey"] for each in heard}
    cloud.clock.advance(60)  # type: ignore[attr-defined]
    heard += bus.heard()
    assert {each["detail"]["idempotencyKey"] for each in heard} == {"order-1", "order-2", "order-3"}


@pytest.mark.parametrize("wrong", [{"finishedAt": {"S": "yesterday"}}, {"fence": None}, {"acquiredAt": {"N": "1"}}])
def test_a_record_of_another_tool_that_is_none_holds_no_other_end_back(
    cloud: LocalCloud, bus: Bus, wrong: dict[str, Any]
) -> None:
    """As Lambda hands a batch of the stream over: whatever is reported as failed comes again, and all behind it."""
    batch = [ended("order-1"), ended("foreign", **wrong), ended("order-2")]
    name = cloud.outputs["AnnounceEndFunctionName"]
    answer = cloud.client("lambda").invoke(FunctionName=name, Payload=json.dumps({"Records": batch}).encode())
    assert json.loads(answer["Payload"].read()) == {"batchItemFailures": []}
    assert {each["detail"]["idempotencyKey"] for each in bus.heard()} == {"order-1", "order-2"}


RELEASED = {"M": {"name": {"S": "ReleasedByOperator"}}}


@pytest.mark.parametrize(
    ("error", "is_heard"),
    [(None, True), ({"M": {"message": {"S": "no"}}}, True), ({"M": {"name": {"S": "No"}}}, True), (RELEASED, False)],
)
def test_a_failure_without_a_name_of_its_error_is_announced_too(
    cloud: LocalCloud, bus: Bus, error: dict[str, Any] | None, is_heard: bool
) -> None:
    record = ended("k", status={"S": "FAILED"}, error=error)
    record["dynamodb"]["OldImage"] = {"status": {"S": "IN_PROGRESS"}}
    _, resources = written_with(TEMPLATE.parent / "announcements/template.yaml", Announcements="default")
    filters = [json.loads(each) for each in filters_of(resources["EndMapping"]["Properties"])]
    assert any(matches(each, record) for each in filters) is is_heard
    name = cloud.outputs["AnnounceEndFunctionName"]
    cloud.client("lambda").invoke(FunctionName=name, Payload=json.dumps({"Records": [record]}).encode())
    assert [each["detail"]["status"] for each in bus.heard()] == ["FAILED"]


def ended(key: str, **more: dict[str, Any] | None) -> dict[str, Any]:
    """The change of a record to its end, as a stream has it."""
    at = {"acquiredAt": {"S": "2026-01-01T00:00:00.000Z"}, "finishedAt": {"S": "2026-01-01T00:00:01.000Z"}}
    image = {"id": {"S": id_of(charge(key))}, "status": {"S": "COMPLETED"}, "fence": {"N": "1"}, **at, **more}
    new = {name: value for name, value in image.items() if value is not None}
    return {"dynamodb": {"NewImage": new, "SequenceNumber": key}}


def dead_letters(cloud: LocalCloud) -> list[dict[str, Any]]:
    url = cloud.outputs["AnnouncementDeadLetterQueueUrl"]
    found = cloud.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    return [json.loads(each["Body"]) for each in found]


def by_the_page(command: str) -> dict[str, str]:
    """The options of a command of the page."""
    [found] = re.findall(rf"^(?:\$|   ) aws {command} ((?:.*\\\n)*.*?)(?: >|$)", PAGE, re.MULTILINE)
    words = shlex.split(found)
    return {word.removeprefix("--"): value for word, value in itertools.pairwise(words) if word.startswith("--")}


def announced_again(cloud: LocalCloud, since: str) -> Any:
    """What the commands of the page do, and what the last one prints."""
    scan, names = by_the_page("dynamodb scan"), {}
    for name in ("filter-expression", "projection-expression"):
        names["".join(map(str.capitalize, name.split("-")))] = scan[name]
    for name in ("expression-attribute-names", "expression-attribute-values"):
        names["".join(map(str.capitalize, name.split("-")))] = json.loads(scan[name])
    names["ExpressionAttributeValues"][":since"]["S"] = since
    found = cloud.client("dynamodb").scan(TableName=cloud.outputs["TableName"], **names)
    assert "AnnounceEndFunctionName" in by_the_page("lambda invoke")["function-name"]
    failures = []
    for event in in_invokes(jmespath.search(scan["query"], found)):
        name = cloud.outputs["AnnounceEndFunctionName"]
        answer = cloud.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
        failures += json.loads(answer["Payload"].read())["batchItemFailures"]
    return {"batchItemFailures": failures}


def in_invokes(ends: Any) -> list[Any]:
    """The event of each invoke, as the page's jq makes them of all ends."""
    if shutil.which("jq") is None:
        pytest.skip("the page's commands need jq")
    [program] = re.findall(r"^\$ jq -c '(.*)' ends.json", PAGE, re.MULTILINE)
    done = subprocess.run(["jq", "-c", program], input=json.dumps(ends), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_more_ends_than_lambda_takes_at_once_are_announced_again_in_several_invokes() -> None:
    """6 MB in a payload, and the function has 30 seconds."""
    ends = {"Records": [{"dynamodb": {"SequenceNumber": str(number)}} for number in range(2_500)]}
    events = in_invokes(ends)
    assert [record for event in events for record in event["Records"]] == ends["Records"]
    assert max(len(event["Records"]) for event in events) <= 1_000


def no_sweeps(delivery: Delivery) -> tuple[float, ...]:
    """Else there is one for each minute that goes by."""
    return () if delivery.kind == "schedule" else (0.0,)


def test_what_was_given_up_is_found_in_the_table_and_announced_again(
    cloud: LocalCloud, bus: Bus, latches: Latches
) -> None:
    ended, failed, let_go = charge(), scripted({"raise": "PermanentError"}), scripted({"raise": "NeedsAttention"})
    with refusing(cloud), cloud.lose_events(no_sweeps):
        for request in (ended, failed, let_go):
            cloud.run(request)
        released(cloud, let_go)
        cloud.settle()
        cloud.clock.advance(13 * 3600)  # type: ignore[attr-defined]
        cloud.settle()
    letters = dead_letters(cloud)
    assert sum(each["DDBStreamBatchInfo"]["batchSize"] for each in letters) >= 3
    assert {each["requestContext"]["condition"] for each in letters} == {"RecordAgeExceeded"}
    assert "order-1" not in json.dumps(letters) and bus.heard() == []
    assert announced_again(cloud, "2026-01-01T00:00") == {"batchItemFailures": []}
    heard = bus.heard()
    assert {each["detail"]["id"] for each in heard} == {id_of(ended), id_of(failed)}
    assert announced_again(cloud, "2026-01-01T00:00") == {"batchItemFailures": []}
    assert [each["detail"] for each in bus.heard()] == [each["detail"] for each in heard]


def test_what_ends_while_the_bus_is_missing_is_announced_when_it_is_there(
    shared_cloud: LocalCloud, cloud: LocalCloud
) -> None:
    """What is put on a bus that is not there, EventBridge accepts and forgets."""
    with cloud.deployed_with({"Announcements": "shop-ends"}), cloud.delivering():
        cloud.run(charge())
        cloud.settle()
        cloud.client("events").create_event_bus(Name="shop-ends")
        with listening(cloud, "shop-ends") as late:
            cloud.clock.advance(60)  # type: ignore[attr-defined]
            assert told(late.heard()) == [("Operation Completed", 1)]
        cloud.client("events").delete_event_bus(Name="shop-ends")


def test_a_bus_that_is_deleted_later_is_missed_by_a_function_that_is_warm(
    shared_cloud: LocalCloud, cloud: LocalCloud
) -> None:
    events = cloud.client("events")
    events.create_event_bus(Name="shop-ends")
    with cloud.deployed_with({"Announcements": "shop-ends"}), cloud.delivering():
        with listening(cloud, "shop-ends") as bus:
            cloud.run(charge("order-1"))
            assert len(bus.heard()) == 1
        events.delete_event_bus(Name="shop-ends")
        cloud.run(charge("order-2"))
        cloud.settle()
        events.create_event_bus(Name="shop-ends")
        with listening(cloud, "shop-ends") as late:
            cloud.clock.advance(60)  # type: ignore[attr-defined]
            assert [each["detail"]["idempotencyKey"] for each in late.heard()] == ["order-2"]
        events.delete_event_bus(Name="shop-ends")


@pytest.mark.parametrize(("given", "is_on"), [({}, False), ({"Announcements": "default"}, True)])
def test_the_table_has_a_stream_and_somebody_reads_it_only_where_ends_are_announced(
    given: dict[str, str], is_on: bool
) -> None:
    made = deployed(**given)
    assert ("StreamSpecification" in made["IdempotencyTable"].properties) is is_on
    assert ("AWS::Lambda::EventSourceMapping" in {each.type for each in made.values()}) is is_on


ARN = "arn:aws:{}:us-east-1:123456789012:{}"
STREAM = ARN.format("dynamodb", "table/{}/stream/2026-01-01T00:00:00.000")
BOUNDS = [
    ("dynamodb:GetRecords", STREAM.format("IdempotencyTable"), STREAM.format("OrdersTable")),
    ("events:PutEvents", ARN.format("events", "event-bus/default"), ARN.format("events", "event-bus/default-2")),
    ("sqs:SendMessage", "AnnouncementDeadLetterQueue.Arn", "EventDeadLetterQueue.Arn"),
    ("logs:PutLogEvents", "AnnounceEndLogGroup.Arn", "OperationLogGroup.Arn"),
]


@pytest.mark.parametrize(("action", "own", "beyond"), BOUNDS)
def test_who_announces_may_reach_no_further(action: str, own: str, beyond: str) -> None:
    known, resources = written_with(TEMPLATE.parent / "announcements/template.yaml", Announcements="default")
    document = known.resolve(resources["AnnounceEndRole"]["Properties"]["Policies"][0]["PolicyDocument"])
    allowed = permissions_of("AnnounceEndRole", document)
    assert any(each.is_for(Need(action, own)) for each in allowed)
    assert not any(each.is_for(Need(action, beyond)) for each in allowed)
