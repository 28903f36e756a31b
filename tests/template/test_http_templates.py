"""What the HTTP API makes of the answers of Step Functions and DynamoDB, by its mapping templates alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from oncekit.local.gateway.exchange import Sent, rendered
from oncekit.local.gateway.rest_api import Method
from oncekit.local.gateway.variables import new_context

Json = Mapping[str, Any]
NOW = 1_800_000_000
DONE = {"id": "acme#a#k '\"\u00e9", "operation": "a", "idempotencyKey": "k '\"\u00e9+", "attempt": 2}
LARGE = {"key": "responses/1d/acme/ab/c.json", "bytes": 600_000, "sha256": "ab"}
TENANT = {"tenant": "acme", "operation": "a"}
ID = {"Once-Id": "acme#a#k%20%27%22%C3%A9"}
RETRY = {"Retry-After": "2"}
SAYS = """it's "so" \\ """
NAME = """E"'"""
PROBLEM = {"Content-Type": "application/problem+json"}


def made(
    source: Json, template: str, answer: Json, path: Mapping[str, str], millis: int = 0, **headers: str
) -> tuple[Json, int, Json]:
    """The body, the status and the headers of what answers a request with these headers."""
    context = new_context("live", "POST", NOW + millis / 1000, {})
    sent = Sent(
        Method("POST", "/", {}), dict(path), {}, {each.replace("_", "-"): headers[each] for each in headers}, ""
    )
    text = rendered(source["Mappings"]["HttpTemplates"][template]["Response"], json.dumps(answer), sent, context)
    override = context["responseOverride"]
    return json.loads(text), override["status"], override["header"]


# ---- what is asked for ----

ROLES = '#set($machine = "arn:machine")#set($table = "table")#set($pool = "")#set($claim = "")'
POOL = '#set($machine = "arn:machine")#set($table = "table")#set($pool = "pool")#set($claim = "custom:tenant")'
RESULT = {"days": "30d", "hash": "ab" * 32, "object": f"7-{'c' * 16}.json"}
HEADERS = {
    "idempotency-KEY": "k+",
    "PREFER": "respond-async",
    "Once-on-Conflict": "wait",
    "once-On-crash": "retry",
    "once-on-failed": "return",
    "X-Other": "x",
}


def asked(
    source: Json,
    template: str,
    path: Json,
    *,
    headers: Mapping[str, str] = MappingProxyType({}),
    body: str = "",
    claim: str | None = None,
) -> tuple[str, Mapping[str, str]]:
    """The body of the integration's request, and the parts of its path; `claim`: the tenant in a token of a pool."""
    context = new_context("live", "POST", NOW, {} if claim is None else {"custom:tenant": claim})
    start = ROLES if claim is None else POOL
    sent = Sent(Method("POST", "/", {}), dict(path), {}, dict(headers), body)
    text = rendered(start + source["Mappings"]["HttpTemplates"][template]["Request"], body, sent, context)
    return text, dict(context["requestOverride"]["path"])


@pytest.mark.parametrize(
    ("path", "claim", "tenant"),
    [({}, None, "default"), ({"tenant": "acme"}, None, "acme"), ({"tenant": "acme"}, "acme", "acme")],
)
def test_a_result_is_fetched_from_the_tenants_own_place(
    path: Json, claim: str | None, tenant: str, source: Json
) -> None:
    assert asked(source, "FetchResult", {**path, **RESULT}, claim=claim)[1] == {"tenant": tenant, **RESULT}


@pytest.mark.parametrize(
    ("path", "claim"),
    [
        ({"tenant": "acme", **RESULT}, "other"),
        ({"tenant": "acme", **RESULT}, ""),
        (RESULT, "acme"),
        *(({**RESULT, name: f"{value}x"}, None) for name, value in RESULT.items()),
        *(({**RESULT, name: f"../{value}"}, None) for name, value in RESULT.items()),
        ({**RESULT, "tenant": "a/b"}, None),
    ],
)
def test_nothing_else_is_fetched(path: Json, claim: str | None, source: Json) -> None:
    assert asked(source, "FetchResult", path, claim=claim)[1] == {}


@pytest.mark.parametrize(
    ("path", "claim", "tenant"),
    [({}, None, "default"), ({"tenant": "acme"}, None, "acme"), ({"tenant": "acme"}, "acme", "acme")],
)
def test_a_start_has_whatever_was_sent_where_nothing_can_be_added_to_it(
    path: Json, claim: str | None, tenant: str, source: Json
) -> None:
    body = '{"a": "}"}'
    text = asked(source, "StartOperation", {**path, "operation": "a"}, headers=HEADERS, body=body, claim=claim)[0]
    start = json.loads(text)
    assert (start["stateMachineArn"], "name" in start) == ("arn:machine", False)
    assert json.loads(start["input"]) == {
        "http": {
            "tenant": tenant,
            "operation": "a",
            "key": "k%2B",
            "prefer": "respond-async",
            "onConflict": "wait",
            "onCrash": "retry",
            "onFailed": "return",
            "body": "%7B%22a%22%3A+%22%7D%22%7D",
        }
    }


@pytest.mark.parametrize(
    ("headers", "tenant", "claim"), [({}, "acme", None), (HEADERS, "acme", "other"), (HEADERS, "acme", "")]
)
def test_a_start_without_a_key_or_for_another_tenant_is_refused(
    headers: Json, tenant: str, claim: str | None, source: Json
) -> None:
    text = asked(source, "StartOperation", {"tenant": tenant, "operation": "a"}, headers=headers, claim=claim)[0]
    assert json.loads(text) == {"stateMachineArn": "arn:machine", "name": " ", "input": "{}"}


def test_what_was_not_sent_is_empty(source: Json) -> None:
    text = asked(source, "StartOperation", {"operation": "a"}, headers={"Idempotency-Key": "k"})[0]
    sent = json.loads(json.loads(text)["input"])["http"]
    assert {name for name, value in sent.items() if value} == {"tenant", "operation", "key", "body"}
    assert sent["body"] == "%7B%7D", "API Gateway takes no body for an empty object"


@pytest.mark.parametrize(
    ("path", "claim", "id"),
    [
        ({"operation": "a"}, None, "default#a#k +"),
        ({"operation": "a", "tenant": "acme"}, None, "acme#a#k +"),
        ({"operation": "a", "tenant": "acme"}, "acme", "acme#a#k +"),
        ({"operation": "a", "tenant": "acme"}, "other", " "),
        ({"operation": "A", "tenant": "acme"}, None, " "),
        ({"operation": "a", "tenant": "a#b"}, None, " "),
        ({"operation": "a", "key": "%zz"}, None, " "),
    ],
)
def test_a_record_is_looked_up_by_the_id_that_a_start_would_have(
    path: Json, claim: str | None, id: str, source: Json
) -> None:
    text = asked(source, "LookUpOperation", {"key": "k%20+", **path}, claim=claim)[0]
    asks = json.loads(text)
    assert (asks["TableName"], asks["ConsistentRead"], asks["Key"]) == ("table", True, {"id": {"S": id}})


# ---- of Step Functions ----


def ended(disposition: str, **more: Any) -> Json:
    return {"status": "SUCCEEDED", "output": json.dumps({**DONE, "disposition": disposition, **more})}


def failed(error: str, **cause: Any) -> Json:
    return {"status": "FAILED", "error": error, "cause": json.dumps(cause)}


def problem(type: str, title: str, status: int, **more: Any) -> Json:
    return {"type": f"urn:problem-type:once:{type}", "title": title, "status": status, **more}


NOT_KNOWN = problem("unavailable", "Not known yet how it ends: send the request again, with the same key", 503)
SAID = {"detail": SAYS, "id": DONE["id"]}
DECIDED_BY_AN_OPERATOR = problem(
    "needs-attention",
    "An operator has to decide how the operation ends",
    500,
    detail="send the request again later, with the same key: with another one it may happen twice",
    id=DONE["id"],
)
STARTED: Mapping[str, tuple[Json, Json, int, Json]] = {
    "executed": (ended("EXECUTED", result="[7]"), [7], 200, {"Once-Attempt": "2", **ID}),  # type: ignore[dict-item]
    "replayed": (
        ended("REPLAYED", result='{"a":1}'),
        {"a": 1},
        200,
        {"Once-Attempt": "2", "Idempotent-Replayed": "true", **ID},
    ),
    "large": (
        ended("EXECUTED", resultRef=LARGE),
        {"bytes": 600_000, "sha256": "ab"},
        303,
        {"Once-Attempt": "2", "Location": "../results/1d/ab/c.json", **ID},
    ),
    "in progress": (
        ended("IN_PROGRESS"),
        {"status": "IN_PROGRESS", "id": DONE["id"]},
        202,
        {"Location": "a/k%20%27%22%C3%A9%2B", **ID, **RETRY},
    ),
    "invalid": (
        failed("InvalidRequest", message=SAYS, id=DONE["id"]),
        problem("invalid-request", "The request is not valid", 400, **SAID),
        400,
        {**PROBLEM, **ID},
    ),
    "larger": (
        failed("InvalidRequest", message="the request is larger than"),
        problem("request-too-large", "The request is too large", 413, detail="the request is larger than"),
        413,
        PROBLEM,
    ),
    "written larger": (
        failed("InvalidRequest", message="the request, written"),
        problem("request-too-large", "The request is too large", 413, detail="the request, written"),
        413,
        PROBLEM,
    ),
    "mismatch": (
        failed("PayloadMismatch", message=SAYS, id=DONE["id"]),
        problem("payload-mismatch", "The key belongs to another payload", 422, **SAID),
        422,
        {**PROBLEM, **ID},
    ),
    "conflict": (
        failed("OperationInProgress", message=SAYS, id=DONE["id"]),
        problem("in-progress", "The operation is in progress", 409, **SAID),
        409,
        {**PROBLEM, **ID, **RETRY},
    ),
    "failed": (
        failed("OperationFailed", name=NAME, message=SAYS, id=DONE["id"]),
        problem("operation-failed", "The operation failed for good", 422, error=NAME, **SAID),
        422,
        {**PROBLEM, **ID},
    ),
    "failed by a status": (
        failed("OperationFailed", name=NAME, message=SAYS, id=DONE["id"], status=402),
        problem("operation-failed", "The operation failed for good", 402, error=NAME, **SAID),
        402,
        {**PROBLEM, **ID},
    ),
    "quarantined": (
        failed("NeedsAttention", name=NAME, message=SAYS, id=DONE["id"]),
        DECIDED_BY_AN_OPERATOR,
        500,
        {**PROBLEM, **ID},
    ),
    "lost": (
        failed("LockLost", message=SAYS, id=DONE["id"]),
        problem("lock-lost", "There is no result to give any more", 500, **SAID),
        500,
        {**PROBLEM, **ID},
    ),
    "unavailable": (
        failed("Unavailable", message=SAYS, id=DONE["id"]),
        {**NOT_KNOWN, **SAID},
        503,
        {**PROBLEM, **ID, **RETRY},
    ),
    "timed out": ({"status": "TIMED_OUT", "error": "States.Timeout"}, NOT_KNOWN, 503, {**PROBLEM, **RETRY}),
    **{
        f"refused: {code}": (
            {"__type": f"com.amazonaws.swf.service.v2.model#{code}"},
            problem("throttled", "Too many requests: send this one again later, with the same key", 429),
            429,
            {**PROBLEM, **RETRY},
        )
        for code in ("ThrottlingException", "TooManyRequestsException", "StateMachineLimitExceeded")
    },
    **{
        f"refused: {code}": (
            {"__type": code},
            problem("request-too-large", "The request is too large", 413),
            413,
            PROBLEM,
        )
        for code in ("InvalidExecutionInput", "ValidationException")
    },
    "refused: InvalidName": (
        {"__type": "InvalidName"},
        problem("invalid-request", "The request is not valid", 400, detail="the header Idempotency-Key is missing"),
        400,
        PROBLEM,
    ),
}


@pytest.mark.parametrize("name", STARTED)
def test_what_an_execution_answered_has_its_status_its_headers_and_its_body(name: str, source: Json) -> None:
    answer, *wanted = STARTED[name]
    assert list(made(source, "StartOperation", answer, TENANT)) == wanted


def test_a_large_result_without_a_tenant_is_at_the_path_without_one(source: Json) -> None:
    answer = ended("EXECUTED", resultRef={**LARGE, "key": "responses/1d/default/ab/c.json"})
    assert made(source, "StartOperation", answer, {"operation": "a"})[2]["Location"] == "../results/1d/ab/c.json"


@pytest.mark.parametrize(("key", "status"), [("k", 403), ("", 400)])
def test_a_start_that_was_made_invalid_had_a_token_for_another_tenant_or_no_key(
    key: str, status: int, source: Json
) -> None:
    body, told, headers = made(source, "StartOperation", {"__type": "InvalidName"}, TENANT, Idempotency_KEY=key)
    if key:
        assert body == problem("other-tenant", "The token is for another tenant", 403)
    assert (told, headers) == (status, PROBLEM)


# ---- of DynamoDB ----

KEPT: Mapping[str, Json] = {"id": {"S": DONE["id"]}, "attempts": {"N": "2"}, "expiresAt": {"N": str(NOW + 9)}}
ERROR = {"name": {"S": NAME}, "message": {"S": SAYS}}
REF = {"key": {"S": LARGE["key"]}, "bytes": {"N": "600000"}, "sha256": {"S": "ab"}}
ANSWERED = {"Once-Attempt": "2", "Idempotent-Replayed": "true"}
UNKNOWN = (problem("not-found", "No request with this key is known", 404), 404, PROBLEM)
LOOKED_UP: Mapping[str, tuple[Json, Json, int, Json]] = {
    "completed": (
        {"Item": {**KEPT, "status": {"S": "COMPLETED"}, "result": {"S": '{"a":1}'}}},
        {"a": 1},
        200,
        {**ANSWERED, **ID},
    ),
    "large": (
        {"Item": {**KEPT, "status": {"S": "COMPLETED"}, "resultRef": {"M": REF}}},
        {"bytes": 600_000, "sha256": "ab"},
        303,
        {**ANSWERED, **ID, "Location": "../../results/1d/ab/c.json"},
    ),
    "in progress": (
        {"Item": {"id": KEPT["id"], "attempts": {"N": "1"}, "status": {"S": "IN_PROGRESS"}}},
        {"status": "IN_PROGRESS", "id": DONE["id"]},
        202,
        {**ID, **RETRY},
    ),
    "failed": (
        {"Item": {**KEPT, "status": {"S": "FAILED"}, "error": {"M": ERROR}}},
        problem("operation-failed", "The operation failed for good", 422, error=NAME, **SAID),
        422,
        {**PROBLEM, **ID},
    ),
    "quarantined": (
        {"Item": {**KEPT, "status": {"S": "QUARANTINED"}, "error": {"M": ERROR}}},
        DECIDED_BY_AN_OPERATOR,
        500,
        {**PROBLEM, **ID},
    ),
    "no record": ({}, *UNKNOWN),
    "a key that no record can have": ({"__type": "com.amazon.coral.validate#ValidationException"}, *UNKNOWN),
}


@pytest.mark.parametrize("name", LOOKED_UP)
def test_what_a_record_says_has_its_status_its_headers_and_its_body(name: str, source: Json) -> None:
    answer, *wanted = LOOKED_UP[name]
    assert list(made(source, "LookUpOperation", answer, {**TENANT, "key": "k"})) == wanted


def looked_up(source: Json, answer: Json, millis: int = 0) -> tuple[Json, Json]:
    body, status, headers = made(source, "LookUpOperation", answer, {"operation": "a", "key": "k"}, millis)
    return body, {"status": status, "header": headers}


# DynamoDB throttles and refuses with HTTP 400: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/
# Programming.Errors.html
@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "ThrottlingException", "AccessDeniedException"]
)
def test_a_record_that_could_not_be_read_is_not_called_unknown(code: str, source: Json) -> None:
    body, override = looked_up(source, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "x"})
    assert (override["status"], body["type"]) == (503, "urn:problem-type:once:unavailable")
    assert override["header"]["Retry-After"] == "2"


def test_a_record_that_has_expired_is_unknown(source: Json) -> None:
    kept = {"id": {"S": "i"}, "status": {"S": "COMPLETED"}, "attempts": {"N": "1"}, "result": {"S": "[7]"}}
    for expires, status in ((1_800_000_000, 200), (1_799_999_999, 404)):
        # As the state machine, which counts whole seconds: an answer that a POST still replays is no unknown one.
        for millis in (0, 999):
            found: tuple[Any, Json] = looked_up(source, {"Item": {**kept, "expiresAt": {"N": str(expires)}}}, millis)
            assert (found[1]["status"], found[0] == [7]) == (status, status == 200)


def test_a_failure_has_the_status_of_its_record_as_a_number(source: Json) -> None:
    error = {"name": {"S": "PermanentError"}, "message": {"S": "no"}, "status": {"N": "402"}}
    failed = {"id": {"S": "i"}, "status": {"S": "FAILED"}, "attempts": {"N": "1"}, "error": {"M": error}}
    body, override = looked_up(source, {"Item": failed})
    assert override["status"] == body["status"] == 402
