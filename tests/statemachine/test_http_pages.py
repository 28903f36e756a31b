"""What a page of another origin may send to the API, and read of its answers: nothing, unless a parameter names it."""

from __future__ import annotations

import json

import pytest
from http_client import Client, Response
from scenario import charge

from oncekit.local import LocalCloud
from oncekit.local.gateway.refusals import Refused, answer_to
from oncekit.local.gateway.rest_api import rest_apis

CHARGE = charge()["payload"]
SHOP = "https://shop.example"
JSON = {"Content_Type": "application/json", "Idempotency_Key": "k"}
PATHS = {
    "/acme/charge-payment": "POST",
    "/acme/charge-payment/k": "GET",
    "/acme/_results/30d/pay/abc/1-2.json": "GET",
}


def asked_before(client: Client, path: str, method: str, origin: str = SHOP) -> Response:
    """What a browser asks before it sends a request with headers of its own: unsigned."""
    wanted = {"Access_Control_Request_Method": method, "Access_Control_Request_Headers": "idempotency-key"}
    return client.send("OPTIONS", path, signed=False, Origin=origin, **wanted)


def words(answer: Response, header: str) -> set[str]:
    return {each.strip().lower() for each in answer.headers[f"access-control-{header}"].split(",")}


@pytest.mark.parametrize("path", PATHS)
def test_a_page_of_the_origin_that_is_set_may_send_what_the_api_takes(
    path: str, cloud: LocalCloud, client: Client
) -> None:
    with cloud.deployed_with({"HttpCorsOrigin": SHOP}):
        answer = asked_before(client, path, PATHS[path])
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == SHOP
    assert words(answer, "allow-methods") == {PATHS[path].lower()}
    assert words(answer, "allow-headers") >= {
        "authorization", "content-type", "idempotency-key", "prefer",
        "once-on-conflict", "once-on-crash", "once-on-failed",
        "x-amz-date", "x-amz-security-token", "x-amz-content-sha256",
    }  # fmt: skip


def test_a_page_may_read_every_answer_and_refusal_with_the_headers_that_matter(
    cloud: LocalCloud, client: Client
) -> None:
    place = "/default/" + client.post("build-report", "big", {"bytes": 20_000}).headers["location"]
    with cloud.deployed_with({"HttpCorsOrigin": SHOP}):
        first, again = (client.post("charge-payment", "k", CHARGE, Origin=SHOP) for _ in range(2))
        given = {
            200: first,
            303: client.post("build-report", "big", {"bytes": 20_000}),
            400: client.post("charge-payment", "", CHARGE),
            404: client.get("charge-payment", "no-such-key"),
            422: client.post("charge-payment", "k", {**CHARGE, "amount": 1}),
        }
        refusals = {
            403: client.send("POST", "/default/charge-payment", "{}", signed=False, Origin=SHOP, **JSON),
            415: client.post("charge-payment", "k2", CHARGE, Content_Type="text/plain"),
        }
        large = [client.send("GET", where) for where in (place, place.replace("30d", "7d"))]
    assert again.headers["idempotent-replayed"] == "true"
    for status, each in {**given, **refusals}.items():
        assert (each.status, each.headers["access-control-allow-origin"]) == (status, SHOP), each
    assert [(each.status, each.headers["access-control-allow-origin"]) for each in large] == [(200, SHOP), (404, SHOP)]
    for each in (again, *given.values()):
        exposed = {"once-id", "once-attempt", "idempotent-replayed", "location", "retry-after"}
        assert words(each, "expose-headers") == exposed


def test_without_an_origin_no_page_is_answered_and_no_header_invites_one(cloud: LocalCloud, client: Client) -> None:
    assert asked_before(client, "/default/charge-payment", "POST").status == 403
    assert client.post("charge-payment", "k", CHARGE, Origin=SHOP).status == 403
    answers = [client.post("charge-payment", "k", CHARGE), client.send("OPTIONS", "/default/charge-payment")]
    assert [each.status for each in answers] == [200, 403]
    assert not [name for each in answers for name in each.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(("set_to", "origin", "status"), [(SHOP, "https://evil.example", 403), ("*", "null", 204)])
def test_another_page_is_answered_only_where_any_may(
    set_to: str, origin: str, status: int, cloud: LocalCloud, client: Client
) -> None:
    with cloud.deployed_with({"HttpCorsOrigin": set_to}):
        assert asked_before(client, "/default/charge-payment", "POST", origin).status == status


def test_a_page_that_is_throttled_reads_when_to_come_again(cloud: LocalCloud) -> None:
    """The local cloud takes requests however often they come: this is what its API would answer on AWS."""
    with cloud.deployed_with({"HttpCorsOrigin": SHOP}):
        [api] = rest_apis(cloud.deployed.resources)
    answer = answer_to(Refused("THROTTLED", "Too Many Requests"), api.refusals())
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (429, SHOP)
    assert (answer.headers["Retry-After"], answer.headers["Access-Control-Expose-Headers"]) == ("2", "Retry-After")
    problem = json.loads(answer.body)
    assert problem["type"] == "urn:problem-type:once:throttled" and "same key" in problem["title"]
