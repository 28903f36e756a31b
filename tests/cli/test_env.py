"""`once env`: what leads a shell here, and what a function in a container is told of the tables, and its event."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from commands import Done, once
from operating import Operator
from template_parts import OWN_FUNCTIONS, TEMPLATE

from oncekit.cli.deployed.stack import Stack, connect


@pytest.fixture
def at_its_endpoint(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> str:
    """As in a terminal that has taken the lines of `once env`."""
    for name, value in operator.cloud.environment.items():
        monkeypatch.setenv(name, value)
    return operator.cloud.endpoint_url


def test_each_function_gets_deployed_names_and_the_containers_endpoint(
    operator: Operator, at_its_endpoint: str
) -> None:
    done = operator.once("env", "--sam")
    assert done.code == 0, done.err
    told, outputs = json.loads(done.out), operator.cloud.outputs
    assert set(told) >= set(OWN_FUNCTIONS)
    order = told["PlaceOrderFunction"]
    assert (order["ORDERS_TABLE"], order["STOCK_TABLE"]) == (outputs["OrdersTableName"], outputs["StockTableName"])
    there = f"http://host.docker.internal:{at_its_endpoint.rpartition(':')[2]}"
    assert {each["AWS_ENDPOINT_URL"] for each in told.values()} == {there}
    assert "once up --from-containers" in done.err


@pytest.mark.parametrize("was_there", [False, True])
def test_file_is_for_its_owner_alone_because_there_may_be_secrets_in_it(
    operator: Operator, tmp_path: Path, was_there: bool
) -> None:
    file = tmp_path / "env.json"
    if was_there:
        file.touch(mode=0o644)
    done = operator.once("env", "--sam", "-o", str(file))
    assert (done.code, done.out) == (0, "")
    assert json.loads(file.read_text()) == json.loads(operator.once("env", "--sam").out)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"{file}: the variables of BuildReportFunction, " in done.err


@pytest.fixture
def on_aws(operator: Operator) -> Any:
    """The command without an endpoint of its own, whose functions are described as given."""

    def command(**configuration: Any) -> Done:
        def connected(*place: Any, **needed: Any) -> Stack:
            stack = connect(*place, **needed)
            stack.client("lambda").meta.events.register("after-call", lambda parsed, **_: parsed.update(configuration))
            return stack

        return once(connected, "env", "--sam")

    return command


def test_clients_of_a_stack_on_aws_are_led_nowhere(on_aws: Any) -> None:
    done = on_aws(Environment={"Variables": {"ORDERS_TABLE": "shop-Orders-1"}})
    assert json.loads(done.out)["PlaceOrderFunction"] == {"ORDERS_TABLE": "shop-Orders-1"}
    assert done.err == ""


def test_variables_that_cannot_be_decrypted_are_a_problem_that_names_the_permission(on_aws: Any) -> None:
    done = on_aws(Environment={"Error": {"ErrorCode": "AccessDeniedException", "Message": "no kms:Decrypt"}})
    assert (done.code, done.out) == (2, "")
    assert "allow kms:Decrypt" in done.err and len(done.err.splitlines()) == 1


# ---- an application around Once ----


def test_functions_of_the_whole_application_are_found_on_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once's own stack, which is two stacks deep in it, has only its own functions."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    clients = {
        name: boto3.client(name, region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
        for name in ("cloudformation", "lambda")
    }
    stack = "AWS::CloudFormation::Stack", "arn:aws:cloudformation:eu-west-1:123456789012:stack/{}/1"
    listed = {
        "shop": [
            ("BillCustomer", "AWS::Lambda::Function", "shop-Bill"),
            ("Once", stack[0], stack[1].format("shop-Once")),
        ],
        "shop-Once": [("CacheResponseFunction", "AWS::Lambda::Function", "shop-Once-Cache")],
    }
    with Stubber(clients["cloudformation"]) as resources, Stubber(clients["lambda"]) as functions:
        for name, rows in listed.items():
            members = ("LogicalResourceId", "ResourceType", "PhysicalResourceId")
            told = {"ResourceStatus": "CREATE_COMPLETE", "LastUpdatedTimestamp": "2026-01-01"}
            gone = {"ResourceStatus": "DELETE_COMPLETE", "LastUpdatedTimestamp": "2026-01-01"}
            summaries = [{**dict(zip(members, row, strict=True)), **told} for row in rows]
            summaries += [{"LogicalResourceId": "Gone", "ResourceType": row[1], **gone} for row in rows]
            resources.add_response("list_stack_resources", {"StackResourceSummaries": summaries}, {"StackName": name})
        for name in ("shop-Once-Cache", "shop-Bill"):
            functions.add_response(
                "get_function_configuration", {"Environment": {"Variables": {"IS": name}}}, {"FunctionName": name}
            )
        found = Stack("shop-Once-Machine", {}, {}, None, clients=clients)
        done = once(lambda *_, **__: found, "env", "--sam", "--stack", "shop")
    assert json.loads(done.out) == {
        "BillCustomer": {"IS": "shop-Bill"},
        "CacheResponseFunction": {"IS": "shop-Once-Cache"},
    }


# ---- the event of a function ----

ORDER = str(TEMPLATE.parent / "events" / "place-order.json")


def test_event_is_what_the_state_machine_sends(operator: Operator) -> None:
    request = json.loads(Path(ORDER).read_text())
    assert operator.cloud.run(request).status == "SUCCEEDED"
    (start,) = operator.cloud.invocations("place-order")
    sent, event = start.event, json.loads(operator.once("env", "--event", ORDER).out)
    assert event.keys() == sent.keys() and event["lock"].keys() == sent["lock"].keys()
    own = {"idempotencyKey", "replyToken", "lock"}
    assert {name: event[name] for name in event.keys() - own} == {name: sent[name] for name in event.keys() - own}
    assert event["lock"]["table"] == sent["lock"]["table"]


def test_no_request_and_no_sweep_meets_that_lock_and_the_table_deletes_it(operator: Operator) -> None:
    event = json.loads(operator.once("env", "--event", ORDER).out)
    record = operator.cloud.record(event["lock"]["id"])
    assert record is not None and "openShard" not in record
    assert record["expiresAt"] == int(operator.cloud.clock.now()) + 24 * 3600
    request = json.loads(Path(ORDER).read_text())
    assert event["idempotencyKey"] == f"sam-local-{request['idempotencyKey']}"
    assert operator.cloud.run(request).output["disposition"] == "EXECUTED"
    assert operator.cloud.run(request | {"idempotencyKey": event["idempotencyKey"]}).error == "PayloadMismatch"


def test_a_lock_of_somebody_else_is_left_alone(operator: Operator) -> None:
    request = json.loads(Path(ORDER).read_text())
    key = f"sam-local-{request['idempotencyKey']}"
    operator.cloud.run(request | {"idempotencyKey": key})
    before = operator.cloud.record(f"acme#place-order#{key}")
    done = operator.once("env", "--event", ORDER)
    assert (done.code, done.out) == (2, "") and "is a request of somebody else" in done.err
    assert operator.cloud.record(f"acme#place-order#{key}") == before


def test_a_function_that_knows_nothing_of_once_gets_the_payload_and_no_lock(operator: Operator) -> None:
    def connected(*place: Any, **needed: Any) -> Stack:
        stack = operator._connect(*place, **needed)
        return replace(stack, parameters={**stack.parameters, "PayloadOnlyOperations": "a,place-order"})

    done = once(connected, "env", "--event", ORDER)
    assert json.loads(done.out) == json.loads(Path(ORDER).read_text())["payload"]
    assert not operator.cloud.record("acme#place-order#sam-local-basket-77")
