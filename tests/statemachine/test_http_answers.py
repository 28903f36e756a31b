"""The answers by HTTP, each read off a real one: the status, the headers and the body of every outcome."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from http_client import Client, Response
from latches import Latches
from scenario import BUSINESS, cause, charge, dead, rows
from tickets import end_by_ticket

from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import answer_lost, fails, never_arrives

CHARGE = charge()["payload"]
FUNCTIONS = Path(__file__).parents[1] / "functions"
PROBLEM = "urn:problem-type:once:"


def script(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"script": list(steps)}


def says(answer: Response, status: int, kind: str) -> dict[str, Any]:
    """The problem in an answer, which has this status and type."""
    assert (answer.status, answer.problem["type"]) == (status, PROBLEM + kind), answer
    assert answer.problem["title"]
    return answer.problem


# ---- the same answer ----


@pytest.mark.parametrize(
    "result",
    ['"', "\\", "é\u2028\U0001f680", {"n": 12345678901234568, "f": 0.1}, [], None, "#set($x = 1)$x", 1e300],
    ids=ascii,
)
def test_a_result_comes_byte_for_byte_whatever_is_in_it(result: Any, cloud: LocalCloud, client: Client) -> None:
    cloud.add_function("library-echo", FUNCTIONS / "library_echo")
    first, again = (client.post("library-echo", "k", {"json": json.dumps(result)}) for _ in range(2))
    assert (first.status, again.status) == (200, 200)
    assert first.body == again.body == client.get("library-echo", "k").body
    assert json.loads(first.body) == result


@pytest.mark.parametrize(
    "result", [{"total": 0.1 + 0.2}, [1.0000000000000002] * 100, 12345678901234568], ids=["object", "list", "number"]
)
def test_a_small_result_with_many_digits_is_in_the_answer(
    result: Any, plain: str, cloud: LocalCloud, client: Client
) -> None:
    """A client that signs cannot follow a 303 by itself."""
    with cloud.intercept(answer_lost(state="CacheResponse")):
        first, again = (client.post(plain, "k", {"json": json.dumps(result)}) for _ in range(2))
    assert (first.status, again.status) == (200, 200)
    assert first.body == again.body == client.get(plain, "k").body
    assert json.loads(first.body) == result
    assert "Contents" not in cloud.client("s3").list_objects_v2(Bucket=cloud.outputs["ResponseBucketName"])


def test_no_body_at_all_is_the_empty_object_and_what_it_lacks_is_told(cloud: LocalCloud, client: Client) -> None:
    cloud.add_function("plain-echo", FUNCTIONS / "plain_echo")
    first = client.send("POST", "/default/plain-echo", Idempotency_Key="k")
    again = client.post("plain-echo", "k", {})
    assert (first.status, again.status, again.headers["idempotent-replayed"]) == (200, 200, "true"), first
    lacks = says(client.send("POST", "/default/charge-payment", Idempotency_Key="k"), 422, "operation-failed")
    assert lacks["detail"].startswith("payload refused by schema.json: /orderId is missing")
    assert rows(cloud, "ProviderLedgerTable") == 0


@pytest.mark.parametrize("tenant", ["acme", "default", "build-report"])
def test_a_large_result_is_fetched_from_where_the_answer_says(tenant: str, client: Client) -> None:
    first, again = (client.post("build-report", "big", {"bytes": 600_000}, tenant=tenant) for _ in range(2))
    asked = client.get("build-report", "big", tenant=tenant)
    assert (first.status, again.status, asked.status) == (303, 303, 303), first
    assert first.body == again.body == asked.body
    place = first.headers["location"]
    assert asked.headers["location"] == f"../{place}"
    fetched = client.send("GET", f"/{tenant}/{place}")
    assert (fetched.status, fetched.headers["content-type"]) == (200, "application/json")
    assert len(fetched.body) == json.loads(first.body)["bytes"] == 600_000
    others = {"acme", "default", "other"} - {tenant}
    another = f"{place[:-6]}{'1' if place[-6] == '0' else '0'}.json"
    for path in (*(f"/{each}/{place}" for each in others), f"/{tenant}/{another}"):
        assert says(client.send("GET", path), 404, "not-found")


# ---- what is in progress ----


def test_a_duplicate_of_what_is_in_progress_is_accepted_rejected_or_waits(client: Client, latches: Latches) -> None:
    payload = script({"await": "go", "then": {"return": "done"}})
    accepted = client.post("scripted", "k", payload, Prefer="respond-async")
    latches.wait_for_starts(1)
    duplicate = client.post("scripted", "k", payload)
    looked_up = client.get("scripted", "k")
    for each, location in ((accepted, "scripted/k"), (duplicate, "scripted/k"), (looked_up, None)):
        assert (each.status, each.headers.get("location")) == (202, location), each
        assert each.headers["retry-after"] == "2"
        assert json.loads(each.body) == {"status": "IN_PROGRESS", "id": "default#scripted#k"}
    rejected = client.post("scripted", "k", payload, Once_On_Conflict="reject")
    assert says(rejected, 409, "in-progress")["id"] == "default#scripted#k"
    assert rejected.headers["retry-after"] == "2"
    latches.open("go")
    waited = client.post("scripted", "k", payload, Prefer="wait=20")
    assert (waited.status, waited.body) == (200, b'"done"')


def test_a_duplicate_waits_as_its_sender_prefers_and_less_than_api_gateway_does(
    cloud: LocalCloud, client: Client
) -> None:
    ended = dead(cloud, charge(), BUSINESS)
    for wanted, seconds in (("wait=3", 3), ("respond-async, wait=3", 0), ("Wait=100", 25)):
        began = cloud.clock.now()
        answer = client.post("charge-payment", "order-1", CHARGE, tenant="acme", Prefer=wanted)
        assert answer.status == 202, "accepted: what takes longer is done all the same"
        assert seconds <= cloud.clock.now() - began <= seconds + 2, wanted
    began = cloud.clock.now()
    answer = client.post("charge-payment", "order-1", CHARGE, tenant="acme", Once_On_Conflict="wait")
    assert says(answer, 409, "in-progress") and cloud.clock.now() - began <= 27
    assert ended.status == "ABORTED"


def test_a_first_request_that_fails_gets_the_answer_of_the_full_lane_if_that_is_quick(
    cloud: LocalCloud, client: Client, latches: Latches
) -> None:
    answer = client.post("scripted", "k", script({"raise": "Weather"}, {"return": "done"}))
    assert (answer.status, answer.body) == (200, b'"done"')
    began = cloud.clock.now()
    with cloud.intercept(never_arrives(state="HandOver", nth=0)):  # the sweep does it, later
        slow = client.post("scripted", "slow", script({"raise": "Weather"}, {"return": 1}))
    assert slow.status == 202 and 24 <= cloud.clock.now() - began <= 27


@pytest.mark.parametrize("key", ["a b+c", "100%", "a/b?c#d", "x&y=z~*'", 'a"b\\c'])
def test_where_the_answer_will_be_is_told_for_any_key_and_is_found_there(
    key: str, client: Client, latches: Latches
) -> None:
    answer = client.post("scripted", key, script({"await": "go", "then": {"return": 1}}), Prefer="respond-async")
    latches.wait_for_starts(1)
    assert answer.headers["location"] == f"scripted/{quote(key, safe='*')}".replace("~", "%7E")
    asked = client.send("GET", f"/default/{answer.headers['location']}")
    assert (asked.status, json.loads(asked.body)["id"]) == (202, f"default#scripted#{key}")
    shown = answer.headers["once-id"]
    assert asked.headers["once-id"] == shown
    assert unquote(shown) == f"default#scripted#{key}"
    assert not set(shown) & set(" +\"'")


@pytest.mark.parametrize("prefer", ["", "respond-async"])
@pytest.mark.parametrize(
    ("end", "status"),
    [
        ({"result": {"a": 1}}, 200),
        ({"failed": "no", "status": 409}, 409),
    ],
)
def test_what_waits_for_work_elsewhere_is_in_progress_until_that_ends_it(
    cloud: LocalCloud, client: Client, latches: Latches, prefer: str, end: dict[str, Any], status: int
) -> None:
    payload, id = script({"pending": 7200}), "default#scripted#k"
    first = client.post("scripted", "k", payload, Prefer=prefer)
    cloud.settle()
    assert (cloud.record(id) or {})["pendingSince"]
    duplicate, waited, looked_up = (
        client.post("scripted", "k", payload),
        client.post("scripted", "k", payload, Prefer="wait=3"),
        client.get("scripted", "k"),
    )
    for each, location in ((first, "scripted/k"), (duplicate, "scripted/k"), (waited, "scripted/k"), (looked_up, None)):
        assert (each.status, each.headers.get("location")) == (202, location), each
        assert json.loads(each.body) == {"status": "IN_PROGRESS", "id": id}
    rejected = client.post("scripted", "k", payload, Once_On_Conflict="reject")
    assert says(rejected, 409, "in-progress")["id"] == id
    assert end_by_ticket(cloud, id, **end)
    again, looked_up = client.post("scripted", "k", payload), client.get("scripted", "k")
    assert (again.status, looked_up.status, again.body) == (status, status, looked_up.body)
    if status == 200:
        assert again.body == b'{"a":1}'


def test_what_waits_for_work_elsewhere_is_not_asked_for_every_two_seconds(client: Client, latches: Latches) -> None:
    client.post("scripted", "k", script({"pending": 7200}))
    assert client.get("scripted", "k").headers["retry-after"] == "30"


# ---- what is refused ----


@pytest.mark.parametrize("body", ["", "{", "[]", '{"a": 1e999}'])
def test_a_body_that_is_no_json_object_is_refused(body: str, cloud: LocalCloud, client: Client) -> None:
    answer = client.send("POST", "/default/charge-payment", body, Content_Type="application/json", Idempotency_Key="k")
    if body:  # by API Gateway itself, or by the machine
        assert (answer.status, "body" in answer.problem["detail"]) == (400, True)
    else:  # AWS makes {} of it, which this operation's schema refuses
        assert says(answer, 422, "operation-failed")
    assert rows(cloud, "ProviderLedgerTable") == 0


@pytest.mark.parametrize("number", ["9007199254740993", "-1e16", "1e300"])
def test_a_whole_number_that_may_be_rounded_is_refused_by_name(number: str, client: Client) -> None:
    given = {"Content_Type": "application/json", "Idempotency_Key": "k"}
    answer = client.send("POST", "/default/charge-payment", f'{{"amount": [{number}]}}', **given)
    assert "as a string" in says(answer, 400, "invalid-request")["detail"]


def test_a_request_with_an_unusable_key_is_told_which_field_is_wrong(client: Client) -> None:
    headers = {"Content_Type": "application/json"}
    missing = client.send("POST", "/default/charge-payment", "{}", **headers)
    assert "Idempotency-Key" in says(missing, 400, "invalid-request")["detail"]
    assert "Idempotency-Key" in says(client.post("charge-payment", "", CHARGE), 400, "invalid-request")["detail"]
    for key in ("x" * 257, '"a', '"a"b"', "a\u00e9"):
        assert "idempotencyKey" in says(client.post("charge-payment", key, CHARGE), 400, "invalid-request")["detail"]
    assert "operation" in says(client.post("Charge", "k", CHARGE), 400, "invalid-request")["detail"]
    assert "tenant" in says(client.post("charge-payment", "k", CHARGE, "ACME"), 400, "invalid-request")["detail"]
    wrong = {"Once_On_Conflict": "onConflict", "Once_On_Crash": "onCrash", "Once_On_Failed": "onFailed"}
    for header, field in wrong.items():
        answer = client.post("charge-payment", "k", CHARGE, **{header: "never"})
        assert field in says(answer, 400, "invalid-request")["detail"]


def test_only_json_is_taken(client: Client) -> None:
    refused = client.post("charge-payment", "k", CHARGE, Content_Type="text/plain")
    assert (refused.status, refused.problem["title"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    for each in ("application/json; charset=utf-8", "Application/JSON ;charset=utf-8"):
        assert client.post("charge-payment", "k", CHARGE, Content_Type=each).status == 200


LARGE = ["x" * 181_000, "x" * 98_300 + "\n" * 40_800, *('"x' * half for half in (56_000, 100_000, 150_000))]


@pytest.mark.parametrize("more", LARGE, ids=len)
def test_what_is_too_large_is_refused_by_whoever_sees_it_first(more: str, client: Client) -> None:
    """By its bytes, by those of the string that it is kept as, and by those of the input that it would be."""
    answer = client.post("build-report", "k", {"bytes": 1024, "more": more})
    assert says(answer, 413, "request-too-large")


def test_what_is_too_large_for_api_gateway_is_refused_in_its_own_words(client: Client) -> None:
    answer = client.post("build-report", "k", {"bytes": 1024, "more": "x" * 11_000_000})
    assert (answer.status, answer.headers["content-type"]) == (413, "application/json")


# ---- what fails ----


@pytest.mark.parametrize(
    ("message", "status", "detail"),
    [
        ("[402] the card's bank declined", 402, "the card's bank declined"),
        ('out of "stock"\n\u2028', 422, 'out of "stock"\n\u2028'),
    ],
)
def test_a_failure_for_good_has_the_status_that_business_logic_names(
    message: str, status: int, detail: str, cloud: LocalCloud, client: Client, latches: Latches
) -> None:
    payload = script({"raise": "PermanentError", "message": message})
    first, again = (client.post("scripted", "k", payload) for _ in range(2))
    problem = says(first, status, "operation-failed")
    assert (problem["error"], problem["detail"], problem["id"]) == ("PermanentError", detail, "default#scripted#k")
    assert first.body == again.body == client.get("scripted", "k").body
    assert says(client.get("scripted", "k"), status, "operation-failed")
    by_the_full_lane = cloud.run({"operation": "scripted", "idempotencyKey": "k", "payload": payload})
    assert json.loads(by_the_full_lane.cause or "")["message"] == detail
    assert latches.starts() == 1


def test_text_of_an_unexpected_error_is_told_to_operators_and_to_no_caller(
    cloud: LocalCloud, client: Client, latches: Latches
) -> None:
    """It can be anything: a connection string, a card number, the name of a table."""
    text = "db-7.internal does not know card 4111111111111111"
    payload = script({"raise": "LookupError", "message": text})
    for answer in (
        client.post("scripted", "k", payload, Once_On_Crash="quarantine"),
        client.post("scripted", "k", payload),
        client.get("scripted", "k"),
    ):
        problem = says(answer, 500, "needs-attention")
        assert "operator" in problem["title"] and "same key" in problem["detail"]
        assert "retry-after" not in answer.headers
        assert b"4111" not in answer.body and b"LookupError" not in answer.body, answer.body
    by_the_full_lane = cloud.run({"operation": "scripted", "idempotencyKey": "k", "payload": payload})
    for told in (cause(by_the_full_lane), cloud.record("default#scripted#k")["error"]):
        assert (told["name"], told["message"]) == ("LookupError", text)


def test_an_execution_that_breaks_is_no_answer_yet(cloud: LocalCloud, client: Client) -> None:
    with cloud.intercept(fails("AccessDeniedException", state="Finalize", nth=0)):
        answer = client.post("charge-payment", "k", CHARGE)
    assert says(answer, 504, "unavailable")
    assert answer.headers["retry-after"] == "2"


def test_what_nobody_has_asked_for_is_not_found(client: Client) -> None:
    unknown = client.get("charge-payment", "no-such-key")
    assert says(unknown, 404, "not-found")
    assert not {"retry-after", "once-id"} & set(unknown.headers)
    assert says(client.get("Charge", "k"), 404, "not-found")


@pytest.mark.parametrize(
    ("operation", "payload", "status"),
    [
        ("charge-payment", CHARGE, 200),
        ("build-report", {"bytes": 20_000}, 303),
        ("scripted", script({"raise": "PermanentError", "message": "[402] declined"}), 402),
    ],
)
@pytest.mark.usefixtures("latches")
def test_what_has_expired_is_not_found_though_the_table_still_has_it(
    operation: str, payload: Any, status: int, cloud: LocalCloud, client: Client
) -> None:
    """DynamoDB deletes late. A lookup finds a record for as long as a duplicate is answered from it."""
    client.post(operation, "k", payload)
    record = cloud.record(f"default#{operation}#k") or {}
    cloud.clock.advance(record["expiresAt"] + 0.9 - cloud.clock.now())  # its last second
    duplicate = client.post(operation, "k", payload)
    assert (client.get(operation, "k").status, duplicate.status) == (status, status)
    assert cloud.record(record["id"]) == record, "it is the first one's answer"
    cloud.clock.advance(1)
    gone = client.get(operation, "k")
    assert says(gone, 404, "not-found") and "once-id" not in gone.headers
    assert cloud.record(record["id"]) == record
    client.post(operation, "k", payload)
    assert (cloud.record(record["id"]) or {})["expiresAt"] > record["expiresAt"], "it is done again"


def test_who_does_not_sign_is_turned_away_before_anything_is_read(client: Client, cloud: LocalCloud) -> None:
    headers = {"Content_Type": "application/json", "Idempotency_Key": "k"}
    for answer in (
        client.send("POST", "/default/charge-payment", json.dumps(CHARGE), signed=False, **headers),
        client.send(
            "POST",
            "/default/charge-payment",
            json.dumps(CHARGE),
            signed=False,
            Authorization="AWS4-HMAC-SHA256 Credential=x/y/z/execute-api/aws4_request",
            **headers,
        ),
        client.send("GET", "/nowhere"),
    ):
        assert (answer.status, answer.problem["type"]) == (403, "about:blank")
    assert rows(cloud, "ProviderLedgerTable") == 0
