"""`once env-vars`: what a function in a container is told of the tables that are there."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from commands import Done, once
from operating import Operator
from template_parts import OWN_FUNCTIONS, TEMPLATE

from oncekit.cli.deployed.stack import Stack, connect
from oncekit.local.template import load


@pytest.fixture
def at_its_endpoint(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> str:
    """As in a terminal that has taken the export lines."""
    for name, value in operator.cloud.environment.items():
        monkeypatch.setenv(name, value)
    return operator.cloud.endpoint_url


def test_each_function_gets_the_names_that_are_deployed_and_the_endpoint_as_a_container_calls_it(
    operator: Operator, at_its_endpoint: str
) -> None:
    done = operator.once("env-vars")
    assert done.code == 0, done.err
    told, outputs = json.loads(done.out), operator.cloud.outputs
    assert set(told) >= set(OWN_FUNCTIONS)
    order = told["PlaceOrderFunction"]
    assert (order["ORDERS_TABLE"], order["STOCK_TABLE"]) == (outputs["OrdersTableName"], outputs["StockTableName"])
    assert {each["RESPONSE_BUCKET"] for each in told.values()} == {outputs["ResponseBucketName"]}
    there = f"http://host.docker.internal:{at_its_endpoint.rpartition(':')[2]}"
    assert {each["AWS_ENDPOINT_URL"] for each in told.values()} == {there}
    assert "once up --from-containers" in done.err


def test_every_variable_of_the_file_is_declared_because_sam_drops_the_others(
    operator: Operator, at_its_endpoint: str
) -> None:
    declared = load(TEMPLATE).section("Resources")
    for function, variables in json.loads(operator.once("env-vars").out).items():
        assert set(variables) <= set(declared[function]["Properties"]["Environment"]["Variables"])


@pytest.mark.parametrize("was_there", [False, True])
def test_file_is_for_its_owner_alone_because_there_may_be_secrets_in_it(
    operator: Operator, tmp_path: Path, was_there: bool
) -> None:
    file = tmp_path / "env.json"
    if was_there:
        file.touch(mode=0o644)
    done = operator.once("env-vars", "-o", str(file))
    assert (done.code, done.out) == (0, "")
    assert json.loads(file.read_text()) == json.loads(operator.once("env-vars").out)
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

        return once(connected, "env-vars")

    return command


def test_clients_of_a_stack_on_aws_are_led_nowhere(on_aws: Any) -> None:
    done = on_aws(Environment={"Variables": {"ORDERS_TABLE": "shop-Orders-1"}})
    assert json.loads(done.out)["PlaceOrderFunction"] == {"ORDERS_TABLE": "shop-Orders-1"}
    assert done.err == ""


def test_variables_that_cannot_be_decrypted_are_a_problem_that_names_the_permission(on_aws: Any) -> None:
    done = on_aws(Environment={"Error": {"ErrorCode": "AccessDeniedException", "Message": "no kms:Decrypt"}})
    assert (done.code, done.out) == (2, "")
    assert "allow kms:Decrypt" in done.err and len(done.err.splitlines()) == 1
