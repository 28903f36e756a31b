"""The recipes of docs/direct-lane.md, each behind its own trigger, after `once new --direct`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from adoption.conftest import ROOT, Application
from http_client import token
from once.canonical import NAME
from once_up import once_up

from oncekit.testing import function_crashes
from oncekit.testing.kit_cloud import TestCloud

PAGE = (ROOT / "docs" / "direct-lane.md").read_text()
RECIPES = re.findall(r"```python\n(.*?)```", PAGE.partition("## Recipes")[2], re.DOTALL)
PARTIAL = "FunctionResponseTypes: [ReportBatchItemFailures]"
TRIGGERS = {
    "reserve-stock": f"{{ Type: SQS, Properties: {{ Queue: !GetAtt Stock.Arn, {PARTIAL} }} }}",
    "pick-items": f"{{ Type: SQS, Properties: {{ Queue: !GetAtt Items.Arn, {PARTIAL} }} }}",
    "move-pallet": f"{{ Type: SQS, Properties: {{ Queue: !GetAtt Pallets.Arn, {PARTIAL} }} }}",
    "send-receipt": "{ Type: DynamoDB, Properties: { Stream: !GetAtt Orders.StreamArn, StartingPosition: LATEST } }",
    "bill-customer": "{ Type: EventBridgeRule, Properties: { Pattern: { detail-type: [InvoiceIssued] } } }",
    "close-day": "{ Type: Schedule, Properties: { Schedule: 'cron(0 0 * * ? *)' } }",
    "place-order": "{ Type: Api, Properties: { RestApiId: !Ref Rest, Path: '/shops/{shop}/orders', Method: post } }",
    "return-goods": "{ Type: Api, Properties: { RestApiId: !Ref Rest, Path: '/returns/{order}', Method: post } }",
    "cancel-order": "{ Type: HttpApi, Properties: { ApiId: !Ref Http, Path: '/orders/{order}', Method: delete } }",
}
TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Globals: { Function: { Runtime: python3.13, Timeout: 30, Handler: app.handler } }
Resources:
  Stock: { Type: AWS::SQS::Queue }
  Items: { Type: AWS::SQS::Queue }
  Pallets:
    Type: AWS::SQS::Queue
    Properties: { FifoQueue: true, ContentBasedDeduplication: true, VisibilityTimeout: 30 }
  Reservations:
    Type: AWS::DynamoDB::Table
    Properties: &table
      TableName: reservations
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      <<: *table
      TableName: orders
      StreamSpecification: { StreamViewType: NEW_IMAGE }
  Rest:
    Type: AWS::Serverless::Api
    Properties:
      StageName: live
      Auth: { DefaultAuthorizer: Users, Authorizers: { Users: { UserPoolArn: USERS } } }
  Http:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        DefaultAuthorizer: Users
        Authorizers:
          Users:
            IdentitySource: $request.header.Authorization
            JwtConfiguration: { issuer: "https://users.example", audience: [shop] }
FUNCTIONS
Outputs:
  Http: { Value: !Sub "https://${Http}.execute-api.${AWS::Region}.amazonaws.com" }
""".replace("USERS", "arn:aws:cognito-idp:us-east-1:123456789012:userpool/us-east-1_shop")


def recipe(operation: str) -> str:
    """The code of a function: what all begin with, and the block that names the operation."""
    [found] = [each for each in RECIPES[1:] if f"def {operation.replace('-', '_')}(request" in each]
    return f"{RECIPES[0]}\n{found}"


def camel(operation: str) -> str:
    return "".join(map(str.capitalize, operation.split("-")))


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Application:
    """All recipes in one, which knew nothing of Once before."""
    folder = tmp_path_factory.mktemp("recipes")
    functions = ""
    for operation, trigger in TRIGGERS.items():
        (folder / operation).mkdir()
        (folder / operation / "app.py").write_text(recipe(operation))
        policy = "Policies: [{ DynamoDBCrudPolicy: { TableName: !Ref Reservations } }]"
        properties = f"{{ CodeUri: {operation}/, {policy}, Events: {{ Own: {trigger} }} }}"
        functions += f"  {camel(operation)}:\n    Type: AWS::Serverless::Function\n    Properties: {properties}\n"
    (folder / "template.yaml").write_text(TEMPLATE.replace("FUNCTIONS\n", functions))
    made = Application(folder)
    assert made.once("init").code == 0
    for operation in TRIGGERS:
        done = made.once("new", operation, "--function", camel(operation), "--direct")
        assert done.code == 0, done.err
    return made


@pytest.fixture(scope="module")
def shop_cloud(application: Application) -> Iterator[TestCloud]:
    with TestCloud(application.folder / "template.yaml") as cloud:
        yield cloud


@pytest.fixture
def cloud(shop_cloud: TestCloud) -> TestCloud:
    shop_cloud.reset()
    return shop_cloud


def states(cloud: TestCloud) -> dict[str, tuple[str, int]]:
    """By key how each operation ended, and in how many attempts; each has one effect, and nothing was denied."""
    found = cloud.records()
    assert not cloud.denials() and len(cloud.rows("Reservations")) == len(found)
    return {each["id"].split("#")[2]: (each["status"], each["attempts"]) for each in found}


def send(cloud: TestCloud, queue: str, *bodies: dict[str, Any], **more: Any) -> None:
    """As one batch."""
    entries = [{"Id": str(n), "MessageBody": json.dumps(each), **more} for n, each in enumerate(bodies)]
    cloud.client("sqs").send_message_batch(QueueUrl=cloud.resources[queue], Entries=entries)
    cloud.settle()


ONCE = ("COMPLETED", 1)


@pytest.mark.parametrize("queue", ["Stock", "Items"])
def test_each_message_of_a_batch_is_done_once_and_the_refused_one_stays(cloud: TestCloud, queue: str) -> None:
    for _ in range(2):
        send(cloud, queue, {"orderNo": "A-1"}, {"orderNo": "A-2"})
    send(cloud, queue, {"orderNo": "A-3"}, {"orderNo": "A-1", "sku": "another"})
    assert states(cloud) == {"A-1": ONCE, "A-2": ONCE, "A-3": ONCE}
    attributes = cloud.client("sqs").get_queue_attributes(QueueUrl=cloud.resources[queue], AttributeNames=["All"])
    assert attributes["Attributes"]["ApproximateNumberOfMessagesNotVisible"] == "1"


def test_metrics_of_powertools_are_flushed_by_recovery_too(cloud: TestCloud) -> None:
    with cloud.fault(function_crashes(after="call:dynamodb.update_item")):
        send(cloud, "Items", {"orderNo": "A-1"})
        cloud.recover()
    assert states(cloud) == {"A-1": ("COMPLETED", 2)}
    assert [each for each in cloud.logs("pick-items") if '"Picked":[1.0]' in each]


def test_a_group_of_a_fifo_queue_waits_for_what_the_full_lane_finishes(cloud: TestCloud) -> None:
    with cloud.fault(function_crashes(after="call:dynamodb.update_item")):
        send(cloud, "Pallets", {"moveNo": "1"}, {"moveNo": "2"}, MessageGroupId="north")
    for _ in range(10):  # it comes again before the owner's lease is over, and after
        cloud.clock.advance(30)  # type: ignore[attr-defined]
        cloud.settle()
    assert states(cloud) == {"1": ("COMPLETED", 2), "2": ONCE}
    first, second = sorted(cloud.records(), key=lambda each: str(each["id"]))
    assert first["finishedAt"] <= second["acquiredAt"]


def test_the_change_of_a_row_is_done_once(cloud: TestCloud) -> None:
    order = {"id": {"S": "o"}, "orderNo": {"S": "A-1"}}
    for item in (order, {**order, "paid": {"BOOL": True}}):
        cloud.client("dynamodb").put_item(TableName="orders", Item=item)
    cloud.settle()
    assert states(cloud) == {"A-1": ONCE}


def test_an_event_that_is_published_twice_is_done_once(cloud: TestCloud) -> None:
    detail = json.dumps({"invoice": {"number": 4711, "cents": 5}})
    entry = {"Source": "shop", "DetailType": "InvoiceIssued", "Detail": detail}
    for _ in range(2):
        cloud.client("events").put_events(Entries=[entry])
    cloud.settle()
    assert states(cloud) == {"4711": ONCE}


def test_a_schedule_does_its_work_once_a_day(cloud: TestCloud) -> None:
    cloud.clock.advance(2 * 86_400)  # type: ignore[attr-defined]
    cloud.settle()
    assert list(states(cloud).values()) == [ONCE, ONCE]


def asked(cloud: TestCloud, method: str, path: str, body: Any, key: str | None = "k", **claims: str) -> Any:
    """A body that is a text is sent as it is."""
    user = {"sub": "u-1", "custom:tenant": "acme", "iss": "https://users.example", "aud": "shop", **claims}
    bearer = token(cloud, **user, exp=cloud.clock.now() + 60)
    headers = {"Authorization": bearer, "Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    data = body if isinstance(body, str) else json.dumps(body)
    return requests.request(method, cloud.http_url + path, data=data, headers=headers, timeout=30)


def test_a_rest_api_answers_duplicates_alike_and_each_tenant_for_itself(cloud: TestCloud) -> None:
    first, second = (asked(cloud, "POST", "/shops/north/orders", {"item": "tea"}) for _ in range(2))
    assert (first.status_code, second.status_code, first.json()) == (200, 200, second.json()), first.text
    assert second.headers["Idempotent-Replayed"] == "true"
    assert asked(cloud, "POST", "/shops/south/orders", {"item": "tea"}).status_code == 422
    assert asked(cloud, "POST", "/shops/south/orders", {"item": "tea"}, **{"custom:tenant": "bolt"}).status_code == 200
    refused = asked(cloud, "POST", "/shops/north/orders", {"item": "tea"}, key=None)
    assert (refused.status_code, refused.headers["Content-Type"]) == (400, "application/problem+json")
    assert states(cloud) == {"k": ONCE} and len(cloud.records()) == 2, "one of each tenant"


BODIES = ("", "no JSON", "[]", "{}", '"tea"', '{"item": 7, "reason": 7}')


@pytest.mark.parametrize(("method", "path"), [("POST", "/shops/north/orders"), ("DELETE", "/orders/o-1")])
def test_a_body_that_is_not_valid_is_its_senders_fault_and_no_operators_work(
    cloud: TestCloud, method: str, path: str
) -> None:
    for number, body in enumerate(BODIES):
        assert asked(cloud, method, path, body, key=f"k{number}").status_code == 400, body
    assert {each["status"] for each in cloud.records()} <= {"FAILED"}


def test_a_body_cannot_pretend_to_be_a_claim_or_a_path(cloud: TestCloud) -> None:
    asked(cloud, "POST", "/shops/north/orders", {"item": "tea", "shop": "south", "by": "another"})
    [order] = cloud.rows("Reservations")
    assert (order["shop"], order["by"]) == ("north", "u-1")


def test_a_route_of_powertools_answers_duplicates_alike(cloud: TestCloud) -> None:
    first, second = (asked(cloud, "POST", "/returns/o-1", {}) for _ in range(2))
    assert (first.status_code, second.status_code, first.json()) == (200, 200, {"returned": "o-1"}), first.text
    assert second.json() == first.json() and second.headers["Idempotent-Replayed"] == "true"
    assert asked(cloud, "POST", "/returns/o-2", {}).status_code == 422, "another payload under its key"
    refused = asked(cloud, "POST", "/returns/o-1", {}, key=None)
    assert (refused.status_code, refused.headers["Content-Type"]) == (400, "application/problem+json")
    assert states(cloud) == {"k": ONCE}


def test_what_a_route_of_powertools_leaves_is_finished_by_recovery(cloud: TestCloud) -> None:
    with cloud.fault(function_crashes(after="call:dynamodb.update_item")):
        assert asked(cloud, "POST", "/returns/o-1", {}).status_code == 502
    cloud.recover()
    assert states(cloud) == {"k": ("COMPLETED", 2)}


def test_the_token_that_the_page_makes_is_accepted(cloud: TestCloud) -> None:
    page = (ROOT / "docs/testing.md").read_text().partition("## Requests with a token")[2]
    names: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], names)
    bearer = names["token"](cloud.environment["AWS_SECRET_ACCESS_KEY"], **{"sub": "u-1", "custom:tenant": "acme"})
    headers = {"Authorization": bearer, "Idempotency-Key": "k"}
    answer = requests.post(f"{cloud.http_url}/shops/north/orders", json={"item": "tea"}, headers=headers, timeout=30)
    assert answer.status_code == 200, answer.text


def test_an_http_api_answers_each_caller_for_itself(cloud: TestCloud) -> None:
    for order, caller in (("o-1", "c0ffee00-1111"), ("o-2", "decade00-2222")):
        answer = asked(cloud, "DELETE", f"/orders/{order}", {"reason": "late"}, sub=caller)
        assert (answer.status_code, answer.json()) == (200, {"cancelled": order}), "the other one has this key, too"
    assert {each["id"].split("#")[0] for each in cloud.records()} == {"u-c0ffee00-1111", "u-decade00-2222"}


def test_the_page_says_what_a_claim_must_be_to_be_a_tenant() -> None:
    assert f"`^{NAME.pattern}$`" in PAGE.partition("### A REST API")[2].partition("```")[0]


def test_an_http_api_gives_the_failures_own_status(cloud: TestCloud) -> None:
    gone = [asked(cloud, "DELETE", "/orders/o-gone", {"reason": "late"}, key="g") for _ in range(2)]
    assert [(each.status_code, each.json()["detail"]) for each in gone] == [(404, "there is no such order")] * 2


def test_up_says_where_functions_get_events_of_their_own(application: Application, tmp_path: Path) -> None:
    with once_up(application.folder, tmp_path) as up:
        told = up.lines
    for way, where, operation in (
        ("queue", r"http\S+Pallets\S*", "move-pallet"),
        ("bus", "default", "bill-customer"),
        ("HTTP", r"POST http://127.0.0.1:\d+/shops/{shop}/orders", "place-order"),
        ("HTTP", r"DELETE http://127.0.0.1:\d+/orders/{order}", "cancel-order"),
    ):
        assert [each for each in told if re.fullmatch(rf"  {way} +{where}  \({operation}\)", each)], told
