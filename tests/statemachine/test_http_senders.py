"""Who may send by HTTP, and what senders see who do not wait."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.credentials import Credentials
from http_client import POOL, Client, Response, token
from latches import Latches
from scenario import LANES, charge, record_of, rows, run, scripted

from oncekit.contract.lanes import Lane
from oncekit.local import LocalCloud
from oncekit.local.deployment.resources import Deployed
from oncekit.local.engine.interceptors import never_arrives
from oncekit.local.engine.service_calls import Call

CHARGE = charge()["payload"]


def test_who_is_answered_before_the_operation_has_ended_finds_the_result_later(
    cloud: LocalCloud, client: Client, latches: Latches
) -> None:
    """API Gateway waits 29 seconds; the execution goes on."""
    payload = scripted({"await": "go", "then": {"return": "done"}})["payload"]
    answers: list[Response] = []
    sender = threading.Thread(target=lambda: answers.append(client.post("scripted", "k", payload)))
    sender.start()
    latches.wait_for_starts(1)
    cloud.clock.advance(30)  # type: ignore[attr-defined]  # the clock of tests is virtual
    sender.join(20)
    [late] = answers
    assert (late.status, late.problem["type"]) == (504, "urn:problem-type:once:unavailable")
    assert late.headers["retry-after"] == "2"
    assert client.get("scripted", "k").status == 202
    latches.open("go")
    answer = client.post("scripted", "k", payload, Prefer="wait=20")
    assert (answer.status, answer.body, latches.starts()) == (200, b'"done"', 1)


SPELLINGS = (str, str.lower, str.upper)


def test_one_key_is_one_operation_however_the_name_of_its_header_is_spelled(cloud: LocalCloud, client: Client) -> None:
    answers = []
    for spelled in SPELLINGS:
        headers = {"Content_Type": "application/json", spelled("Idempotency_Key"): "k"}
        answers.append(client.send("POST", "/acme/charge-payment", json.dumps(CHARGE), **headers))
    told = [(each.status, *map(each.headers.get, ("once-id", "idempotent-replayed"))) for each in answers]
    assert told == [(200, "acme#charge-payment#k", replayed) for replayed in (None, "true", "true")]
    assert rows(cloud, "ProviderLedgerTable") == 1


@pytest.mark.parametrize("spelled", SPELLINGS, ids=["title", "lower", "upper"])
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Prefer", "respond-async", 202),
        ("Once-On-Conflict", "never", 400),
        ("Once-On-Crash", "never", 400),
        ("Once-On-Failed", "never", 400),
    ],
)
def test_each_header_that_the_api_reads_is_read_however_its_name_is_spelled(
    header: str, value: str, status: int, spelled: Callable[[str], str], client: Client
) -> None:
    assert client.post("charge-payment", "k", CHARGE, **{spelled(header): value}).status == status


def test_of_a_mismatch_that_was_handed_over_for_http_no_payload_is_kept(cloud: LocalCloud, client: Client) -> None:
    """Else any caller could fill the bucket with payloads for 180 days, by pairs of requests at the same moment."""
    posted: list[int] = []

    def post(amount: int) -> None:
        posted.append(amount)
        assert client.post("charge-payment", "k", CHARGE | {"amount": amount}, Prefer="respond-async").status == 202

    def meanwhile(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state == "AcquireLock" and len(posted) == 1:
            post(2)
        return proceed()

    with cloud.intercept(meanwhile):
        post(1)
        cloud.settle()
    [kept] = cloud.rejected()
    members = ("error", "message", "executionArn", "refusedAt", "id", "fingerprint", "payloadLength", "inputOmitted")
    assert (kept["error"], set(kept)) == ("PayloadMismatch", set(members))
    record = record_of(cloud, charge("k", tenant="default"))
    assert kept["id"] == record["id"] and kept["fingerprint"] != record["fingerprint"]
    assert kept["payloadLength"] == len(json.dumps(CHARGE | {"amount": 1}, separators=(",", ":")))


def test_a_mismatch_that_was_handed_over_for_another_sender_is_kept_whole(cloud: LocalCloud) -> None:
    cloud.run(charge())
    with cloud.intercept(never_arrives(state="ReadRecord", nth=range(1, 6))):
        run(cloud, charge(amount=1), "fast")
    [kept] = cloud.rejected()
    assert (kept["error"], kept["input"]["payload"]) == ("PayloadMismatch", charge(amount=1)["payload"])


@LANES
def test_a_mismatch_in_a_messages_body_is_kept_whole(cloud: LocalCloud, lane: Lane) -> None:
    """A pipe sends it so, and nobody else knows what was refused."""
    cloud.run(charge())
    sent = {"body": charge(amount=1)}
    assert run(cloud, sent, lane).error == "PayloadMismatch"
    assert [each["input"] for each in cloud.rejected()] == [sent]


# ---- IAM ----


def policy(*resources: str) -> dict[str, Any]:
    api = "arn:aws:execute-api:us-east-1:123456789012:once-RequestApi/live"
    return {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": [f"{api}/{each}" for each in resources]}


@pytest.mark.parametrize(
    ("allowed", "tenant", "status"),
    [
        (("POST/acme/charge-payment",), "acme", 200),
        (("*",), "acme", 200),
        (("POST/acme/*",), "other", 403),
        (("POST/acme/charge-payment",), "default", 403),
        (("GET/*",), "acme", 403),
        ((), "acme", 403),
    ],
)
def test_a_role_sends_only_for_the_tenants_and_operations_of_its_paths(
    allowed: tuple[str, ...], tenant: str, status: int, cloud: LocalCloud
) -> None:
    with role_with(cloud, policy(*allowed) if allowed else None) as keys:
        answer = Client(cloud, keys).post("charge-payment", "k", CHARGE, tenant)
    assert answer.status == status
    assert status == 200 or answer.problem["title"] == "ACCESS_DENIED"


@contextmanager
def role_with(cloud: LocalCloud, statement: dict[str, Any] | None) -> Iterator[Credentials]:
    """The keys of a role that has this policy, while the context is open."""
    policies = [{"PolicyName": "send", "PolicyDocument": {"Statement": [statement] if statement else []}}]
    arn = "arn:aws:iam::123456789012:role/sender"
    role = Deployed("AWS::IAM::Role", {"Policies": policies}, "sender", lambda _name: arn)
    cloud.permissions.deploy({**cloud.deployed.resources, "SenderRole": role})
    try:
        given = cloud.client("sts").assume_role(RoleArn=arn, RoleSessionName="sender")["Credentials"]
        yield Credentials(given["AccessKeyId"], given["SecretAccessKey"])
    finally:
        cloud.permissions.deploy(cloud.deployed.resources)


# ---- Cognito ----


def test_with_a_user_pool_a_token_is_good_for_the_tenant_of_its_claim_only(cloud: LocalCloud, client: Client) -> None:
    in_a_year = int(cloud.clock.now()) + 365 * 86_400
    claims = {"iss": POOL, "exp": in_a_year, "custom:tenant": "acme"}
    with cloud.deployed_with({"HttpUserPoolArn": POOL}):
        for operation, expected in (("acme", 200), ("other", 403), ("default", 403)):
            answer = send(client, token(cloud, **claims), operation)
            assert answer.status == expected, (operation, answer)
            asked = client.send(
                "GET",
                f"/{operation}/charge-payment/k",
                signed=False,
                Authorization=token(cloud, **claims),
            )
            assert asked.status == (200 if operation == "acme" else 404)
        assert answer.problem["type"] == "urn:problem-type:once:other-tenant"
        without = {name: value for name, value in claims.items() if name != "custom:tenant"}
        assert send(client, token(cloud, **without), "acme").status == 403
        for wrong in ("", "x.y.z", token(cloud, "guessed", **claims), token(cloud, **{**claims, "exp": 1})):
            assert send(client, wrong, "acme").status == 401
    assert rows(cloud, "ProviderLedgerTable") == 1


def test_a_token_finds_neither_how_another_tenants_operation_stands_nor_its_result(
    cloud: LocalCloud, client: Client
) -> None:
    answer = client.post("build-report", "big", {"bytes": 20_000}, tenant="other")
    paths = ("build-report/big", answer.headers["location"])
    in_a_year = int(cloud.clock.now()) + 365 * 86_400
    found = {}
    with cloud.deployed_with({"HttpUserPoolArn": POOL}):
        for tenant in ("other", "acme"):
            mine = token(cloud, **{"exp": in_a_year, "custom:tenant": tenant})
            found[tenant] = [
                client.send("GET", f"/other/{path}", signed=False, Authorization=mine).status for path in paths
            ]
    assert found == {"other": [303, 200], "acme": [404, 404]}


def send(client: Client, token: str, tenant: str) -> Response:
    headers = {"Content_Type": "application/json", "Idempotency_Key": "k", "Authorization": token}
    return client.send("POST", f"/{tenant}/charge-payment", json.dumps(CHARGE), signed=False, **headers)
