"""An HTTP API of an application's own, whose routes lead to functions."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
from event_stand import deployed

from oncekit.local import LocalCloud
from oncekit.local.events.exchange import left_out

Send = Callable[..., requests.Response]
FORMAT = "API Gateway Developer Guide, Create AWS Lambda proxy integrations for HTTP APIs"
TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      CorsConfiguration: { AllowOrigins: ["https://shop.example"], AllowMethods: [POST], MaxAge: 5 }
      Auth:
        Authorizers:
          Users: { IdentitySource: $request.header.Authorization,
                   JwtConfiguration: { issuer: "https://users.example", audience: [shop] } }
  Sockets: { Type: AWS::ApiGatewayV2::Api, Properties: { ProtocolType: WEBSOCKET } }
  Works:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: works/
      Handler: app.handler
      Runtime: python3.13
      Events:
        Pay: { Type: HttpApi, Properties: { ApiId: !Ref Api, Path: "/carts/{cart}/pay", Method: post } }
        Rest: { Type: HttpApi, Properties: { ApiId: !Ref Api, Path: "/carts/{rest+}", Method: any } }
        Old: { Type: HttpApi, Properties: { ApiId: !Ref Api, Path: "/old/{id}", Method: get,
               PayloadFormatVersion: "1.0" } }
        Mine: { Type: HttpApi, Properties: { ApiId: !Ref Api, Path: /mine, Method: get,
                Auth: { Authorizer: Users, AuthorizationScopes: [pay] } } }
Outputs:
  Url: { Value: !Sub "https://${Api}.execute-api.${AWS::Region}.amazonaws.com/" }
"""
CODE = """
import json

def handler(event, context):
    if "answer" in (event.get("body") or ""):
        return json.loads(event["body"])["answer"]
    if event.get("body") == "fail":
        raise RuntimeError("it failed")
    cookies = {"cookies": ["a=1", "b=2"]} if event["version"] == "2.0" else {}
    return {"statusCode": 201, **cookies, "headers": {"X-Kind": "fee"}, "body": json.dumps(event)}
"""


@pytest.fixture
def api(tmp_path: Path, cloud: LocalCloud) -> Iterator[Send]:
    (tmp_path / "works").mkdir()
    (tmp_path / "works/app.py").write_text(CODE)

    def send(method: str, path: str, data: Any = "", **headers: str) -> requests.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.request(method, cloud.outputs["Url"] + path, data=data, headers=named, timeout=30)

    with deployed(cloud, tmp_path, TEMPLATE):
        yield send


@pytest.mark.aws(FORMAT, "Duplicate query strings are combined with commas and included in the queryStringParameters")
@pytest.mark.aws(FORMAT, "All cookie headers in the request are combined with commas and added to the cookies field.")
@pytest.mark.aws(unconfirmed="V110")
def test_a_function_gets_a_request_in_format_2(api: Send, cloud: LocalCloud) -> None:
    sent = {"Cookie": "s=1; t=2", "Content_Type": "application/json", "X_Fee": "3"}
    answer = api("POST", "carts/m%201/pay?x=1&x=2&y=", '{"n": 1}', **sent)
    event = answer.json()
    assert (answer.status_code, answer.headers["X-Kind"]) == (201, "fee")
    assert dict(answer.cookies) == {"a": "1", "b": "2"}
    assert (event["version"], event["routeKey"]) == ("2.0", "POST /carts/{cart}/pay")
    assert (event["rawPath"], event["rawQueryString"]) == ("/carts/m 1/pay", "x=1&x=2&y=")
    assert event["queryStringParameters"] == {"x": "1,2", "y": ""}
    assert event["pathParameters"] == {"cart": "m 1"}
    assert event["cookies"] == ["s=1", "t=2"]
    assert event["headers"].items() >= {"x-fee": "3", "content-type": "application/json"}.items()
    assert "cookie" not in event["headers"]
    assert (event["body"], event["isBase64Encoded"]) == ('{"n": 1}', False)
    about = event["requestContext"]
    assert about["http"].items() >= {"method": "POST", "path": "/carts/m 1/pay", "sourceIp": "127.0.0.1"}.items()
    assert (about["stage"], about["timeEpoch"]) == ("$default", int(cloud.clock.now() * 1000))


@pytest.mark.aws(FORMAT, "The following examples show the structure of each payload format version. All headernames")
@pytest.mark.aws(unconfirmed="V110")
def test_a_route_with_format_1_gets_the_event_of_a_rest_api(api: Send) -> None:
    event = api("GET", "old/m%201?x=1&x=2", X_Fee="3").json()
    assert (event["version"], event["resource"], event["path"]) == ("1.0", "/old/{id}", "/old/m 1")
    assert event["pathParameters"] == {"id": "m 1"}
    assert event["multiValueQueryStringParameters"] == {"x": ["1", "2"]}
    assert event["multiValueHeaders"]["x-fee"] == ["3"]


@pytest.mark.aws(
    "API Gateway Developer Guide, Create routes for HTTP APIs",
    "Match for a route and method with a greedy path variable ({proxy+})",
)
def test_the_route_that_says_most_is_taken_and_else_there_is_nothing(api: Send) -> None:
    assert api("POST", "carts/1/pay").json()["routeKey"] == "POST /carts/{cart}/pay"
    event = api("GET", "carts/1/pay").json()
    assert (event["routeKey"], event["pathParameters"]) == ("ANY /carts/{rest+}", {"rest": "1/pay"})
    answer = api("GET", "nothing")
    assert (answer.status_code, answer.json()) == (404, {"message": "Not Found"})


@pytest.mark.aws(unconfirmed="V110")
@pytest.mark.parametrize(
    ("kind", "is_text"),
    [("application/json; charset=utf-8", True), ("text/csv", True), ("application/x-www-form-urlencoded", False)],
)
def test_a_body_that_is_no_text_comes_as_base64(api: Send, kind: str, is_text: bool) -> None:
    event = api("POST", "carts/1/pay", "a=1", Content_Type=kind).json()
    assert (event["body"], event["isBase64Encoded"]) == ("a=1" if is_text else "YT0x", not is_text)


@pytest.mark.aws(FORMAT, "With the 2.0 format version, API Gateway can infer the response format for you.")
@pytest.mark.parametrize(("answered", "body"), [({"paid": 1}, '{"paid": 1}'), ("Hello", "Hello"), ([1], "[1]")])
def test_an_answer_without_a_status_is_the_body(api: Send, answered: Any, body: str) -> None:
    answer = api("POST", "carts/1/pay", json.dumps({"answer": answered}), Content_Type="application/json")
    assert (answer.status_code, answer.text, answer.headers["Content-Type"]) == (200, body, "application/json")


@pytest.mark.aws(FORMAT, "To customize the response, your Lambda function should return a response with the following")
def test_an_answer_can_be_binary(api: Send) -> None:
    answered = {"statusCode": 200, "body": base64.b64encode(b"\xff\x00").decode(), "isBase64Encoded": True}
    answer = api("POST", "carts/1/pay", json.dumps({"answer": answered}), Content_Type="application/json")
    assert answer.content == b"\xff\x00"


@pytest.mark.aws(
    "API Gateway Developer Guide, Troubleshooting issues with HTTP API Lambda integrations",
    'My API with a Lambda integration returns {"message":"Internal Server Error"}',
)
def test_a_function_that_fails_is_500(api: Send) -> None:
    answer = api("POST", "carts/1/pay", "fail", Content_Type="text/plain")
    assert (answer.status_code, answer.json()) == (500, {"message": "Internal Server Error"})


def token(cloud: LocalCloud, **claims: Any) -> str:
    """Signed with the secret of this run, in the place of a user pool."""
    parts = [{"alg": "HS256"}, {"exp": cloud.clock.now() + 60, **claims}]
    head = ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts)
    secret = cloud.environment["AWS_SECRET_ACCESS_KEY"].encode()
    signature = base64.urlsafe_b64encode(hmac.digest(secret, head.encode(), hashlib.sha256)).decode()
    return f"Bearer {head}.{signature}"


@pytest.mark.aws(
    "API Gateway Developer Guide, Control access to HTTP APIs with JWT authorizers",
    "API Gateway passes the claims in the token to the API route's integration. Backend resources, such as Lambda",
)
@pytest.mark.aws(unconfirmed="V110")
def test_the_claims_of_a_token_reach_the_function(api: Send, cloud: LocalCloud) -> None:
    claims = {"sub": "u1", "scope": "read pay", "cognito:groups": ["a", "b"]}
    event = api("GET", "mine", Authorization=token(cloud, **claims)).json()
    jwt = event["requestContext"]["authorizer"]["jwt"]
    assert jwt["claims"].items() >= {"sub": "u1", "cognito:groups": "[a b]"}.items()
    assert jwt["scopes"] == ["pay"]
    refused: Mapping[str, int] = {"": 401, token(cloud, scope="read"): 403, token(cloud, scope="pay", exp=0): 401}
    for sent, status in refused.items():
        assert api("GET", "mine", Authorization=sent).status_code == status


@pytest.mark.aws(
    "API Gateway Developer Guide, Configure CORS for HTTP APIs",
    "API Gateway automatically sends a response to preflight OPTIONS requests, even if there isn't an OPTIONS",
)
def test_a_page_of_the_origin_that_the_api_names_may_call(api: Send) -> None:
    answer = api("OPTIONS", "carts/1/pay", Origin="https://shop.example")
    assert answer.status_code == 204
    assert (
        answer.headers.items()
        >= {
            "access-control-allow-origin": "https://shop.example",
            "access-control-allow-methods": "POST",
            "access-control-max-age": "5",
        }.items()
    )
    told = api("POST", "carts/1/pay", Origin="https://shop.example").headers
    assert told["access-control-allow-origin"] == "https://shop.example"
    assert api("POST", "carts/1/pay", Origin="https://other.example").status_code == 403


@pytest.mark.aws(
    "API Gateway Developer Guide, Configure CORS for HTTP APIs",
    "If you configure CORS for an API, API Gateway ignores CORS headers returned from your backend integration",
)
def test_the_functions_own_words_about_origins_do_not_count(api: Send) -> None:
    own = {"statusCode": 200, "headers": {"Access-Control-Allow-Origin": "*", "X-Kind": "fee"}}
    told = api("POST", "carts/1/pay", json.dumps({"answer": own}), Content_Type="application/json").headers
    assert ("access-control-allow-origin" in told, told["x-kind"]) == (False, "fee")


@pytest.mark.ours
@pytest.mark.usefixtures("api")
def test_an_api_of_web_sockets_is_left_out_and_told(cloud: LocalCloud) -> None:
    told = "Sockets (AWS::ApiGatewayV2::Api: no API of WebSockets is served here)"
    assert list(left_out(cloud.deployed.resources)) == [told]
