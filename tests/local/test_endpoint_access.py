"""The endpoint accepts only clients of this run: no page in a browser, no other name, no other key."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import boto3
import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from scenario import charge, rows
from signing import keys

from oncekit.local import LocalCloud
from oncekit.local.endpoint.access_keys import authorization
from oncekit.local.once_cloud import PREFIX

pytestmark = pytest.mark.ours

FUNCTIONS = Path(__file__).parents[1] / "functions"
EVIL = "https://evil.example"
INVOKED = "/2015-03-31/functions"
SCAN = {"X-Amz-Target": "DynamoDB_20120810.Scan", "Content-Type": "application/x-amz-json-1.0"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str


def ask(
    cloud: LocalCloud, method: str, path: str, body: bytes | str = b"", host: str | None = None, **headers: str
) -> Answer:
    """One request as a browser or `curl` sends it; names of headers have _ for -."""
    address = urlsplit(cloud.endpoint_url)
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
    connection.putrequest(method, path, skip_host=True)
    sent = body.encode() if isinstance(body, str) else body
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in {"Host": host or address.netloc, "Content-Length": str(len(sent)), **given}.items():
        connection.putheader(name, value)
    connection.endheaders(sent)
    answer = connection.getresponse()
    told = Answer(
        answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode("utf-8")
    )
    connection.close()
    return told


def signed(service: str, key: str = "x") -> dict[str, str]:
    return {"Authorization": authorization(key, service)}


def own(cloud: LocalCloud) -> str:
    return cloud.environment["AWS_ACCESS_KEY_ID"]


def refused(answer: Answer, *words: str) -> None:
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    for word in words:
        assert word in answer.text


# ---- the attacks ----


def buckets(cloud: LocalCloud) -> list[str]:
    return [each["Name"] for each in cloud.client("s3").list_buckets()["Buckets"]]


def test_page_of_another_origin_can_neither_open_the_preflight_nor_make_anything(cloud: LocalCloud) -> None:
    page = {"Origin": EVIL}
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    for path in ("/", INVOKED, f"{INVOKED}/evil/invocations"):
        refused(ask(cloud, "OPTIONS", path, **page, **asks), EVIL)
    stack = {"Action": "CreateStack", "Version": "2010-05-15", "StackName": "evil", "TemplateBody": "{}"}
    refused(ask(cloud, "POST", "/", urlencode(stack), **FORM, **page, **signed("cloudformation")))
    # Who knows the key and is a page is a page all the same.
    refused(ask(cloud, "PUT", "/evil", **page, **signed("s3", own(cloud))), EVIL)
    assert "evil" not in buckets(cloud)


@pytest.mark.parametrize("host", ["evil.example:4599", "127.0.0.1.evil.example", ""])
def test_name_that_leads_here_by_dns_is_not_this_machine(cloud: LocalCloud, host: str) -> None:
    refused(ask(cloud, "PUT", "/evil", host=host or " ", **signed("s3", own(cloud))), "Host", "127.0.0.1")
    assert "evil" not in buckets(cloud)


@pytest.mark.parametrize("path", ["//moto-api/reset", "/%6doto-api/reset"])
def test_nothing_but_services_of_aws_is_served_not_even_to_who_has_the_key(cloud: LocalCloud, path: str) -> None:
    cloud.run(charge())
    refused(ask(cloud, "POST", path, Content_Type="text/plain"))
    refused(ask(cloud, "POST", path, **signed("s3", own(cloud))), "moto-api")
    assert rows(cloud, "IdempotencyTable") == 1


@pytest.mark.parametrize(
    "headers",
    [
        {},
        signed("dynamodb", "local"),
        signed("dynamodb", f"{PREFIX}charge-payment"),
        {"Authorization": "AWS4-HMAC-SHA256 nothing"},
        {"Authorization": "AWS4-HMAC-SHA256 Credential=ü/20260101/us-east-1/dynamodb/aws4_request"},
    ],
    ids=["unsigned", "as it was", "the name of a function", "malformed", "not ASCII"],
)
def test_call_without_the_key_of_this_run_is_refused(cloud: LocalCloud, headers: dict[str, str]) -> None:
    encoded = {name: value.encode("latin-1").decode("latin-1") for name, value in headers.items()}
    refused(ask(cloud, "POST", "/", b"{}", **SCAN, **encoded), "once up")


def test_image_or_form_of_another_site_has_no_origin_and_is_refused(cloud: LocalCloud) -> None:
    for site in ("cross-site", "same-site"):
        refused(ask(cloud, "GET", "/", Sec_Fetch_Site=site, **signed("s3", own(cloud))), "web page")
    assert ask(cloud, "GET", "/", Sec_Fetch_Site="none", **signed("s3", own(cloud))).status == 200


# ---- who belongs here ----


@pytest.mark.parametrize("host", ["127.0.0.1", "LocalHost:1", "[::1]:4599"])
def test_each_name_of_this_machine_is_taken_with_a_port_or_without(cloud: LocalCloud, host: str) -> None:
    answer = ask(cloud, "GET", "/", host=host, **signed("s3", own(cloud)))
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_clients_address_buckets_by_path(cloud: LocalCloud) -> None:
    bucket, port = cloud.outputs["ResponseBucketName"], urlsplit(cloud.endpoint_url).port
    for host in ("127.0.0.1", "localhost"):
        client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys(cloud.environment))
        client.put_object(Bucket=bucket, Key="responses/k", Body=b"x")
        assert client.get_object(Bucket=bucket, Key="responses/k")["Body"].read() == b"x"
    refused(
        ask(cloud, "GET", "/k", host=f"{bucket}.localhost:{port}", **signed("s3", own(cloud))), "path-style", bucket
    )


def test_client_with_another_key_is_told_in_its_own_protocol_where_the_key_is(cloud: LocalCloud) -> None:
    wrong = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "us-east-1"}
    calls = {"dynamodb": "list_tables", "s3": "list_buckets", "cloudformation": "list_stacks", "lambda": "list_layers"}
    for service, method in calls.items():
        client = boto3.client(service, endpoint_url=cloud.endpoint_url, **wrong)  # type: ignore[call-overload]
        with pytest.raises(ClientError, match=r"LocalCloudRefused.*for `once up` run `eval") as error:
            getattr(client, method)()
        assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


@pytest.mark.parametrize(
    ("service", "operation", "parameters"),
    [
        ("transcribe", "ListMedicalScribeJobs", {}),
        ("kendra", "ListIndices", {}),
        ("sns", "GetSMSSandboxAccountStatus", {}),
        (
            "appconfigdata",
            "StartConfigurationSession",
            dict.fromkeys(
                ("ApplicationIdentifier", "EnvironmentIdentifier", "ConfigurationProfileIdentifier"), "shelf"
            ),
        ),
    ],
)
def test_what_moto_has_not_is_told_in_a_sentence_and_at_once(
    cloud: LocalCloud, capfd: pytest.CaptureFixture[str], service: str, operation: str, parameters: dict[str, str]
) -> None:
    client = boto3.client(service, endpoint_url=cloud.endpoint_url, **keys(cloud.environment))  # type: ignore[call-overload]
    with pytest.raises(ClientError, match=rf"NotImplemented.*the local cloud has no {operation} of ") as error:
        getattr(client, xform_name(operation))(**parameters)
    assert error.value.response["ResponseMetadata"]["RetryAttempts"] == 0
    assert capfd.readouterr() == ("", "")


# ---- functions ----


def test_function_signs_with_a_key_of_its_own(cloud: LocalCloud) -> None:
    seen = set()
    for name in ("one", "other"):
        cloud.add_function(name, FUNCTIONS / "probe", role="BuildReportRole")
        answer = cloud.functions.invoke(FunctionName=f"{PREFIX}{name}", Payload=json.dumps({"do": "variables"}))
        variables = json.loads(answer["Payload"].read())
        seen.add(variables["AWS_ACCESS_KEY_ID"])
        assert name not in variables["AWS_ACCESS_KEY_ID"]
        assert own(cloud) not in variables.values()
        assert cloud.environment["AWS_SECRET_ACCESS_KEY"] not in variables.values()
    assert len(seen) == 2
