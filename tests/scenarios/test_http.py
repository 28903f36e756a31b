"""Requests by HTTP: the same answer for the same request, and each refusal before anything is started."""

from __future__ import annotations

import json

import pytest
from scenarios.by_http import Answer, call
from scenarios.scene import Request, Scene, id_of

pytestmark = [pytest.mark.longest(120), pytest.mark.lanes("full")]
"""They start the fast lane whatever the stack's parameter says."""


@pytest.fixture(autouse=True)
def api(scene: Scene) -> None:
    stack = scene.backend.stack
    if "RequestApiUrl" not in stack.outputs:
        pytest.skip("the stack has HttpTrigger=false")
    if stack.parameters["HttpUserPoolArn"]:
        pytest.skip("the stack takes tokens of a user pool only")


def post(scene: Scene, request: Request, **headers: str) -> Answer:
    path = f"/{request['tenant']}/{request['operation']}"
    given = {"Idempotency-Key": request["idempotencyKey"], "Content-Type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return call(scene.backend.stack, "POST", path, given, json.dumps(request["payload"]).encode())


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
    assert (refused.status, json.loads(refused.body)["type"]) == (422, "urn:problem-type:once:payload-mismatch")
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
