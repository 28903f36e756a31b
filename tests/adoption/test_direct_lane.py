"""A function that keeps its trigger, its event and its answer: `once new --direct` gives it what it needs."""

from __future__ import annotations

import difflib
import json

import pytest
from adoption.conftest import ROOT, Application

BATCH = {"Records": [{"messageId": f"m-{n}", "body": json.dumps({"sku": "tea", "orderNo": f"A-{n}"})} for n in (1, 2)]}
BEFORE = """
import json, os, uuid
import boto3

def handler(event, context):
    for message in event["Records"]:
        order = json.loads(message["body"])
        table = boto3.resource("dynamodb").Table(os.environ["LEDGER"])
        table.put_item(Item={"id": uuid.uuid4().hex, "orderNo": order["orderNo"]})
"""
AFTER = """
import json, os
from once import JSON, Request, operation

@operation()
def reserve_stock(request: Request) -> JSON:
    item = {"id": request.provider_key("stock"), "orderNo": request.payload["orderNo"]}
    request.put_once(os.environ["LEDGER"], item)
    return {"reserved": "x" * request.payload.get("size", 1)}

@reserve_stock.entry
def handler(event, context):
    for message in event.get("Records", []):
        order = json.loads(message["body"])
        reserve_stock.once(order, key=order["orderNo"])
    return "batch"
"""
ANSWERS = """
    from once import Refused
    try:
        return reserve_stock.once({}, key=None).http()
    except Refused as refused:
        return refused.http()
"""
NEW = ("new", "reserve-stock", "--function", "Warehouse", "--direct")
OPERATIONS = "once/operations.yaml"
DIRECT = "tests/test_reserve_stock_direct.py"


@pytest.fixture
def shop_with_batches(foreign: Application) -> Application:
    """Its Warehouse is called by its queue, with batches."""
    template, handler = foreign.folder / "template.yaml", "            Handler: reserve.handler\n"
    event = "Message: {Type: SQS, Properties: {Queue: !GetAtt WarehouseQueue.Arn, BatchSize: 10}}"
    template.write_text(template.read_text().replace(handler, f"{handler}            Events:\n              {event}\n"))
    (foreign.folder / "warehouse/reserve.py").write_text(BEFORE)
    (foreign.folder / "samples/batch.json").write_text(json.dumps(BATCH))
    assert foreign.once("init").code == 0
    return foreign


@pytest.fixture
def direct(shop_with_batches: Application) -> Application:
    done = shop_with_batches.once(*NEW, "--example", "samples/batch.json")
    assert (done.code, DIRECT in done.out.split()) == (0, True), done.err
    (shop_with_batches.folder / "warehouse/reserve.py").write_text(AFTER)
    return shop_with_batches


def failing(application: Application) -> list[str]:
    """What is said of each of the written tests that is red."""
    done = application.pytest(DIRECT)
    return [line.removeprefix("E       ") for line in done.stdout.splitlines() if line.startswith("E       Assert")]


def test_the_template_gets_few_lines_and_the_trigger_stays(shop_with_batches: Application) -> None:
    before = shop_with_batches.text("template.yaml").splitlines()
    assert shop_with_batches.once(*NEW).code == 0
    changes = list(difflib.ndiff(before, shop_with_batches.text("template.yaml").splitlines()))
    of_function = [line[1:].strip() for line in changes if line[0] == "+" and "ONCE_PARAMETER" in line]
    assert of_function == [
        'Environment: {Variables: {LEDGER: !Ref Ledger, ONCE_PARAMETER: !Sub "/once/${AWS::StackName}/direct"}}'
    ]
    assert len([line for line in changes if line[0] == "-"]) == 1
    again = shop_with_batches.once("new", "restock", *NEW[2:])
    assert again.code == 0 and shop_with_batches.text("template.yaml").count("OnceLibrary") == 2


def test_it_says_which_lines_to_change_in_which_file(shop_with_batches: Application) -> None:
    told = shop_with_batches.once(*NEW).err
    assert "Four lines of warehouse/reserve.py" in told and 'event["Records"]' not in told
    lines = [line.strip() for line in told.splitlines()]
    for line in ("@operation()", "@reserve_stock.entry", "def handler(event, context):"):
        assert line in lines
    assert "Deploy once before you change them" in told


OF_A_ROLE = """
import json
import boto3
from test_reserve_stock_direct import EVENT, records, send

def test_it_may_do_what_it_needs_and_no_more(once_cloud):
    permissions = {
        (each.action, each.resource)
        for role in once_cloud.permissions.roles.values()
        for each in role.permissions
        if "ReserveStockDirectLanePolicy" in each.policy
    }
    bucket = once_cloud.resources["ResponseBucket"]
    assert permissions == {
        ("s3:PutObject", f"arn:aws:s3:::{bucket}/requests/*/reserve-stock/*"),
        ("ssm:GetParameter", "arn:aws:ssm:us-east-1:123456789012:parameter/once/once/direct"),
    }

def test_large_requests_and_answers_need_no_more(once_cloud):
    body = {"orderNo": "A-3", "size": 9000, "note": "x" * 9000}
    EVENT["Records"] = [{"body": json.dumps(body)}]
    for _ in range(2):
        assert "FunctionError" not in send(once_cloud)
    assert "resultRef" in records(once_cloud)[0] and not once_cloud.denials()
"""


FIFO = "            FifoQueue: true\n"


@pytest.mark.parametrize(
    ("more", "receives", "is_told"),
    [("", 5, False), (FIFO, 5, True), (FIFO, 10, True), (FIFO, 11, False), (FIFO, "!Ref Receives", False)],
)
def test_a_fifo_queue_that_gives_up_before_the_full_lane_has_finished_is_said(
    shop_with_batches: Application, more: str, receives: int | str, is_told: bool
) -> None:
    """Its function may take 20 seconds, and it shows a message again after 120."""
    template, visibility = shop_with_batches.folder / "template.yaml", "            VisibilityTimeout: 120 "
    text = template.read_text().replace(visibility, f"{more}{visibility}")
    template.write_text(text.replace("maxReceiveCount: 5", f"maxReceiveCount: {receives}"))
    told = shop_with_batches.once(*NEW).err
    said = "20 + 60 seconds until its lease is over, 120 for a sweep and 900 for attempts of the full lane"
    assert (said in told) is is_told, told
    assert ("set maxReceiveCount of WarehouseQueue to 11 or more" in told) is is_told


def test_with_its_four_lines_changed_it_passes_under_its_own_role(direct: Application) -> None:
    (direct.folder / "tests/test_role.py").write_text(OF_A_ROLE)
    done = direct.pytest("tests")
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout + done.stderr


def test_a_handler_that_does_not_ask_is_red(direct: Application) -> None:
    (direct.folder / "warehouse/reserve.py").write_text(BEFORE)
    assert "the handler did not ask by reserve_stock.once(payload, key=...)" in failing(direct)[0]


def test_a_handler_that_answers_what_was_refused_is_red_with_its_answer(direct: Application) -> None:
    begin, handler, _ = AFTER.partition("def handler(event, context):\n")
    (direct.folder / "warehouse/reserve.py").write_text(f"{begin}{handler}{ANSWERS}")
    told = failing(direct)[0]
    assert "statusCode" in told and "idempotencyKey must be a string of 1 to 256 characters" in told


def test_a_handler_that_recovery_comes_to_is_red(direct: Application) -> None:
    """Its answer would be the operation's."""
    setting = "        DirectLaneName: !Ref DirectLaneName\n"
    given = f"{setting}        PayloadOnlyOperations: reserve-stock\n"
    (direct.folder / OPERATIONS).write_text(direct.text(OPERATIONS).replace(setting, given))
    [told] = failing(direct)
    assert "recovery came to the handler: put @reserve_stock.entry above it" in told
    refused = direct.once(*NEW, "--replace")
    assert refused.code == 2 and "is in PayloadOnlyOperations of Machine" in refused.err


def test_without_an_event_its_tests_wait_for_one(shop_with_batches: Application) -> None:
    told = shop_with_batches.once(*NEW)
    assert "Write an event as Lambda gives it to Warehouse into events/reserve-stock-own-event.json" in told.err
    assert "2 skipped" in shop_with_batches.pytest(DIRECT).stdout


def test_an_operation_of_the_machines_gets_the_direct_lane_too(shop_with_batches: Application) -> None:
    shop_with_batches.once(*NEW[:-1])
    assert (
        "`once new reserve-stock --function Warehouse --gets request` takes it out" in shop_with_batches.once(*NEW).err
    )
    assert shop_with_batches.once(*NEW[:-1], "--gets", "request").code == 0
    done = shop_with_batches.once(*NEW)
    assert done.code == 0 and DIRECT in done.out.split(), done.err
    assert shop_with_batches.text(OPERATIONS).count('"reserve-stock=${WarehouseArn}"') == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--direct",), "give --function, too"),
        (("--function", "Warehouse", "--direct", "--gets", "payload"), "leave --gets payload out"),
        (
            ("--function", "Warehouse", "--direct", "--from-queue", "WarehouseQueue", "--key", "$.body.a"),
            "leave --from-queue out",
        ),
        (("--function", "Node", "--direct"), "Node is not in Python, and the library, which takes the lock, is Python"),
    ],
)
def test_what_cannot_take_the_lock_itself_is_said(
    shop_with_batches: Application, options: tuple[str, ...], told: str
) -> None:
    in_another_language(shop_with_batches)
    before = shop_with_batches.text("template.yaml"), shop_with_batches.text(OPERATIONS)
    done = shop_with_batches.once("new", "pay", *options)
    assert done.code == 2 and told in done.err, done.err
    assert before == (shop_with_batches.text("template.yaml"), shop_with_batches.text(OPERATIONS))


@pytest.mark.parametrize(("runtime", "code"), [("python3.8", 2), ("python3.10", 2), ("python3.11", 0)])
def test_a_runtime_that_cannot_have_the_library_is_said(
    shop_with_batches: Application, runtime: str, code: int
) -> None:
    template = shop_with_batches.folder / "template.yaml"
    template.write_text(template.read_text().replace("Runtime: python3.13", f"Runtime: {runtime}"))
    said = f"Warehouse has the Runtime {runtime}, and the library needs python3.11 or later"
    done = shop_with_batches.once(*NEW)
    assert (done.code, said in done.err) == (code, code == 2), done.err
    (shop_with_batches.folder / "warehouse/reserve.py").write_text(AFTER)
    assert (said in shop_with_batches.once("new", "pay", "--function", "Warehouse").err) is (code == 2)
    for page in ("direct-lane.md", "library.md"):
        assert "`python3.11`" in (ROOT / "docs" / page).read_text()


def in_another_language(application: Application) -> None:
    event = "Events: { Post: { Type: Api, Properties: { Path: /p, Method: post } } }"
    properties = f"{{ Runtime: nodejs22.x, Handler: index.handler, CodeUri: warehouse/, {event} }}"
    node = f"    Node: {{ Type: AWS::Serverless::Function, Properties: {properties} }}\n"
    template = application.folder / "template.yaml"
    template.write_text(template.read_text().replace("    # --- functions ---\n", f"    # --- functions ---\n{node}"))


def test_an_api_in_another_language_is_led_to_onces_own(shop_with_batches: Application) -> None:
    in_another_language(shop_with_batches)
    told = shop_with_batches.once("new", "pay", "--function", "Node").err
    assert "Node is behind an API of its own" in told and "Let its callers send requests to Once's own API" in told
