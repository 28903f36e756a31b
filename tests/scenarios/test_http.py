"""Requests by HTTP: the same answer for the same request, and each refusal before anything is started."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies
from scenarios.scene import Request, Scene, id_of

pytestmark = [pytest.mark.longest(120), pytest.mark.lanes("full"), pytest.mark.aws(unconfirmed="V62")]
"""They start the fast lane whatever the stack's parameter says."""
LONGEST_SECONDS = 35
"""A little more than API Gateway takes before it answers."""


@dataclass(frozen=True)
class Answer:
    """What the API answered; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@pytest.fixture(autouse=True)
def api(scene: Scene) -> None:
    stack = scene.backend.stack
    if "RequestApiUrl" not in stack.outputs:
        pytest.skip("the stack has HttpTrigger=false")
    if stack.parameters["HttpUserPoolArn"]:
        pytest.skip("the stack takes tokens of a user pool only")


def post(scene: Scene, request: Request, **headers: str) -> Answer:
    """A request by the API, signed with the credentials of the run; names of headers are given with _ for -."""
    stack = scene.backend.stack
    url = f"{stack.outputs['RequestApiUrl']}/{request['tenant']}/{request['operation']}"
    given = {"Idempotency-Key": request["idempotencyKey"], "Content-Type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    unsigned = AWSRequest("POST", url, given, json.dumps(request["payload"]).encode())
    SigV4Auth(stack.session.get_credentials(), "execute-api", stack.session.region_name).add_auth(unsigned)
    # No proxy for the local cloud, as for other calls.
    proxies = None if stack.endpoint_url else get_environ_proxies(url)
    answer = URLLib3Session(timeout=LONGEST_SECONDS, proxies=proxies).send(unsigned.prepare())
    return Answer(answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, answer.content)


def test_the_same_request_by_http_gets_the_same_bytes_and_has_one_effect(scene: Scene) -> None:
    request = scene.charge()
    first, again = post(scene, request), post(scene, request)
    assert (first.status, again.status, first.body) == (200, 200, again.body)
    assert again.headers["idempotent-replayed"] == "true"
    assert first.headers["once-id"] == id_of(request)
    record = scene.record_in(request, "COMPLETED")
    assert record["result"].encode() == first.body
    assert scene.charges(request) == 1


def test_a_request_by_http_and_one_that_is_started_directly_are_duplicates(scene: Scene) -> None:
    request = scene.charge()
    assert scene.run(request).disposition == "EXECUTED"
    assert post(scene, request).headers["idempotent-replayed"] == "true"
    refused = post(scene, {**request, "payload": {**request["payload"], "amount": 1}})
    problem = json.loads(refused.body)
    assert (refused.status, problem["type"]) == (422, "urn:problem-type:once:payload-mismatch")
    assert "if this is a retry, send the same body; a new operation needs a new key" in problem["detail"]
    assert scene.charges(request) == 1


def test_what_is_no_request_is_refused_with_a_problem_document(scene: Scene) -> None:
    request = scene.charge()
    for status, answer in (
        (400, post(scene, {**request, "payload": []})),
        (400, post(scene, request, Idempotency_Key='"')),
        (415, post(scene, request, Content_Type="text/plain")),
        (400, post(scene, request, Once_On_Crash="never")),
    ):
        assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json"), answer
    assert scene.record(request) is None
    assert scene.charges(request) == 0
