"""An API of an application's own, whose paths lead to functions."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from event_stand import deployed

from oncekit.local import LocalCloud

Send = Callable[..., requests.Response]
PROXY = (
    "API Gateway Developer Guide, set up Lambda proxy integrations",
    "If the function output is of a different format, API Gateway returns a 502 Bad Gateway error response",
)
TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Fees:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: fees/
      Handler: app.handler
      Runtime: python3.13
      Events:
        Post: { Type: Api, Properties: { Path: "/fees/{member}", Method: post } }
        Keyed: { Type: Api, Properties: { Path: /keyed, Method: get, Auth: { ApiKeyRequired: true } } }
        Any: { Type: Api, Properties: { Path: /any, Method: any } }
"""
CODE = """
import json

def handler(event, context):
    body = event["body"] or "null"
    if body.startswith("{"):
        return json.loads(body)
    return {"statusCode": 201, "headers": {"X-Kind": "fee"}, "body": json.dumps(event)}
"""


@pytest.fixture
def api(tmp_path: Path, cloud: LocalCloud) -> Iterator[Send]:
    (tmp_path / "fees").mkdir()
    (tmp_path / "fees/app.py").write_text(CODE)
    with deployed(cloud, tmp_path, TEMPLATE):
        yield lambda method, path, data="", **headers: requests.request(
            method, cloud.http_url + path, data=data, headers=headers, timeout=30
        )


STARTS = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Both:
    Type: AWS::Serverless::StateMachine
    Properties:
      DefinitionUri: both.asl.yaml
      Role: arn:aws:iam::123456789012:role/r
      Events: { Post: { Type: Api, Properties: { Path: /both, Method: post } } }
"""
BOTH = """
{ StartAt: P, QueryLanguage: JSONata, States: { P: { Type: Parallel, End: true, Branches: [] } } }
"""


@pytest.mark.ours
def test_who_asks_for_a_machine_in_name_only_is_told_so(tmp_path: Path, cloud: LocalCloud) -> None:
    (tmp_path / "both.asl.yaml").write_text(BOTH)
    with deployed(cloud, tmp_path, STARTS):
        answer = requests.post(f"{cloud.http_url}/both", json={}, timeout=30)
    told = "The local cloud does not run the state machine Both-local: the state P is a Parallel."
    assert (answer.status_code, answer.json()) == (501, {"message": told})


@pytest.mark.aws(PROXY[0], "API Gateway passes to the integrated Lambda function an event object")
def test_the_function_gets_the_request_and_its_answer_is_the_apis(api: Send) -> None:
    answer = api("POST", "/fees/m%201?x=1&x=2", "late")
    event: dict[str, Any] = answer.json()
    assert (answer.status_code, answer.headers["X-Kind"], event["body"]) == (201, "fee", "late")
    assert (event["httpMethod"], event["resource"], event["pathParameters"]) == (
        "POST", "/fees/{member}", {"member": "m%201"},
    )  # fmt: skip
    assert event["multiValueQueryStringParameters"] == {"x": ["1", "2"]}
    assert api("DELETE", "/any").json()["httpMethod"] == "DELETE"


@pytest.mark.aws(PROXY[0], "The following example shows the structure of an event that API Gateway sends to a Lambda")
def test_the_context_of_a_request_has_the_members_of_awss_example(api: Send) -> None:
    context = api("GET", "/any").json()["requestContext"]
    assert context.keys() == {
        "accountId", "apiId", "authorizer", "domainName", "domainPrefix", "extendedRequestId", "httpMethod", "identity",
        "path", "protocol", "requestId", "requestTime", "requestTimeEpoch", "resourceId", "resourcePath", "stage",
    }  # fmt: skip
    assert context["identity"].keys() >= {"accessKey", "accountId", "caller", "cognitoIdentityId", "user", "userArn"}


@pytest.mark.aws(unconfirmed="V64")
@pytest.mark.usefixtures("api")
def test_the_function_gets_each_header_by_the_name_that_it_was_sent_with(cloud: LocalCloud) -> None:
    connection = http.client.HTTPConnection(cloud.http_url.removeprefix("http://"), timeout=30)
    connection.putrequest("GET", "/any")
    for name, value in (("X-Fee", "1"), ("X-FEE", " 2 "), ("x-fee", "3"), ("x-fee", "4"), ("USER-AGENT", "me")):
        connection.putheader(name, value)
    connection.endheaders()
    event = json.load(connection.getresponse())
    connection.close()
    assert event["headers"].items() >= {"X-Fee": "1", "X-FEE": "2", "x-fee": "4"}.items()
    assert event["multiValueHeaders"].items() >= {"X-FEE": ["2"], "x-fee": ["3", "4"]}.items()
    assert event["requestContext"]["identity"]["userAgent"] == "me"


@pytest.mark.aws(*PROXY)
@pytest.mark.parametrize("answered", [{"result": 1}, {"statusCode": 200, "body": {"a": 1}}])
def test_what_is_no_answer_of_a_proxy_is_502(api: Send, answered: object) -> None:
    answer = api("POST", "/any", json.dumps(answered))
    assert (answer.status_code, answer.json()) == (502, {"message": "Internal server error"})


@pytest.mark.aws(
    PROXY[0], "If you specify values for both headers and multiValueHeaders, API Gateway merges them into a single list"
)
def test_headers_of_one_name_are_merged_and_each_cookie_is_its_own(api: Send) -> None:
    several = {"X-A": ["2", "3"], "Set-Cookie": ["a=1", "b=2"]}
    answer = api("POST", "/any", json.dumps({"headers": {"X-A": "1"}, "multiValueHeaders": several, "body": ""}))
    assert (answer.headers["X-A"], dict(answer.cookies)) == ("1, 2, 3", {"a": "1", "b": "2"})


@pytest.mark.aws(
    "API Gateway Developer Guide, Gateway response types",
    "INVALID_API_KEY: The gateway response for an invalid API key submitted for a method",
)
def test_a_method_that_asks_for_a_key_takes_whoever_has_one(api: Send) -> None:
    assert (api("GET", "/keyed").status_code, api("GET", "/keyed").json()) == (403, {"message": "Forbidden"})
    assert api("GET", "/keyed", **{"X-Api-Key": "any"}).status_code == 201
