"""The local cloud's own promises, on the real template."""

from __future__ import annotations

import json
import os
import socket
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from engine_machines import create, task
from signing import keys

from oncekit.local import LocalCloud
from oncekit.local.cloud import LocalCloudError
from oncekit.local.engine import Call, runs
from oncekit.local.events import Delivery
from oncekit.local.executions import NoSuchExecution
from oncekit.local.isolation import NotLocalError

pytestmark = pytest.mark.ours

CHARGE = {
    "operation": "charge-payment",
    "tenant": "acme",
    "idempotencyKey": "cloud-1",
    "payload": {"orderId": "12345", "amount": 4200, "currency": "EUR"},
}
ID = "acme#charge-payment#cloud-1"
FUNCTIONS = Path(__file__).parents[1] / "functions"


def test_outputs_and_resources_are_those_of_the_template(cloud: LocalCloud) -> None:
    assert cloud.outputs["StateMachineArn"] == cloud.resources["OperationStateMachine"]
    assert cloud.outputs["TableName"] == cloud.resources["IdempotencyTable"]
    assert cloud.outputs["FunctionPrefix"] == "once_op"
    assert set(cloud.tables) == {"IdempotencyTable", "ProviderLedgerTable", "OrdersTable", "StockTable"}
    assert cloud.parameters["HttpRequestsPerSecond"] == "10000"


def test_table_is_deployed_with_its_index_time_to_live_and_recovery(cloud: LocalCloud) -> None:
    name, dynamodb = cloud.resources["IdempotencyTable"], cloud.client("dynamodb")
    table = dynamodb.describe_table(TableName=name)["Table"]
    assert [key["AttributeName"] for key in table["KeySchema"]] == ["id"]
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["open-operations"]
    assert dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"] == {
        "TimeToLiveStatus": "ENABLED",
        "AttributeName": "expiresAt",
    }
    backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


def test_execution_tells_what_it_came_to(cloud: LocalCloud) -> None:
    execution = cloud.run(CHARGE, name="by-name")
    assert (execution.name, execution.status, execution.input) == ("by-name", "SUCCEEDED", CHARGE)
    assert execution.arn.endswith(":by-name")
    assert execution.output["id"] == ID
    assert (execution.error, execution.cause) == (None, None)
    assert execution.states[:2] == ("ReceiveRequest", "AcquireLock")
    assert execution.transitions == len(execution.states) == 5
    assert [event["id"] for event in execution.events] == list(range(1, len(execution.events) + 1))
    assert repr(execution) == f"<Execution by-name SUCCEEDED [{' → '.join(execution.states)}]>", "not its history"


@pytest.mark.aws("Step Functions Developer Guide, Handling errors", "Retries are treated as state transitions.")
def test_retried_task_counts_as_a_transition_each_time(cloud: LocalCloud) -> None:
    def throttled_once(call: Call, proceed: Any) -> Any:
        if call.state == "AcquireLock" and call.attempt == 0:
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "UpdateItem")
        return proceed()

    with cloud.intercept(throttled_once):
        execution = cloud.run(CHARGE)
    assert execution.status == "SUCCEEDED"
    assert execution.transitions == len(execution.states) + 1
    assert execution.seconds > 0, "it backed off, in virtual time"


def test_input_is_a_value_or_the_json_text_itself(cloud: LocalCloud) -> None:
    assert cloud.run(json.dumps(CHARGE)).output["disposition"] == "EXECUTED"
    assert cloud.run(CHARGE).output["disposition"] == "REPLAYED"
    assert cloud.run("no JSON, so a string").error == "InvalidRequest"


@pytest.mark.aws(
    model="stepfunctions",
    says="Length constraints apply to the payload size, and are expressed as bytes in UTF-8 encoding.",
)
def test_input_beyond_256_kib_is_refused_as_by_start_execution(cloud: LocalCloud) -> None:
    with pytest.raises(ClientError):
        cloud.start({**CHARGE, "payload": {"x": "y" * 262_144}})


def test_record_has_plain_python_values(cloud: LocalCloud) -> None:
    assert cloud.record(ID) is None
    cloud.run(CHARGE)
    record = cloud.record(ID)
    assert record is not None
    assert record["status"] == "COMPLETED"
    assert isinstance(record["fence"], int)
    assert record["fence"] == 1


def test_invocations_are_those_of_business_logic(cloud: LocalCloud) -> None:
    cloud.run(CHARGE)
    [invocation] = cloud.invocations("charge-payment")
    assert (invocation.operation, invocation.outcome) == ("charge-payment", "succeeded")
    assert invocation.event["payload"] == CHARGE["payload"]
    assert invocation.ended_at is not None
    assert invocation.ended_at >= invocation.started_at
    assert cloud.invocations("place-order") == []
    assert cloud.invocations() == [invocation]


def test_rejected_requests_can_be_looked_at_again_and_again(cloud: LocalCloud) -> None:
    cloud.run({**CHARGE, "tenant": "A#B"})
    assert cloud.rejected() == cloud.rejected()
    assert [body["error"] for body in cloud.rejected()] == ["InvalidRequest"]


def test_all_of_many_are_waited_for_in_their_order(cloud: LocalCloud) -> None:
    cloud.add_function("plain-echo", FUNCTIONS / "plain_echo")
    requests = [{**CHARGE, "operation": "plain-echo", "idempotencyKey": f"many-{n}"} for n in range(8)]
    assert [e.input["idempotencyKey"] for e in cloud.run_all(requests)] == [f"many-{n}" for n in range(8)]


def test_waiting_too_long_names_the_state(cloud: LocalCloud, tmp_path: Path) -> None:
    cloud.add_function("scripted", FUNCTIONS / "scripted", environment={"LATCHES": str(tmp_path)})
    script = {"operation": "scripted", "idempotencyKey": "w", "payload": {"script": [{"await": "go"}]}}
    arn = cloud.start(script)
    with pytest.raises(TimeoutError, match="ExecuteBusinessLogic"):
        cloud.wait(arn, timeout=0.5)
    (tmp_path / "go").touch()
    assert cloud.wait(arn).status != "RUNNING"


def test_end_of_an_execution_wakes_who_waits_for_it(cloud: LocalCloud) -> None:
    cloud.run(CHARGE)
    arn = cloud.start(CHARGE)
    seen: list[str] = []
    waiter = threading.Thread(target=lambda: seen.append(cloud.wait(arn).status))
    waiter.start()
    waiter.join(10)
    assert seen == ["SUCCEEDED"]


def test_stopped_execution_says_why(cloud: LocalCloud) -> None:
    def crash(call: Call, proceed: Any) -> Any:
        answer = proceed()
        cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn, error="Crash", cause="by a test")
        return answer

    with cloud.intercept(crash):
        stopped = cloud.run(CHARGE)
    assert (stopped.status, stopped.error, stopped.cause) == ("ABORTED", "Crash", "by a test")
    assert stopped.output is None
    assert cloud.stop(stopped.arn).status == "ABORTED"


def test_interceptor_is_gone_when_its_context_ends(cloud: LocalCloud) -> None:
    seen: list[str] = []

    def note(call: Call, proceed: Any) -> Any:
        seen.append(f"{call.service}.{call.action}")
        return proceed()

    with cloud.intercept(note):
        cloud.run(CHARGE)
    assert seen == ["dynamodb.update_item", "lambda.invoke", "dynamodb.update_item"]
    cloud.run(CHARGE)
    assert len(seen) == 3


@pytest.mark.aws(
    model="stepfunctions",
    says="If you provide a qualified state machine ARN that refers to a version ARN or an alias ARN, the request",
)
def test_alias_starts_the_same_state_machine(cloud: LocalCloud) -> None:
    answer = cloud.client("stepfunctions").start_execution(
        stateMachineArn=cloud.outputs["StateMachineAliasArn"], name="through-alias", input=json.dumps(CHARGE)
    )
    assert cloud.wait(answer["executionArn"]).status == "SUCCEEDED"


def test_clients_in_other_processes_see_the_same_cloud(cloud: LocalCloud) -> None:
    cloud.run(CHARGE)
    remote = boto3.client("dynamodb", endpoint_url=cloud.endpoint_url, **keys(cloud.environment))
    assert remote.get_item(TableName=cloud.outputs["TableName"], Key={"id": {"S": ID}})["Item"]["status"] == {
        "S": "COMPLETED"
    }
    states = boto3.client("stepfunctions", endpoint_url=cloud.endpoint_url, **keys(cloud.environment))
    arn = states.start_execution(
        stateMachineArn=cloud.outputs["StateMachineArn"], name="remote", input=json.dumps(CHARGE)
    )
    assert cloud.wait(arn["executionArn"]).output["disposition"] == "REPLAYED"
    assert states.describe_execution(executionArn=arn["executionArn"])["status"] == "SUCCEEDED"


def test_environment_leads_clients_here_and_nowhere_else(cloud: LocalCloud) -> None:
    assert cloud.endpoint_url.startswith("http://127.0.0.1:")
    assert cloud.environment["AWS_ENDPOINT_URL"] == cloud.endpoint_url
    assert {"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= set(cloud.environment)


@pytest.mark.usefixtures("cloud")
def test_nothing_leaves_the_machine() -> None:
    assert "AWS_PROFILE" not in os.environ
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
    assert cloud.run({**CHARGE, "operation": "plain-echo"}).error == "InvalidRequest"
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


def test_reset_waits_also_for_an_execution_whose_start_has_not_returned(
    cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_it, go_on, written = threading.Event(), threading.Event(), threading.Event()
    start_thread = runs.start_thread

    def slow(_call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        at_it.set()
        go_on.wait(10)
        written.set()
        return proceed()

    def reset_meanwhile(work: Callable[[], None], name: str) -> threading.Thread:
        thread = start_thread(work, name)
        assert at_it.wait(10)
        threading.Timer(0.1, go_on.set).start()
        cloud.reset()
        assert written.is_set()
        return thread

    monkeypatch.setattr(runs, "start_thread", reset_meanwhile)
    item = {"TableName": cloud.outputs["TableName"], "Item": {"id": {"S": "late"}}}
    with cloud.intercept(slow):
        cloud.start_machine(create(cloud, {"P": task("dynamodb:putItem", item)}), "{}", "slow")
    assert cloud.record("late") is None
    cloud.settle(10)


def test_reset_forgets_also_the_execution_that_a_delivery_was_about_to_start(cloud: LocalCloud) -> None:
    at_it, go_on = threading.Event(), threading.Event()

    def slow(_delivery: Delivery) -> tuple[float, ...]:
        at_it.set()
        go_on.wait(10)
        return (0.0,)

    entry = {"EventBusName": cloud.outputs["EventBusName"], "Source": "test", "DetailType": "OperationRequested"}
    with cloud.delivering(), cloud.lose_events(slow):
        cloud.client("events").put_events(Entries=[{**entry, "Detail": json.dumps(CHARGE)}])
        assert at_it.wait(10)
        threading.Timer(0.1, go_on.set).start()
        cloud.reset()
    assert cloud.executions.of(cloud.outputs["StateMachineArn"]) == []


def test_reset_stops_what_still_runs(cloud: LocalCloud, tmp_path: Path) -> None:
    cloud.add_function("scripted", FUNCTIONS / "scripted", environment={"LATCHES": str(tmp_path)})
    arn = cloud.start({"operation": "scripted", "idempotencyKey": "r", "payload": {"script": [{"await": "never"}]}})
    cloud.reset()
    with pytest.raises(NoSuchExecution, match="no execution"):
        cloud.describe(arn)


def test_other_parameters_hold_for_a_while_and_data_stays(cloud: LocalCloud) -> None:
    cloud.run(CHARGE)
    before = dict(cloud.parameters)
    with cloud.deployed_with({"MaxAttempts": "1"}):
        assert cloud.parameters["MaxAttempts"] == "1"
        assert cloud.run(CHARGE).output["disposition"] == "REPLAYED"
        failing = {**CHARGE, "operation": "scripted", "payload": {"script": [{"raise": "RuntimeError"}]}}
        cloud.add_function("scripted", FUNCTIONS / "scripted")
        assert cloud.run(failing).error == "NeedsAttention"
        assert len(cloud.invocations("scripted")) == 1
    assert cloud.parameters == before


def test_only_one_cloud_is_open_in_a_process(cloud: LocalCloud) -> None:
    with pytest.raises(LocalCloudError, match="is open in this process"), LocalCloud():
        pass
    assert cloud.run(CHARGE).status == "SUCCEEDED"


def test_function_folder_that_is_not_there_is_named(cloud: LocalCloud) -> None:
    with pytest.raises(LocalCloudError, match="nowhere"):
        cloud.add_function("nothing", FUNCTIONS / "nowhere")


def test_a_stack_can_become_prod_and_dev_again_with_its_records_and_answers(cloud: LocalCloud) -> None:
    large = {"operation": "build-report", "idempotencyKey": "large", "payload": {"bytes": 300_000}}
    first = cloud.run(large)
    with cloud.deployed_with({"Stage": "prod"}):
        assert cloud.run(large).output == {**first.output, "disposition": "REPLAYED"}
    assert cloud.run(large).output == {**first.output, "disposition": "REPLAYED"}


def test_the_url_of_a_queue_leads_to_this_cloud_also_for_who_sends_where_it_points(cloud: LocalCloud) -> None:
    for output in ("RequestQueueUrl", "RejectedQueueUrl"):
        assert cloud.outputs[output].startswith(f"{cloud.endpoint_url}/")


def test_queue_whose_properties_changed_keeps_its_messages(cloud: LocalCloud) -> None:
    url, client = cloud.outputs["RequestQueueUrl"], cloud.client("sqs")
    client.send_message(QueueUrl=url, MessageBody="kept")
    with cloud.deployed_with({"MaxReceiveCount": 6}):
        assert [each["Body"] for each in client.receive_message(QueueUrl=url)["Messages"]] == ["kept"]
