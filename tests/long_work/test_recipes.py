"""The recipes of docs/long-work.md, each struck at every boundary: of the operation, and of the work elsewhere."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from adoption.conftest import ROOT, Application
from http_client import Client, Response
from once import clients
from once.settings import settings

from oncekit.local.engine.interceptors import before, fails
from oncekit.local.permissions.needs import Need
from oncekit.local.permissions.policies import Answer
from oncekit.testing import answer_lost, function_crashes
from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.plugin import RunMatrix

ORDER = {"operation": "fulfil-order", "idempotencyKey": "o-1", "payload": {"orderId": "o-1"}}
REFUND = {"operation": "refund", "idempotencyKey": "r-1", "payload": {"amount": 42}}
FILM = {"operation": "transcode", "idempotencyKey": "f-1", "payload": {"scenes": 3}}


@pytest.fixture
def matrix(cloud: TestCloud) -> RunMatrix:
    return RunMatrix(cloud)


def again(cloud: TestCloud, request: dict[str, Any]) -> Any:
    """What a duplicate gets."""
    ended = cloud.run(request)
    assert ended.status == "SUCCEEDED", ended.error
    return json.loads(ended.output["result"])


class TestWorkflow:
    def test_an_order_is_fulfilled_while_no_execution_waits(self, cloud: TestCloud) -> None:
        assert cloud.run(ORDER).output["disposition"] == "IN_PROGRESS"
        cloud.settle()
        assert again(cloud, ORDER) == {"status": "shipped"}
        assert cloud.rows("ShipmentsTable") == [{"orderId": "o-1"}]
        assert not cloud.denials()

    def test_it_is_fulfilled_once_wherever_its_operation_is_struck(self, matrix: RunMatrix) -> None:
        assert len(matrix(ORDER).strikes) > 12

    @pytest.mark.parametrize(
        "fault",
        [
            function_crashes(before="begin", nth=2),
            *(
                function_crashes(**{place: f"call:dynamodb.{call}"})
                for call in ("get_item", "update_item")
                for place in ("before", "after")
            ),
            answer_lost(of="call:dynamodb.update_item"),
            function_crashes(before="end", nth=2),
        ],
    )
    def test_its_last_state_is_struck(self, cloud: TestCloud, fault: Any) -> None:
        with cloud.fault(fault):
            cloud.start(ORDER)
            cloud.settle()
        assert again(cloud, ORDER) == {"status": "shipped"}

    def test_its_error_ends_the_operation(self, cloud: TestCloud) -> None:
        with cloud.intercept(fails("InternalServerError", status=500, state="Ship", nth=0)):
            cloud.start(ORDER)
            cloud.settle()
        refused = cloud.run(ORDER)
        assert (refused.error, "the order could not be shipped" in refused.cause) == ("OperationFailed", True)

    def test_a_workflow_whose_try_is_over_says_so(self, cloud: TestCloud) -> None:
        with cloud.intercept(before(lambda: forget(cloud), state="Complete")):
            cloud.start(ORDER)
            cloud.settle()
        [ended] = cloud.executions.of(cloud.resources["Fulfilment"])
        assert (ended.status, ended.error) == ("FAILED", "TicketError")


def forget(cloud: TestCloud) -> None:
    table = cloud.once.outputs["TableName"]
    cloud.client("dynamodb").delete_item(TableName=table, Key={"id": {"S": "default#fulfil-order#o-1"}})


# ---- an approval ----


class Clerk:
    """Opens the link of the last message, and decides."""

    def __init__(self, cloud: TestCloud) -> None:
        self.cloud = cloud

    @property
    def links(self) -> list[str]:
        """Below the API's address."""
        calls = [call for call, done in self.cloud.watch.calls if call.service == "sns" and done]
        urls = [urlsplit(call.parameters["Message"].split()[-1]) for call in calls]
        return [f"{url.path.removeprefix('/Prod')}?{url.query}" for url in urls]

    def look(self) -> Response:
        return Client(self.cloud).send("GET", self.links[-1])

    def decide(self, decision: str = "yes", link: int = -1) -> Response:
        return Client(self.cloud).send("POST", self.links[link], f"decision={decision}")


@pytest.fixture
def clerk(cloud: TestCloud) -> Clerk:
    return Clerk(cloud)


class TestApproval:
    def test_a_person_approves(self, cloud: TestCloud, clerk: Clerk) -> None:
        assert cloud.run(REFUND).output["disposition"] == "IN_PROGRESS"
        assert b"<button" in clerk.look().body
        assert cloud.run(REFUND).output["disposition"] == "IN_PROGRESS"
        assert clerk.decide().body == b"Thank you"
        assert again(cloud, REFUND) == {"approved": True}
        assert clerk.decide("no").body == b"It was decided before: COMPLETED"
        assert not cloud.denials()

    def test_a_person_refuses(self, cloud: TestCloud, clerk: Clerk) -> None:
        cloud.run(REFUND)
        assert clerk.decide("no").status == 200
        assert cloud.record("default#refund#r-1")["error"] == {
            "name": "PermanentError",
            "message": "a clerk refused it",
            "status": 403,
        }

    def test_a_link_of_an_earlier_try_decides_nothing(self, cloud: TestCloud, clerk: Clerk) -> None:
        cloud.run(REFUND)
        clerk.decide("no")
        cloud.clock.advance(2)  # type: ignore[attr-defined]  # the clock of tests is virtual
        cloud.run(REFUND | {"onFailed": "retry"})
        assert clerk.decide(link=0).status == 410
        assert clerk.decide(link=1).body == b"Thank you"

    def test_it_is_decided_once_wherever_its_operation_is_struck(self, matrix: RunMatrix, clerk: Clerk) -> None:
        """A clerk who gets a second message finds that it is decided, or decides by it."""
        report = matrix(REFUND, elsewhere=clerk.decide, may_repeat=["sns.publish", "Clerks"])
        assert len(report.strikes) > 16

    @pytest.mark.parametrize("place", ["before", "after"])
    @pytest.mark.parametrize("call", ["get_item", "update_item"])
    def test_a_decision_is_struck_and_made_again(self, cloud: TestCloud, clerk: Clerk, call: str, place: str) -> None:
        cloud.run(REFUND)
        with cloud.fault(function_crashes(**{place: f"call:dynamodb.{call}"})):
            assert clerk.decide().status == 502
        assert clerk.decide("yes").status == 200
        assert again(cloud, REFUND) == {"approved": True}


# ---- a worker ----


class Killed(BaseException):
    """The worker's process dies."""


class Worker:
    """worker.py of the page in this process: it calls the cloud as it would from anywhere."""

    def __init__(self, module: Any, cloud: TestCloud) -> None:
        self.module, self.cloud = module, cloud
        self.made: list[str] = []

    def take_one(self) -> None:
        self.module.take_one(0)

    @contextmanager
    def dying(self, number: int, place: str) -> Iterator[None]:
        """Before or after its call of this number."""
        left = [number]

        def count(**_: Any) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise Killed

        hooks = [(each.meta.events, f"{place}-call") for each in self.clients]
        for events, name in hooks:
            events.register(name, count)
        try:
            yield
        finally:
            for events, name in hooks:
                events.unregister(name, count)

    @property
    def clients(self) -> list[Any]:
        return [self.module.queue, self.module.films, clients.client("dynamodb")]

    def until_it_ends(self) -> None:
        for _ in range(5):
            self.take_one()
            self.cloud.clock.advance(31)  # type: ignore[attr-defined]  # a message that was taken can be taken again


@pytest.fixture
def worker(cloud: TestCloud, application: Application, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    variables = {"WORK": cloud.resources["Work"], "FILMS": cloud.resources["Films"]}
    for name, value in {**cloud.environment, **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    settings.cache_clear()
    clients.client.cache_clear()  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("worker", application.folder / "worker.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield Worker(module, cloud)
    settings.cache_clear()
    clients.client.cache_clear()  # type: ignore[attr-defined]


def scenes(cloud: TestCloud) -> list[str]:
    """Those that are there; of one name, or the work was done twice."""
    listed = cloud.client("s3").list_objects_v2(Bucket=cloud.resources["Films"]).get("Contents", [])
    return [each["Key"].rpartition("/")[2] for each in listed]


class TestWorker:
    def test_a_worker_transcodes(self, cloud: TestCloud, worker: Worker) -> None:
        assert cloud.run(FILM).output["disposition"] == "IN_PROGRESS"
        worker.take_one()
        assert set(again(cloud, FILM)) == {"folder"}
        assert scenes(cloud) == ["0", "1", "2"]

    def test_it_is_transcoded_once_wherever_its_operation_is_struck(self, matrix: RunMatrix, worker: Worker) -> None:
        report = matrix(FILM, elsewhere=worker.take_one, may_repeat=["Work", "sqs.send_message"])
        assert len(report.strikes) > 16

    @pytest.mark.parametrize("place", ["before", "after"])
    def test_it_is_transcoded_once_wherever_its_worker_dies(self, cloud: TestCloud, worker: Worker, place: str) -> None:
        number, died = 0, True
        while died:
            request = FILM | {"idempotencyKey": f"f-{number}"}
            cloud.run(request)
            died = False
            with worker.dying(number, place):
                try:
                    worker.take_one()
                except Killed:
                    died = True
            worker.until_it_ends()
            assert set(again(cloud, request)) == {"folder"}
            assert scenes(cloud) == ["0", "1", "2"] * (number + 1)
            number += 1
        assert number > 10

    def test_a_worker_that_dies_for_good_is_followed_by_another_attempt(self, cloud: TestCloud, worker: Worker) -> None:
        cloud.run(FILM)
        with worker.dying(5, "before"), pytest.raises(Killed):
            worker.take_one()
        cloud.clock.advance(1000)  # type: ignore[attr-defined]
        cloud.settle()
        assert cloud.record("default#transcode#f-1")["attempts"] == 2
        worker.until_it_ends()
        assert set(again(cloud, FILM)) == {"folder"}
        assert scenes(cloud) == ["0", "1", "2"]


# ---- the tests of the page ----


@pytest.mark.parametrize("operation", ["fulfil_order", "transcode"])
def test_the_test_that_the_page_shows_passes(
    application: Application, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    # As from the wheel: a library that is installed to be edited is found after the folder once/ of an application.
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "shared"))
    done = application.pytest(f"tests/test_{operation}.py")
    assert done.stdout.splitlines()[-1].startswith("2 passed in"), done.stdout + done.stderr


# ---- who may use a ticket ----


def test_who_completes_may_end_its_own_operation_and_no_other(cloud: TestCloud) -> None:
    """The function behind the link, with the ticket of an order."""
    cloud.start(ORDER)
    cloud.settle()
    [order] = cloud.executions.of(cloud.resources["Fulfilment"])
    query = {"ticket": order.input["ticket"]}
    sent = json.dumps({"httpMethod": "POST", "queryStringParameters": query, "body": "decision=yes"})
    told = cloud.client("lambda").invoke(FunctionName=cloud.resources["Decide"], Payload=sent)
    assert "AccessDenied" in json.loads(told["Payload"].read())["errorMessage"]
    [denied] = cloud.denials()
    assert "DecideRole" in str(denied) and "dynamodb:GetItem" in str(denied)
    named = "by naming DecideRole in the Roles of FulfilOrderEffectsPolicy"
    assert denied.advice == f"allow it in once/operations.yaml, {named}"


ARN = "arn:aws:dynamodb:us-east-1:123456789012:table"


@pytest.mark.parametrize("action", ["GetItem", "UpdateItem"])
@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("acme#refund#k", Answer.ALLOWED),
        ("acme#refund-2#k", Answer.NOT_ALLOWED),
        ("refund#fulfil-order#k", Answer.NOT_ALLOWED),
        (None, Answer.NOT_ALLOWED),
    ],
)
def test_its_role_reaches_the_records_of_its_own_operation(
    cloud: TestCloud, action: str, key: str | None, answer: Answer
) -> None:
    [role] = [each for each in cloud.permissions.roles.values() if each.logical_id == "DecideRole"]
    table = f"{ARN}/{cloud.once.outputs['TableName']}"
    assert role.answer(Need(f"dynamodb:{action}", table, (("dynamodb:LeadingKeys", key),)))[0] is answer
