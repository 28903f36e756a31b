"""A foreign application runs through Once after the documented steps, without a change of its functions."""

from __future__ import annotations

import difflib
import json
import os
import runpy
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from adoption.conftest import APPLICATION, PAGE, Application, steps
from commands import Done, once
from tools import tool

from oncekit.cli.here.up import News, _tell
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.deployment.resources import Deployed
from oncekit.local.permissions.needs import Need
from oncekit.local.permissions.policies import Answer
from oncekit.stack.stack import connect
from oncekit.testing import owner_dies
from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.matrix import NothingToStrike
from oncekit.testing.plugin import RunMatrix

Adopted = tuple[Application, list[Done]]
MOST_LINES = 15
INVOICE = json.loads((APPLICATION / "samples" / "invoice.json").read_text())
CHARGED = "default#bill-customer#4711"


def test_each_step_of_the_page_prints_what_the_page_says(shop: Adopted) -> None:
    told = steps()
    assert [step.command[:2] for step in told][:2] == [("init",), ("new", "bill-customer")]
    for step, done in zip(told, shop[1], strict=True):
        assert (done.code, done.out.strip()) == (0, step.printed), f"{step.command}: {done.err}"


def test_no_file_of_the_application_changes_but_its_template_and_samconfig(shop: Adopted) -> None:
    before = {each.relative_to(APPLICATION) for each in APPLICATION.rglob("*.*") if "__pycache__" not in each.parts}
    changed = {
        str(name) for name in before if (shop[0].folder / name).read_bytes() != (APPLICATION / name).read_bytes()
    }
    assert len(before) >= 8 and changed == {"template.yaml", "samconfig.toml"}


def test_three_functions_a_bus_and_a_queue_take_few_lines_of_template(foreign: Application) -> None:
    for step in steps():
        if "send-invoice" not in step.command:
            foreign.once(*step.command)
    was, now = (APPLICATION / "template.yaml").read_text().splitlines(), foreign.text("template.yaml").splitlines()
    new = [line[2:] for line in difflib.ndiff(was, now) if line.startswith("+ ") and line[2:].strip()]
    gone = [line for line in difflib.ndiff(was, now) if line.startswith("- ")]
    assert not gone and 5 < len(new) <= MOST_LINES
    assert "\n".join(new) in PAGE, "the page shows them"


def charges(cloud: TestCloud) -> list[dict[str, Any]]:
    return [row for row in cloud.rows("Ledger") if "invoice" in row]


def send(cloud: TestCloud, event: dict[str, Any], times: int = 1) -> None:
    entry = {"Source": event["source"], "DetailType": event["detail-type"], "Detail": json.dumps(event["detail"])}
    entries = [{**entry, "EventBusName": cloud.resources["ShopBus"]}] * times
    cloud.client("events").put_events(Entries=entries)
    cloud.settle()


def test_an_event_of_its_own_shape_three_times_charges_once(cloud: TestCloud) -> None:
    send(cloud, INVOICE, times=3)
    record = cloud.record(CHARGED)
    assert record is not None and (record["status"], record["attempts"]) == ("COMPLETED", 1), cloud.rejected()
    assert not cloud.rejected(), "each event has an id and a time of its own"
    (start,) = cloud.invocations("bill-customer")
    assert start.event["detail"] == INVOICE["detail"] and "lock" not in start.event, "the event as it was"
    assert [row["invoice"] for row in charges(cloud)] == [4711] and not cloud.denials()


def test_an_event_of_another_type_or_without_the_key_charges_nobody(cloud: TestCloud) -> None:
    send(cloud, {**INVOICE, "detail-type": "InvoicePaid"})
    send(cloud, {**INVOICE, "detail": {"invoice": {"cents": 1}}})
    send(cloud, {**INVOICE, "detail": {"invoice": {"number": None, "cents": 1}}})
    assert [each["error"] for each in cloud.rejected()] == ["InvalidRequest"] * 2 and not charges(cloud)


@pytest.fixture(params=["fast", "full"])
def either_lane(shop: Adopted, cloud: TestCloud, request: pytest.FixtureRequest) -> Iterator[str]:
    """Rules and pipes start this one."""
    operations = shop[0].folder / "once" / "operations.yaml"
    written = operations.read_text()
    operations.write_text(written.replace("Default: full", f"Default: {request.param}"))
    cloud.redeploy()
    yield request.param
    operations.write_text(written)
    cloud.redeploy()


def send_with(cloud: TestCloud, key: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """An event and a message with this key."""
    event = {**INVOICE, "detail": {"invoice": {"number": key, "cents": 9}}}
    send(cloud, event)
    message = {"orderNo": key, "sku": "tea", "pieces": 1}
    send_body(cloud, json.dumps(message))
    cloud.settle()
    return event, message


def send_body(cloud: TestCloud, body: str) -> None:
    cloud.client("sqs").send_message(QueueUrl=cloud.resources["WarehouseQueue"], MessageBody=body)


TEXTS = {
    **{
        text: text
        for text in ('a"b', "a\\b", "a/b", "a\\/b", "a\\u0062", "é", 'k", "once": {"key": []}, "x": "', "4711.0")
    },
    4711: "4711",
}


@pytest.mark.usefixtures("either_lane")
def test_a_key_is_what_it_is_in_an_event_and_in_a_message(cloud: TestCloud) -> None:
    for key in TEXTS:
        send_with(cloud, key)
    kept = {str(row["id"]) for row in cloud.rows("IdempotencyTable")}
    assert kept == {f"default#{of}#{key}" for of in ("bill-customer", "reserve-stock") for key in TEXTS.values()}
    assert not cloud.rejected() and len(cloud.invocations()) == 2 * len(TEXTS)


@pytest.mark.usefixtures("either_lane")
@pytest.mark.parametrize("key", [None, True, 1.5, 2**53, [], ["k"], {"a": "k"}], ids=str)
def test_what_is_no_key_is_refused_and_kept_with_the_place_where_it_was_looked_for(cloud: TestCloud, key: Any) -> None:
    event, message = send_with(cloud, key)
    by_rule, by_pipe = sorted(cloud.rejected(), key=lambda each: isinstance(each["input"], list))
    found = "null" if key is None else "no text and no whole number"
    assert f"no key - the event has {found}" in by_rule["message"]
    assert by_rule["message"].endswith('at ["detail","invoice","number"]')
    assert by_pipe["message"].endswith('at ["orderNo"]')
    assert (by_rule["input"]["event"]["detail"], by_pipe["input"][0]["body"]) == (event["detail"], message)
    assert not cloud.invocations() and not cloud.rows("IdempotencyTable")


OTHER = '"once": {"operation": "write-receipt", "key": ["orderNo"], "payload": [], "onCrash": "quarantine"}'
ORDER = '{"orderNo": "A-9", "sku": "tea", "pieces": 1}'
NO_JSON = [
    *("text", "A-1", '"A-1"', 'say "hi"', '"', "\\", "two\nlines", ORDER[:-1], f"{ORDER}}}", f"[{ORDER}", "<$.body>"),
    *(f'x", {OTHER}, "x": "', f'x", "body": {ORDER}, {OTHER}, "x": "', f'x", "body": {ORDER}, "event": "'),
    *('x", "tenant": "other', 'x", "body": {"orderNo": "A-9', 'x", "body": ["A-9', 'x"}, {"body": "', 'x"}], [{"a": "'),
    *(f'x", {OTHER}, "once": "', f'x", {OTHER}, "body": "', f'x", "\\u006fnce": {OTHER[8:]}, "body": "x'),
    'x", "http": {"prefer": "", "operation": "write-receipt"}, "x": "',
]  # fmt: skip


@pytest.mark.usefixtures("either_lane")
def test_a_body_that_is_no_json_starts_nothing_and_is_not_lost(cloud: TestCloud) -> None:
    """Nothing escapes it: it may bring members along, and brackets and quotes that are open."""
    for body in NO_JSON:
        send_body(cloud, body)
    for _ in range(5):  # as often as it may be received
        cloud.settle()
        cloud.clock.advance(120)
    cloud.settle()
    asked = {"QueueUrl": cloud.resources["WarehouseDlq"], "AttributeNames": ["ApproximateNumberOfMessages"]}
    dead = int(cloud.client("sqs").get_queue_attributes(**asked)["Attributes"]["ApproximateNumberOfMessages"])
    assert not cloud.invocations() and not cloud.rows("IdempotencyTable")
    assert len(cloud.rejected()) + dead == len(NO_JSON) and 0 < dead < len(NO_JSON)


@pytest.mark.usefixtures("either_lane")
def test_a_body_cannot_bring_along_what_the_pipe_asks(cloud: TestCloud) -> None:
    """Of two members of one name the last one counts, which is the pipe's."""
    send_body(cloud, f'x", "body": {ORDER}, {OTHER}, "once": "')
    cloud.settle()
    assert [start.operation for start in cloud.invocations()] == ["reserve-stock"]
    assert cloud.record("default#reserve-stock#A-9")


def test_another_amount_under_the_same_number_is_refused_and_kept(cloud: TestCloud) -> None:
    send(cloud, INVOICE)
    send(cloud, {**INVOICE, "detail": {"invoice": {"number": 4711, "cents": 9}}})
    assert [each["error"] for each in cloud.rejected()] == ["PayloadMismatch"] and len(charges(cloud)) == 1


def test_a_message_in_its_own_queue_twice_reserves_once(cloud: TestCloud) -> None:
    queue, body = cloud.resources["WarehouseQueue"], (APPLICATION / "samples" / "reservation.json").read_text()
    for _ in range(2):
        cloud.client("sqs").send_message(QueueUrl=queue, MessageBody=body)
    cloud.settle()
    assert [row["orderNo"] for row in cloud.rows("Ledger")] == ["A-1"], cloud.rejected()


def test_a_function_behind_an_alias_of_its_own_answers_each_duplicate_alike(cloud: TestCloud) -> None:
    request = {"operation": "write-receipt", "idempotencyKey": "r", "payload": {"customer": "c", "cents": 5}}
    first, second = cloud.run(request), cloud.run(request)
    assert (first.output["disposition"], second.output["disposition"]) == ("EXECUTED", "REPLAYED")
    assert json.loads(second.output["result"]) == {"customer": "c", "total": "0.05"}


def test_up_prints_where_to_send_what_starts_its_own_operations(
    foreign: Application, cloud: TestCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in steps():
        assert foreign.once(*step.command).code == 0
    before = cloud._parameters, cloud._path
    cloud.redeploy({}, foreign.folder / "template.yaml")
    _tell(cloud, "http://127.0.0.1:1", foreign.folder / "template.yaml")
    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["queue", cloud.resources["WarehouseQueue"], "(reserve-stock)"] in told
    assert ["bus", "shop-events", "(bill-customer)"] in told
    cloud.redeploy(*before)


def test_up_tells_each_message_that_reaches_a_dead_letter_queue(
    cloud: TestCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    """No execution takes what is larger than 256 KiB, and a body that is no JSON may make no input."""
    news = News()
    news.follow(cloud)
    news.tell()
    send(cloud, {**INVOICE, "detail": {"invoice": {"number": "k", "note": "x" * 270_000}}})
    send_body(cloud, 'say "hi"')
    cloud.settle()
    for _ in range(5):  # as often as it may be received
        cloud.clock.advance(120)
        cloud.settle()
        news.tell()
    told = capsys.readouterr().err.splitlines()
    [rule] = [name for name in cloud.resources if name.endswith("BillCustomerEventsDeadLetterQueue")]
    assert sorted(told) == [
        f"✗ {name} has 1 message that started nothing: see `once doctor`" for name in (rule, "WarehouseDlq")
    ]


@pytest.mark.parametrize(
    ("queue", "next_command"),
    [
        ("BillCustomerEventsDeadLetterQueue", "`aws events put-events`"),
        ("WarehouseDlq", "`aws sqs start-message-move-task --source-arn arn:"),
    ],
)
def test_the_doctor_says_how_dead_letters_of_its_own_go_back_where_they_came_from(
    cloud: TestCloud, monkeypatch: pytest.MonkeyPatch, queue: str, next_command: str
) -> None:
    [name] = [name for name in cloud.resources if name.endswith(queue)]
    cloud.client("sqs").send_message(QueueUrl=cloud.resources[name], MessageBody="{}")
    for variable, value in cloud.environment.items():
        monkeypatch.setenv(variable, value)
    done = once(connect, "doctor", "--json")
    [wrong] = [each for each in done.answer["checks"] if each["outcome"] == "wrong"]
    assert (done.code, wrong["name"], wrong["resource"]) == (1, "dead-letters", name)
    assert next_command in wrong["advice"] and "once send" not in wrong["advice"]


def test_an_operation_is_recovered_when_its_owner_dies(cloud: TestCloud) -> None:
    request = {"operation": "write-receipt", "idempotencyKey": "r", "payload": {"customer": "c", "cents": 5}}
    with cloud.fault(owner_dies(before="Finalize")):
        assert cloud.finish(request).output["disposition"] == "REPLAYED"
    assert len(cloud.invocations("write-receipt")) == 2, "the sweep starts it again, under the next fence"


def test_the_roles_of_the_nested_template_hold(shop: Adopted, cloud: TestCloud) -> None:
    template = shop[0].folder / "once" / "operations.yaml"
    allowed = template.read_text()
    template.write_text(allowed.replace("Action: states:StartExecution", "Action: states:ListExecutions", 1))
    try:
        cloud.redeploy()
        send(cloud, INVOICE)
        assert any("StartExecution" in str(each) for each in cloud.denials()) and not charges(cloud)
    finally:
        template.write_text(allowed)
        cloud.redeploy()


# ---- what is written for an operation is of no use to another one ----


@pytest.fixture
def made(cloud: TestCloud) -> dict[str, Deployed]:
    return {name.rpartition(".")[2]: each for name, each in cloud.deployed.resources.items()}


def test_what_starts_an_operation_takes_from_its_own_source_and_starts_the_lane_that_is_set(
    either_lane: str, made: dict[str, Deployed]
) -> None:
    machine = made["FastStateMachine" if either_lane == "fast" else "OperationStateMachine"].ref
    rule, pipe = made["BillCustomerRule"].properties, made["ReserveStockPipe"].properties
    [target] = rule["Targets"]
    assert (rule["EventBusName"], target["Arn"]) == (made["ShopBus"].ref, f"{machine}:live")
    assert (pipe["Source"], pipe["Target"]) == (made["WarehouseQueue"].attributes("Arn"), machine)
    assert target["DeadLetterConfig"]["Arn"] == made["BillCustomerEventsDeadLetterQueue"].attributes("Arn")
    assert target["RoleArn"] == made["BillCustomerRuleRole"].attributes("Arn")
    assert pipe["RoleArn"] == made["ReserveStockPipeRole"].attributes("Arn")


SERVICES = {"BillCustomerRuleRole": "events", "ReserveStockPipeRole": "pipes"}


def test_a_role_of_an_operation_may_do_what_this_operation_needs_and_no_more(
    cloud: TestCloud, made: dict[str, Deployed]
) -> None:
    machines = {made[f"{each}StateMachine"].ref for each in ("Operation", "Fast")}
    queue, log = (made[name].attributes("Arn") for name in ("WarehouseQueue", "ReserveStockPipeLogGroup"))
    answers, table = f"{made['ResponseBucket'].attributes('Arn')}/responses", made["IdempotencyTable"].attributes("Arn")
    taken = {(f"sqs:{each}", queue) for each in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")}
    noted = {(f"logs:{each}", log) for each in ("CreateLogStream", "PutLogEvents")}
    starts = {("states:StartExecution", each) for each in machines}
    of_steps = {(f"dynamodb:{each}", table) for each in ("GetItem", "UpdateItem")}
    needed = {
        "BillCustomerRuleRole": starts,
        "ReserveStockPipeRole": starts | taken | noted,
        "SendInvoiceFunctionRole": {("dynamodb:PutItem", made["SendInvoiceTable"].attributes("Arn"))},
        "SendInvoiceEffectsPolicy": of_steps
        | {(f"s3:{each}", f"{answers}/*/*/send-invoice/*") for each in ("PutObject", "GetObject")},
    }
    everything = [each for role in cloud.permissions.roles.values() for each in role.permissions]
    given = {name: {(p.action, p.resource) for p in everything if name in p.policy.split(".")} for name in needed}
    assert given == needed


def test_a_role_of_an_operation_is_assumed_by_its_service_in_this_account(made: dict[str, Deployed]) -> None:
    for role, service in SERVICES.items():
        [trust] = made[role].properties["AssumeRolePolicyDocument"]["Statement"]
        assert (trust["Action"], trust["Principal"]) == ("sts:AssumeRole", {"Service": f"{service}.amazonaws.com"})
        assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}, role


def test_dead_letters_of_an_operation_come_from_its_rule_and_nobody_else(made: dict[str, Deployed]) -> None:
    policy, rule = made["BillCustomerEventsDeadLetterQueuePolicy"].properties, made["BillCustomerRule"]
    queue = made["BillCustomerEventsDeadLetterQueue"]
    [allowed] = policy["PolicyDocument"]["Statement"]
    assert (policy["Queues"], allowed["Resource"]) == ([queue.ref], queue.attributes("Arn"))
    assert (allowed["Action"], allowed["Principal"]) == ("sqs:SendMessage", {"Service": "events.amazonaws.com"})
    assert allowed["Condition"] == {"ArnEquals": {"aws:SourceArn": rule.attributes("Arn")}}


KEYS = [
    ("acme#send-invoice#k", Answer.ALLOWED),
    ("acme#send-invoice-2#k", Answer.NOT_ALLOWED),
    ("acme#re-send-invoice#k", Answer.NOT_ALLOWED),
    ("send-invoice#bill-customer#k", Answer.NOT_ALLOWED),
    (None, Answer.NOT_ALLOWED),
]


@pytest.mark.parametrize(("key", "answer"), KEYS)
def test_steps_of_an_operation_reach_its_own_records_only(
    cloud: TestCloud, made: dict[str, Deployed], key: str | None, answer: Answer
) -> None:
    [role] = [each for each in cloud.permissions.roles.values() if each.logical_id.endswith("SendInvoiceFunctionRole")]
    for action in ("GetItem", "UpdateItem"):
        need = Need(f"dynamodb:{action}", made["IdempotencyTable"].attributes("Arn"), (("dynamodb:LeadingKeys", key),))
        assert role.answer(need)[0] is answer


def test_each_operation_is_run_by_its_own_function_by_the_alias_that_it_has(cloud: TestCloud) -> None:
    function = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:once-"
    ends = {
        "bill-customer": "billing",
        "reserve-stock": "Warehouse",
        "write-receipt": "WriteReceipt:prod",
        "send-invoice": "SendInvoiceFunction:live",
    }
    given = dict(each.split("=") for each in cloud.outputs["Operations"].split(","))
    assert given == {operation: f"{function}{end}" for operation, end in ends.items()}


WATCHED = {
    "BillCustomerErrorsAlarm": ("AWS/Lambda", "Errors", {"FunctionName": "once-billing"}, [5, 5], [5, 6]),
    "WriteReceiptThrottlesAlarm": ("AWS/Lambda", "Throttles", {"FunctionName": "once-WriteReceipt"}, [5, 5], [5, 6]),
    "BillCustomerEventsDeadLetterAlarm": (
        "AWS/SQS",
        "ApproximateNumberOfMessagesVisible",
        {"QueueName": "once-BillCustomerEventsDeadLetterQueue"},
        [0, 0],
        [0, 1],
    ),
    "ReserveStockPipeFailingAlarm": (
        "AWS/EventBridge/Pipes",
        "ExecutionFailed",
        {"PipeName": "once-ReserveStockPipe"},
        [0, 0],
        [0, 1],
    ),
}
"""What each alarm is of, and the data of two periods of five minutes: of one in which all is well, and of another."""
STATISTICS: dict[str, Callable[[list[int]], float]] = {"Sum": sum, "Maximum": max}


@pytest.mark.parametrize(("alarm", "watched"), WATCHED.items())
def test_an_alarm_of_an_operation_rings_for_what_is_its_own(
    made: dict[str, Deployed], alarm: str, watched: tuple[str, str, dict[str, str], list[int], list[int]]
) -> None:
    given, (namespace, metric, dimensions, good, bad) = made[alarm].properties, watched
    assert (given["Namespace"], given["MetricName"]) == (namespace, metric)
    assert {each["Name"]: each["Value"] for each in given["Dimensions"]} == dimensions
    assert (given["Period"], given["EvaluationPeriods"], given["TreatMissingData"]) == (300, 1, "notBreaching")
    assert given["ComparisonOperator"] == "GreaterThanThreshold"
    statistic = STATISTICS[given["Statistic"]]
    assert statistic(good) <= given["Threshold"] < statistic(bad)
    topic = [made["AlarmTopic"].ref]
    assert given["AlarmActions"] == given["OKActions"] == topic


def written(shop: Adopted, name: str) -> dict[str, Any]:
    """The tests of a file that was written."""
    told = runpy.run_path(str(shop[0].folder / "tests" / name)).items()
    return {test: each for test, each in told if test.startswith("test_")}


def test_the_tests_that_were_written_pass(shop: Adopted, shop_cloud: TestCloud) -> None:
    files = ("test_bill_customer.py", "test_reserve_stock.py", "test_write_receipt.py")
    tests = [(name, test) for each in files for name, test in written(shop, each).items()]
    of_one_request = [test for name, test in tests if "whatever_breaks" not in name]
    for test in of_one_request:
        shop_cloud.reset()
        test(once_cloud=shop_cloud)
    assert len(of_one_request) == 5 and len(tests) == 8


def test_the_matrix_that_was_written_finds_a_write_without_a_key(shop: Adopted, cloud: TestCloud) -> None:
    test = written(shop, "test_bill_customer.py")["test_takes_effect_once_whatever_breaks"]
    with pytest.raises(pytest.fail.Exception, match="twice: Ledger"):
        test(once_cloud=cloud, once_matrix=partial(RunMatrix(cloud), states=False))


def test_the_matrix_says_what_to_do_where_it_sees_no_effect(shop: Adopted, cloud: TestCloud) -> None:
    test = written(shop, "test_write_receipt.py")["test_takes_effect_once_whatever_breaks"]
    with pytest.raises(NothingToStrike, match=r"it watched no effect: the function called nothing.*effects=False\)"):
        test(once_cloud=cloud, once_matrix=RunMatrix(cloud))


def test_what_the_function_raised_is_told_first_where_a_test_is_red(cloud: TestCloud) -> None:
    request = {"operation": "write-receipt", "idempotencyKey": "r", "payload": {}, "onCrash": "quarantine"}
    assert cloud.run(request).why == "KeyError: 'customer'"
    with pytest.raises(NothingToStrike, match=r"fault: it ends as QUARANTINED \(KeyError: 'customer'\)$"):
        RunMatrix(cloud)({**request, "idempotencyKey": "m"})


VALIDATE = """
import gc, sys
gc.disable()
from samcli.cli.main import cli
for name in sys.argv[1:]:
    cli(["validate", "--lint", "--template", name], standalone_mode=False)
"""
"""The command for one template after another: to import what it is made of takes half of its time."""


def test_sam_accepts_what_was_written(shop: Adopted) -> None:
    environment = {**os.environ, "SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": "us-east-1"}
    names = ("template.yaml", "once/operations.yaml", "once/template.yaml")
    validate = [tool(".venv-sam/bin/sam").with_name("python"), "-c", VALIDATE, *names]
    done = subprocess.run(validate, cwd=shop[0].folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("is a valid SAM Template") == len(names), done.stdout
