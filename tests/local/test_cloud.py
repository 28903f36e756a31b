"""The local cloud's own promises, on the real template."""

from __future__ import annotations

import os
import socket
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_machines import create, task
from latches import Latches

from oncekit.local import LocalCloud
from oncekit.local.cloud import LocalCloudError
from oncekit.local.engine.service_calls import Call
from oncekit.local.isolation import NotLocalError, no_other_cloud

pytestmark = pytest.mark.ours

CHARGE = {
    "operation": "charge-payment",
    "tenant": "acme",
    "idempotencyKey": "cloud-1",
    "payload": {"orderId": "12345", "amount": 4200, "currency": "EUR"},
}
ID = "acme#charge-payment#cloud-1"
FUNCTIONS = Path(__file__).parents[1] / "functions"


def test_waiting_too_long_names_the_state(cloud: LocalCloud, tmp_path: Path) -> None:
    cloud.add_function("scripted", FUNCTIONS / "scripted", environment={"LATCHES": str(tmp_path)})
    script = {"operation": "scripted", "idempotencyKey": "w", "payload": {"script": [{"await": "go"}]}}
    arn = cloud.start(script)
    Latches(tmp_path).wait_for_starts(1)
    with pytest.raises(TimeoutError, match="ExecuteBusinessLogic"):
        cloud.wait(arn, timeout=0)
    (tmp_path / "go").touch()
    assert cloud.wait(arn).status != "RUNNING"


def test_nothing_leaves_the_machine_and_the_surroundings_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "mine")
    with no_other_cloud():
        assert "AWS_PROFILE" not in os.environ
    assert os.environ["AWS_PROFILE"] == "mine"
    with pytest.raises(NotLocalError, match="example"):
        urllib.request.urlopen("https://example.com")
    with pytest.raises(NotLocalError, match=r"192\.0\.2\.1"), socket.socket() as leaving:
        leaving.connect(("192.0.2.1", 443))


def test_reset_forgets_everything_that_happened(cloud: LocalCloud) -> None:
    cloud.add_function("plain-echo", FUNCTIONS / "plain_echo")
    cloud.run(CHARGE)
    cloud.run({**CHARGE, "tenant": "A#B"})
    cloud.client("s3").put_object(Bucket=cloud.resources["ResponseBucket"], Key="responses/x", Body=b"1")
    leaked = cloud.intercept(lambda _call, _proceed: {})
    leaked.__enter__()
    cloud.reset()
    for table in cloud.tables.values():
        assert cloud.client("dynamodb").scan(TableName=table)["Count"] == 0
    assert cloud.client("s3").list_objects_v2(Bucket=cloud.resources["ResponseBucket"])["KeyCount"] == 0
    assert cloud.rejected() == cloud.invocations() == []
    machine = cloud.outputs["StateMachineArn"]
    assert cloud.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"] == []
    assert cloud.run({**CHARGE, "operation": "plain-echo"}).error == "NeedsAttention"  # its function is gone
    assert cloud.run(CHARGE).output["disposition"] == "EXECUTED"


def test_reset_forgets_the_tokens_of_transactions(cloud: LocalCloud) -> None:
    client, table = cloud.client("dynamodb"), cloud.outputs["TableName"]
    for id in ("one", "two"):
        item = {"Put": {"TableName": table, "Item": {"id": {"S": id}}}}
        client.transact_write_items(TransactItems=[item], ClientRequestToken="the same")
        assert cloud.record(id)
        cloud.reset()


def test_reset_forgets_also_what_a_stopped_execution_was_about_to_write(cloud: LocalCloud) -> None:
    """Its call goes on beyond its end, as on AWS; what it writes must not be there for the next test."""
    at_it, go_on, written = threading.Event(), threading.Event(), threading.Event()

    def slow(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        at_it.set()
        go_on.wait(10)
        try:
            return proceed()
        finally:
            written.set()

    item = {"TableName": cloud.outputs["TableName"], "Item": {"id": {"S": "late"}}}
    with cloud.intercept(slow):
        cloud.start_machine(create(cloud, {"P": task("dynamodb:putItem", item)}), "{}", "slow")
        assert at_it.wait(10)
        threading.Timer(0.1, go_on.set).start()
        cloud.reset()
    assert written.wait(10)
    assert cloud.record("late") is None


def test_only_one_cloud_is_open_in_a_process(cloud: LocalCloud) -> None:
    with pytest.raises(LocalCloudError, match="is open in this process"), LocalCloud():
        pass
    assert cloud.run(CHARGE).status == "SUCCEEDED"


def test_the_folder_of_a_function_given_as_a_text_is_told_what_it_must_be(cloud: LocalCloud) -> None:
    folder: Any = "functions/charge_payment"
    with pytest.raises(LocalCloudError, match=r"charge_payment' is no pathlib\.Path of a folder"):
        cloud.add_function("x", folder)


def test_a_stack_can_become_prod_and_dev_again_with_its_records_and_answers(cloud: LocalCloud) -> None:
    large = {"operation": "build-report", "idempotencyKey": "large", "payload": {"bytes": 300_000}}
    first = cloud.run(large)
    with cloud.deployed_with({"Stage": "prod"}):
        assert cloud.run(large).output == {**first.output, "disposition": "REPLAYED"}
    assert cloud.run(large).output == {**first.output, "disposition": "REPLAYED"}


def test_a_resource_that_is_not_there_is_said_with_the_template(cloud: LocalCloud) -> None:
    with pytest.raises(KeyError, match=r"template.yaml has no resource OrdersTabel"):
        cloud.resources["OrdersTabel"]
    assert cloud.resources.get("OrdersTabel", "none") == "none"
