"""A foreign application runs through Once after the documented steps, without a change of its functions."""

from __future__ import annotations

import difflib
import json
import os
import re
import runpy
import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from adoption.conftest import APPLICATION, PAGE, Application, steps
from commands import Done, once
from tools import tool

from oncekit.cli.deployed.stack import connect
from oncekit.cli.here.up import News, _tell
from oncekit.promises.evidence import executions_of
from oncekit.testing import owner_dies
from oncekit.testing.cloud import TestCloud
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


MEMBERS = '"tenant": "other", "operation": "write-receipt", "payload": {"cents": 1}'
POLICIES = '"onConflict": "wait", "onCrash": "quarantine", "onFailed": "retry'
SPLICED = f'k", {MEMBERS}, {POLICIES}'
BY_HTTP = {"tenant": "other", "operation": "write-receipt", "idempotencyKey": "k", "prefer": "", "body": "%7B%7D"}


@pytest.fixture(params=["fast", "full"])
def either_lane(shop: Adopted, cloud: TestCloud, request: pytest.FixtureRequest) -> Iterator[None]:
    """Rules and pipes start this one."""
    operations = shop[0].folder / "once" / "operations.yaml"
    written = operations.read_text()
    operations.write_text(written.replace("Default: full", f"Default: {request.param}"))
    cloud.redeploy()
    yield
    operations.write_text(written)
    cloud.redeploy()


def send_with(cloud: TestCloud, key: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """An event and a message with this key."""
    event = {**INVOICE, "detail": {"invoice": {"number": key, "cents": 9}}}
    send(cloud, event)
    message = {"orderNo": key, "sku": "tea", "pieces": 1}
    cloud.client("sqs").send_message(QueueUrl=cloud.resources["WarehouseQueue"], MessageBody=json.dumps(message))
    cloud.settle()
    return event, message


@pytest.mark.usefixtures("either_lane")
def test_no_member_that_a_key_brings_along_counts(cloud: TestCloud) -> None:
    event, message = send_with(cloud, SPLICED)
    assert [start.operation for start in cloud.invocations()] == ["bill-customer", "reserve-stock"]
    assert [start.event.get("detail", start.event) for start in cloud.invocations()] == [event["detail"], message]
    assert cloud.record("default#bill-customer#k") and cloud.record("default#reserve-stock#k")
    usual = {"onConflict": "acknowledge", "onCrash": "retry", "onFailed": "replay"}
    asked = [each.input[0] if isinstance(each.input, list) else each.input for each in executions_of(cloud)]
    assert [{name: each[name] for name in usual} for each in asked] == [usual] * 2


@pytest.mark.usefixtures("either_lane")
def test_a_key_cannot_bring_along_what_the_http_api_writes(cloud: TestCloud) -> None:
    send_with(cloud, f'k", "http": {json.dumps(BY_HTTP)}, "x": "')
    assert not cloud.invocations() and not cloud.rows("IdempotencyTable")
    kept = [each["input"][0] if isinstance(each["input"], list) else each["input"] for each in cloud.rejected()]
    assert {(each["operation"], each["http"]["operation"]) for each in kept} == {
        ("bill-customer", "write-receipt"),
        ("reserve-stock", "write-receipt"),
    }


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
    api = ("new", "write-receipt", "--function", "WriteReceipt", "--http", "/receipts", "--key", "$.id")
    for command in (*(step.command for step in steps() if "write-receipt" not in step.command), api):
        assert foreign.once(*command).code == 0
    before = cloud._parameters, cloud._path
    cloud.redeploy({}, foreign.folder / "template.yaml")
    _tell(cloud, "http://127.0.0.1:1", foreign.folder / "template.yaml")
    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["queue", cloud.resources["WarehouseQueue"], "(reserve-stock)"] in told
    assert ["bus", "shop-events", "(bill-customer)"] in told
    assert ["HTTP", "POST", f"{cloud.http_url}/receipts", "(write-receipt)"] in told
    cloud.redeploy(*before)


def test_up_tells_each_message_that_reaches_a_dead_letter_queue(
    cloud: TestCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    """A quote in a key makes no request of an event or of a message."""
    news = News()
    news.follow(cloud)
    news.tell()
    send(cloud, {**INVOICE, "detail": {"invoice": {"number": 'a"b', "cents": 9}}})
    message = json.dumps({"orderNo": 'a"b', "sku": "tea", "pieces": 1})
    cloud.client("sqs").send_message(QueueUrl=cloud.resources["WarehouseQueue"], MessageBody=message)
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


def test_a_rule_starts_the_alias_and_its_dead_letter_queue_is_its_own(cloud: TestCloud) -> None:
    made = {name.rpartition(".")[2]: each for name, each in cloud.deployed.resources.items()}
    rule, policy = made["BillCustomerRule"], made["BillCustomerEventsDeadLetterQueuePolicy"].properties
    assert [each["Arn"].rpartition(":")[2] for each in rule.properties["Targets"]] == ["live"]
    assert ':live","input"' in re.sub(r"[\\ ]", "", json.dumps(made["ChargeFeeApi"].properties["Body"]))
    [allowed] = policy["PolicyDocument"]["Statement"]
    assert (allowed["Action"], allowed["Principal"]) == ("sqs:SendMessage", {"Service": "events.amazonaws.com"})
    assert allowed["Condition"] == {"ArnEquals": {"aws:SourceArn": rule.attributes("Arn")}}


def written(shop: Adopted, name: str) -> dict[str, Any]:
    """The tests of a file that was written."""
    told = runpy.run_path(str(shop[0].folder / "tests" / name)).items()
    return {test: each for test, each in told if test.startswith("test_")}


def test_the_tests_that_were_written_pass(shop: Adopted, shop_cloud: TestCloud) -> None:
    files = ("test_bill_customer.py", "test_reserve_stock.py", "test_write_receipt.py", "test_charge_fee.py")
    tests = [(name, test) for each in files for name, test in written(shop, each).items()]
    of_one_request = [test for name, test in tests if "whatever_breaks" not in name]
    for test in of_one_request:
        shop_cloud.reset()
        test(once_cloud=shop_cloud)
    assert len(of_one_request) == 7 and len(tests) == 10


def test_the_matrix_that_was_written_finds_a_write_without_a_key(shop: Adopted, cloud: TestCloud) -> None:
    test = written(shop, "test_bill_customer.py")["test_takes_effect_once_whatever_breaks"]
    with pytest.raises(pytest.fail.Exception, match="twice: Ledger"):
        test(once_cloud=cloud, once_matrix=partial(RunMatrix(cloud), states=False))


def test_the_matrix_says_what_to_do_where_it_sees_no_effect(shop: Adopted, cloud: TestCloud) -> None:
    test = written(shop, "test_write_receipt.py")["test_takes_effect_once_whatever_breaks"]
    with pytest.raises(NothingToStrike, match=r"it watched no effect.*needs no matrix: delete this test"):
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
