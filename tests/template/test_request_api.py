"""Rules for the HTTP API: what it takes from a sender, who may call it, and what it says of itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from one_state import states_of
from openapi_spec_validator import validate
from template_parts import values_for, written_with

from oncekit.cli.here.openapi import as_yaml, document
from oncekit.local.deployment.deploy import rendered_definitions
from oncekit.local.gateway.exchange import Sent, rendered
from oncekit.local.gateway.rest_api import Method
from oncekit.local.gateway.variables import new_context
from oncekit.local.templates.template import load

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template.yaml"
API = ROOT / "api" / "template.yaml"
POOL = "arn:aws:cognito-idp:us-east-1:123456789012:userpool/us-east-1_pool"
Json = Mapping[str, Any]


def api(**given: str) -> dict[str, Any]:
    known, resources = written_with(API, **given)
    resolved: dict[str, Any] = known.resolve(resources["RequestApi"]["Properties"])
    return resolved


def methods(**given: str) -> Iterator[tuple[str, Json]]:
    """Those that do something: OPTIONS only tells pages what they may send."""
    for path, each in api(**given)["DefinitionBody"]["paths"].items():
        yield from ((f"{name} {path}", method) for name, method in each.items() if name != "options")


def templates() -> Iterator[tuple[str, str]]:
    for name, method in methods():
        integration = method["x-amazon-apigateway-integration"]
        yield f"{name}: request", integration["requestTemplates"]["application/json"]
        for status, each in integration["responses"].items():
            if "responseTemplates" in each:
                yield f"{name}: {status}", each["responseTemplates"]["application/json"]


@pytest.mark.parametrize(("given", "scheme"), [({}, "iam"), ({"HttpUserPoolArn": POOL}, "userPool")])
def test_nothing_is_called_without_a_signature_or_a_token(given: dict[str, str], scheme: str) -> None:
    assert {json.dumps(method["security"]) for _, method in methods(**given)} == {json.dumps([{scheme: []}])}


def test_the_api_is_deployed_again_also_where_sam_sees_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Translated by SAM alone, which knows a parameter by its name, and deploys what has another name."""
    from samtranslator.model import apigateway

    deployments = set()
    for now, origin in ((1, "https://shop.example"), (2, "https://other.example")):
        monkeypatch.setattr(apigateway, "time", SimpleNamespace(time=lambda now=now: now))
        made = load(API, values_for(API, HttpCorsOrigin=origin), tmp_path / origin[-13:]).section("Resources")
        deployments |= {name for name, each in made.items() if each["Type"] == "AWS::ApiGateway::Deployment"}
    assert len(deployments) == 2


_RAW = re.compile(r"\$(?:input\.(?:body|params|json)|headers\.get|path\.get|value|sent)")
_ASSIGNED = re.compile(r"#set\(\$[\w.]+ = .*\)##|#(?:if|elseif|foreach)\(.*\)##")


def test_nothing_that_a_sender_writes_is_put_into_json_as_it_is() -> None:
    """Into the input of an execution only URL-encoded, into other JSON only escaped."""
    for name, text in templates():
        for line in text.splitlines():
            if not _ASSIGNED.fullmatch(line.strip()) and (raw := _RAW.search(line)):
                assert line[: raw.start()].endswith("$util.urlEncode("), f"{name}: {line}"


def test_a_template_writes_no_line_break_of_its_own() -> None:
    for name, text in templates():
        lines = text.rstrip("\n").splitlines()
        assert all(line.endswith("##") for line in lines[:-1]), name


def test_its_log_has_neither_keys_nor_payloads() -> None:
    setting = api(HttpAccessLog="true")["AccessLogSetting"]
    assert setting["DestinationArn"] == "arn:aws:logs:us-east-1:123456789012:log-group:RequestApiLogGroup"
    # Where there is no value, what stands for it must not break the line.
    line = re.sub(r"\$[\w.]+", "-", setting["Format"])
    assert set(json.loads(line)) == {
        "requestId", "time", "method", "resource", "status", "latency", "bytes", "caller", "sourceIp", "error",
    }  # fmt: skip
    assert "$context.path" not in setting["Format"] and "$input" not in setting["Format"]


def test_every_refusal_of_api_gateway_is_a_problem_document() -> None:
    refusals = api()["DefinitionBody"]["x-amazon-apigateway-gateway-responses"]
    assert {"DEFAULT_4XX", "DEFAULT_5XX"} <= set(refusals)
    for kind, each in refusals.items():
        assert each["responseParameters"]["gatewayresponse.header.Content-Type"] == "'application/problem+json'", kind
        text = each["responseTemplates"]["application/json"].replace("$context.error.messageString", '"x"')
        problem = json.loads(text)
        assert {"type", "title", "detail"} <= set(problem)
    again = {
        kind for kind, each in refusals.items() if "gatewayresponse.header.Retry-After" in each["responseParameters"]
    }
    assert again == {"THROTTLED", "DEFAULT_5XX"}


# ---- what Step Functions refuses ----


def answered(body: str, claims: Json | None = None, **headers: str) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """What the template of the answer makes of what Step Functions says, and the overrides."""
    post = dict(methods(**({} if claims is None else {"HttpUserPoolArn": POOL})))["post /{tenant}/{operation}"]
    context = new_context("live", "POST", 0, claims or {})
    headers = headers or {"Idempotency-Key": "k"}
    sent = Sent(Method("POST", "", {}), {"tenant": "default", "operation": "charge"}, {}, headers, "")
    template = post["x-amazon-apigateway-integration"]["responses"]["default"]["responseTemplates"]["application/json"]
    return json.loads(rendered(template, body, sent, context)), context["responseOverride"]


@pytest.mark.parametrize(
    ("refused", "status", "kind", "again"),
    [
        ("ThrottlingException", 429, "throttled", True),
        ("com.amazonaws.swf.service.v2.model#TooManyRequestsException", 429, "throttled", True),
        ("ExecutionLimitExceeded", 429, "throttled", True),
        ("InvalidExecutionInput", 413, "request-too-large", False),
        ("ValidationException", 413, "request-too-large", False),
        ("StateMachineDeleting", 503, "unavailable", True),
    ],
)
def test_what_step_functions_refuses_has_a_status_and_says_whether_to_come_again(
    refused: str, status: int, kind: str, again: bool
) -> None:
    problem, override = answered(json.dumps({"__type": refused, "message": "no"}))
    assert (problem["status"], problem["type"]) == (status, f"urn:problem-type:once:{kind}")
    assert override["status"] == status
    assert override["header"].get("Retry-After") == ("2" if again else None)
    assert override["header"]["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("refused", ["InvalidName", "ValidationException", "ThrottlingException"])
def test_a_missing_key_and_another_tenant_are_told_whatever_step_functions_says(refused: str) -> None:
    """The template of the request sends a name then that Step Functions refuses: nothing starts."""
    says, theirs = json.dumps({"__type": refused}), {"custom:tenant": "acme"}
    for headers in ({"Idempotency-Key": ""}, {"Idempotency": "k"}):
        for claims in (None, theirs):
            problem = answered(says, claims, **headers)[0]
            assert (problem["status"], problem["detail"]) == (400, "the header Idempotency-Key is missing")
    for headers in ({"Idempotency-Key": "k"}, {"idempotency-key": "k"}):
        problem = answered(says, theirs, **headers)[0]
        assert (problem["status"], problem["type"]) == (403, "urn:problem-type:once:other-tenant")


SAYS = """it's "so" \\ """
ENDS = {
    "lost": ({"status": "FAILED", "error": "LockLost", "cause": json.dumps({"message": SAYS})}, 500, "lock-lost"),
    "unavailable": (
        {"status": "FAILED", "error": "Unavailable", "cause": json.dumps({"message": SAYS, "id": "i"})},
        503,
        "unavailable",
    ),
    "timed out": ({"status": "TIMED_OUT", "error": "States.Timeout"}, 503, "unavailable"),
}


@pytest.mark.parametrize(("end", "status", "kind"), ENDS.values(), ids=ENDS)
def test_an_execution_that_cannot_tell_the_result_is_a_problem(end: Json, status: int, kind: str) -> None:
    """The other ends are seen in tests/statemachine/test_http_answers.py."""
    problem, override = answered(json.dumps(end))
    assert (problem["status"], problem["type"]) == (status, f"urn:problem-type:once:{kind}")
    assert override["header"].get("Retry-After") == ("2" if status == 503 else None)
    told = json.loads(end.get("cause", "{}"))
    assert (problem.get("detail"), problem.get("id")) == (told.get("message"), told.get("id"))


# ---- what is looked up ----


def looked_up(answer: Json, now: float = 0) -> tuple[Any, Json]:
    """What the template of the answer makes of what DynamoDB says, and the overrides."""
    get = dict(methods())["get /{tenant}/{operation}/{key}"]
    template = get["x-amazon-apigateway-integration"]["responses"]["default"]["responseTemplates"]["application/json"]
    context = new_context("live", "GET", now, {})
    sent = Sent(Method("GET", "", {}), {"tenant": "default", "operation": "a", "key": "k"}, {}, {}, "")
    return json.loads(rendered(template, json.dumps(answer), sent, context)), context["responseOverride"]


# DynamoDB throttles and refuses with HTTP 400: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/
# Programming.Errors.html
@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "ThrottlingException", "AccessDeniedException"]
)
def test_a_record_that_could_not_be_read_is_not_called_unknown(code: str) -> None:
    body, override = looked_up({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "x"})
    assert (override["status"], body["type"]) == (503, "urn:problem-type:once:unavailable")
    assert override["header"]["Retry-After"] == "2"


def test_a_key_that_no_record_can_have_is_unknown() -> None:
    """DynamoDB refuses one of more than 2048 bytes, however often it is sent."""
    body, override = looked_up({"__type": "com.amazon.coral.validate#ValidationException", "message": "x"})
    assert (override["status"], body["type"]) == (404, "urn:problem-type:once:not-found")
    assert "Retry-After" not in override["header"]


def test_a_record_that_has_expired_is_unknown() -> None:
    kept = {"id": {"S": "i"}, "status": {"S": "COMPLETED"}, "attempts": {"N": "1"}, "result": {"S": "[7]"}}
    for expires, status in ((1_800_000_000, 200), (1_799_999_999, 404)):
        # As the state machine, which counts whole seconds: an answer that a POST still replays is no unknown one.
        for now in (1_800_000_000, 1_800_000_000.999):
            body, override = looked_up({"Item": {**kept, "expiresAt": {"N": str(expires)}}}, now)
            assert (override["status"], body == [7]) == (status, status == 200)


def reading() -> Iterator[tuple[str, Json, str]]:
    """Whoever reads one item: the call of each, and the text that reads its answer."""
    for name, method in methods():
        integration = method["x-amazon-apigateway-integration"]
        if integration["uri"].endswith("dynamodb:action/GetItem"):
            sent = Sent(Method("GET", "", {}), dict.fromkeys(("tenant", "operation", "key"), "a"), {}, {}, "")
            asks = integration["requestTemplates"]["application/json"]
            call = json.loads(rendered(asks, "", sent, new_context("live", "GET", 0, {})))
            yield name, call, json.dumps(integration["responses"])
    for name, definition in rendered_definitions(TEMPLATE).items():
        [state] = [each for _, each in states_of(definition) if each.get("Resource", "").endswith("dynamodb:getItem")]
        yield name, state["Arguments"], json.dumps(definition)


_ITEM = r"(?:\$\.Item|\$states\.result\.Item)\b"
_NAMED = re.compile(rf"(?:\$(\w+) :=|\"(\w+)\": \"{{%)(?: \$exists\({_ITEM}\) \?)? {_ITEM}(?![.\[])")
"""A variable that is an item, or what takes its place where there is none."""


def members_read(text: str) -> set[str]:
    """The attributes that a text reads out of an item."""
    named = [name for found in _NAMED.findall(text) for name in found if name]
    items = "|".join((_ITEM, *(rf"\${name}\b" for name in named)))
    read = re.findall(rf"(?:{items})(?:\[(\w+)[^\]]*\])?\.(\w+)", text)
    return {name for each in read for name in each if name}


@pytest.mark.parametrize(("call", "text"), [pytest.param(*each, id=name) for name, *each in reading()])
def test_whatever_is_read_out_of_a_record_was_asked_for(call: Json, text: str) -> None:
    """DynamoDB leaves out what is not, and a template or an expression finds nothing there without a word."""
    names = call["ExpressionAttributeNames"]
    asked = {names.get(each.strip(), each.strip()) for each in call["ProjectionExpression"].split(",")}
    read = members_read(text)
    assert read and read <= asked


@pytest.mark.parametrize(
    ("tenant", "operation", "key", "id"),
    [
        ("acme", "charge", "k", "acme#charge#k"),
        ("acme", "charge", "a+b%20c%23d%22%5C", 'acme#charge#a+b c#d"\\'),
        ("acme", "charge", "%25zz", "acme#charge#%zz"),
        ("acme", "charge", "it's", "acme#charge#it's"),
        # Where API Gateway decodes the parameters of a path, which no document says, one could name another's record.
        ("acme#charge", "x", "k", " "),
        ("acme", "charge#x", "k", " "),
        ("Acme", "charge", "k", " "),
        ("acme", "Charge", "k", " "),
        ("acme", "charge", "%zz", " "),
        ("acme", "charge", "%", " "),
    ],
)
def test_only_the_record_of_a_tenant_and_an_operation_is_looked_up(
    tenant: str, operation: str, key: str, id: str
) -> None:
    get = dict(methods())["get /{tenant}/{operation}/{key}"]
    sent = Sent(Method("GET", "", {}), {"tenant": tenant, "operation": operation, "key": key}, {}, {}, "")
    template = get["x-amazon-apigateway-integration"]["requestTemplates"]["application/json"]
    call = json.loads(rendered(template, "", sent, new_context("live", "GET", 0, {})))
    assert (call["TableName"], call["Key"], call["ConsistentRead"]) == ("IdempotencyTable", {"id": {"S": id}}, True)


def test_a_service_that_fails_is_a_problem_to_be_sent_again() -> None:
    for name, method in methods():
        responses = method["x-amazon-apigateway-integration"]["responses"]
        response = responses.get(r"5\d{2}", responses["default"])
        context = new_context("live", "GET", 0, {})
        sent = Sent(Method("GET", "", {}), {"tenant": "a"}, {}, {"Idempotency-Key": "k"}, "")
        text = rendered(
            response["responseTemplates"]["application/json"], '{"__type":"InternalServerError"}', sent, context
        )
        problem = json.loads(text)
        override = context["responseOverride"]
        assert (problem["type"], problem["status"]) == ("urn:problem-type:once:unavailable", 503), name
        assert override.get("status", int(response["statusCode"])) == 503, name
        headers = {"Content-Type": "application/problem+json", "Retry-After": "2"}
        assert override["header"] == headers, name


GOOD = {"tenant": "acme", "days": "30d", "operation": "pay", "hash": "a" * 64, "object": f"12-{'b' * 16}.json"}


@pytest.mark.parametrize(
    "wrong",
    [{"tenant": ".."}, {"days": "30"}, {"hash": "../x"}, {"hash": "a" * 63}, {"object": "x.json"}, {"operation": "A"}],
)
def test_only_what_is_a_result_by_its_name_is_fetched(wrong: dict[str, str]) -> None:
    get = dict(methods())["get /{tenant}/_results/{days}/{operation}/{hash}/{object}"]
    template = get["x-amazon-apigateway-integration"]["requestTemplates"]["application/json"]
    for path, fetched in ((GOOD, GOOD), (GOOD | wrong, {})):
        context = new_context("live", "GET", 0, {})
        rendered(template, "", Sent(Method("GET", "", {}), path, {}, {}, ""), context)
        assert context["requestOverride"]["path"] == fetched


# ---- pages ----

HEADER, ALLOWED = "method.response.header.", "Access-Control-Allow-Origin"


def test_a_header_that_an_answer_sets_is_one_that_its_status_declares() -> None:
    """API Gateway refuses another; the local cloud does not."""
    for path, each in api(HttpCorsOrigin="https://a.example")["DefinitionBody"]["paths"].items():
        for name, method in each.items():
            for answer in method["x-amazon-apigateway-integration"]["responses"].values():
                declared = method["responses"][answer["statusCode"]].get("headers", {})
                given = {each.removeprefix(HEADER) for each in answer.get("responseParameters", {})}
                assert given <= set(declared), f"{name} {path}: {answer['statusCode']}"


@pytest.mark.parametrize("origin", ["", "https://a.example"])
def test_every_answer_names_the_origin_where_one_is_set(origin: str) -> None:
    named = origin or None
    for name, method in methods(HttpCorsOrigin=origin):
        for each in method["x-amazon-apigateway-integration"]["responses"].values():
            if "responseTemplates" in each:
                context = new_context("live", "GET", 0, {})
                sent = Sent(Method("GET", "", {}), {"tenant": "a"}, {}, {}, "")
                rendered(each["responseTemplates"]["application/json"], "{}", sent, context)
                assert context["responseOverride"]["header"].get(ALLOWED) == named, name
            else:
                assert each.get("responseParameters", {}) == ({HEADER + ALLOWED: f"'{origin}'"} if origin else {}), name
    for kind, each in api(HttpCorsOrigin=origin)["DefinitionBody"]["x-amazon-apigateway-gateway-responses"].items():
        given = each["responseParameters"].get(f"gatewayresponse.header.{ALLOWED}")
        assert given == (f"'{origin}'" if origin else None), kind


# ---- the OpenAPI document ----


def test_the_document_of_the_api_is_what_the_template_says() -> None:
    """`once env --openapi > docs/openapi.yaml` writes it."""
    wanted = as_yaml(document(TEMPLATE))
    assert (ROOT / "docs/openapi.yaml").read_text() == wanted


def test_the_document_is_openapi_and_has_the_payloads_of_the_operations() -> None:
    described = yaml.safe_load((ROOT / "docs/openapi.yaml").read_text())
    validate(described)
    charge = described["paths"]["/{tenant}/charge-payment"]["post"]["requestBody"]["content"]["application/json"]
    assert charge["schema"]["title"] == "Payload of charge-payment"
    ids = [method["operationId"] for methods in described["paths"].values() for method in methods.values()]
    assert len(set(ids)) == len(ids)
