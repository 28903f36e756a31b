"""An API of the application's own, as `once new --http` writes it: its clients get what its function answers."""

from __future__ import annotations

import json
from email.message import Message
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from oncekit.local.faults import fails
from oncekit.testing.cloud import TestCloud

Answered = tuple[int, Any]


def call(cloud: TestCloud, method: str, path: str, body: dict[str, Any] | None = None, **headers: str) -> Answered:
    """Status and body of a signed request; a redirect is followed, which the local cloud does not want signed anew."""
    return answered(cloud, method, path, body, **headers)[:2]


def answered(
    cloud: TestCloud, method: str, path: str, body: dict[str, Any] | None = None, **headers: str
) -> tuple[int, Any, Message]:
    """The same, and the headers of the answer."""
    given = cloud.environment
    key = Credentials(given["AWS_ACCESS_KEY_ID"], given["AWS_SECRET_ACCESS_KEY"])
    data = None if body is None else json.dumps(body).encode()
    sent = AWSRequest(
        method, f"{cloud.http_url}{path}", headers={"Content-Type": "application/json", **headers}, data=data
    )
    SigV4Auth(key, "execute-api", given["AWS_REGION"]).add_auth(sent)
    try:
        with urlopen(Request(sent.url, data, dict(sent.headers), method=method)) as answer:
            return answer.status, json.load(answer), answer.headers
    except HTTPError as error:
        with error:
            return error.code, json.load(error), error.headers


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"loan": "l-1", "cents": 5}, (200, {"charged": 5})),
        ({"loan": "Zürich 1 ✓", "cents": 5}, (200, {"charged": 5})),
        ({"loan": 7, "cents": 5}, (200, {"charged": 5})),
        ({"loan": 'q"\\', "cents": 5}, (200, {"charged": 5})),
        ({"loan": "l-1", "cents": 5, "as": "api"}, (201, {"made": True})),
        ({"loan": "l-1", "cents": 5, "as": "parcel"}, (200, {"statusCode": "SHIPPED"})),
        ({"loan": "l-1", "cents": 500}, (402, {"message": 'card "declined"'})),
        ({"loan": "l-1", "cents": 500, "as": '{"why":"a \\"card\\""}'}, (402, {"why": 'a "card"'})),
    ],
)
def test_a_duplicate_gets_the_functions_status_and_answer(cloud: TestCloud, body: Any, answer: Answered) -> None:
    assert [call(cloud, "POST", "/fees", body) for _ in range(2)] == [answer, answer]
    assert len(cloud.invocations("charge-fee")) == 1


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"cents": 5}, 400, "idempotencyKey must be a string of 1 to 256 characters"),
        ({"loan": "x" * 300, "cents": 5}, 400, "idempotencyKey must be a string of 1 to 256 characters"),
        ({"loan": "a\nb", "cents": 5}, 400, "idempotencyKey has a control character"),
        ({"loan": "l-1", "cents": 6}, 422, "another payload was sent before"),
    ],
)
def test_the_sender_of_a_refused_request_is_told_why(cloud: TestCloud, body: Any, status: int, told: str) -> None:
    call(cloud, "POST", "/fees", {"loan": "l-1", "cents": 5})
    answer = call(cloud, "POST", "/fees", body)
    assert (answer[0], answer[1]["message"][: len(told)]) == (status, told)
    assert not cloud.rejected() and len(cloud.invocations("charge-fee")) == 1


def test_a_body_of_another_type_never_reaches_the_service(cloud: TestCloud) -> None:
    """It would be the whole call, not only the payload."""
    body = {"stateMachineArn": cloud.outputs["FastStateMachineAliasArn"], "input": "{}"}
    assert call(cloud, "POST", "/fees", body, **{"Content-Type": "text/plain"})[0] == 415


def test_an_answer_that_is_too_large_for_the_record_can_be_fetched(cloud: TestCloud) -> None:
    assert call(cloud, "POST", "/fees", {"loan": "l-1", "cents": 5, "as": "large"}) == (200, "x" * 9000)
    record = cloud.record("default#charge-fee#l-1")
    assert record is not None
    *_, days, _, _, hashed, name = record["resultRef"]["key"].split("/")
    assert call(cloud, "GET", f"/fees/_results/{days}/{hashed}/{name}") == (200, "x" * 9000)
    assert call(cloud, "GET", f"/fees/_results/{days}/{hashed}/{name[1:]}")[0] == 404


def test_who_is_not_answered_in_time_is_told_to_send_the_same_again(cloud: TestCloud) -> None:
    with cloud.intercept(fails("AccessDeniedException", state="Finalize", nth=0)):
        status, body, headers = answered(cloud, "POST", "/fees", {"loan": "l-1", "cents": 5})
    assert (status, headers["Retry-After"]) == (504, "2") and "send the same again" in body["message"]


def test_a_sender_who_asks_for_it_does_not_wait(cloud: TestCloud) -> None:
    answer = call(cloud, "POST", "/fees", {"loan": "l-1", "cents": 5}, Prefer="respond-async")
    assert answer == (202, {"status": "ACCEPTED"})
    cloud.settle()
    assert call(cloud, "POST", "/fees", {"loan": "l-1", "cents": 5}) == (200, {"charged": 5})


def test_each_status_of_an_integration_is_a_response_of_its_method(cloud: TestCloud) -> None:
    """API Gateway refuses another one when it takes the document; this cloud does not look."""
    apis = [each for each in cloud.deployed.resources.values() if each.type == "AWS::ApiGateway::RestApi"]
    methods = [method for api in apis for path in api.properties["Body"]["paths"].values() for method in path.values()]
    for method in methods:
        mapped = method["x-amazon-apigateway-integration"]["responses"].values()
        assert {each["statusCode"] for each in mapped} <= method["responses"].keys()
        assert all(status.isdigit() for status in method["responses"]), "API Gateway knows no ranges"
    assert len(apis) == 2 and len(methods) >= 5
