"""`once init` and `once new`: what they write, what they refuse, and what they leave alone."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from adoption.conftest import APPLICATION, Application
from once.validation import PayloadSchema

from oncekit.adoption.advice import ENDS
from oncekit.adoption.names import Operation
from oncekit.adoption.operation import Wanted, schema_of
from oncekit.adoption.trigger import FromRule
from oncekit.cli.template import find_template
from oncekit.local.deployment.deploy import planned
from oncekit.local.templates.template import parse
from oncekit.problem import Problem

ONCE_IN_FULL = ("once/template.yaml", "once/statemachine/operation.asl.yaml", "once/shared/once/step.py")


def state_of(application: Application) -> dict[str, bytes]:
    files = (each for each in application.folder.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
    return {str(each.relative_to(application.folder)): each.read_bytes() for each in files}


# ---- init ----


def test_init_again_changes_nothing(foreign: Application) -> None:
    assert foreign.once("init").code == 0
    before = state_of(foreign)
    done = foreign.once("init")
    assert (done.code, done.out, state_of(foreign)) == (0, "", before) and "nothing to do" in done.err
    assert set(ONCE_IN_FULL) <= before.keys()
    built = parse(before["once/template.yaml"].decode(), Path("once/template.yaml"))["Resources"]
    functions = [name for name, each in built.items() if each["Type"] == "AWS::Serverless::Function"]
    assert functions == ["CacheResponseFunction"], "`sam build` builds no example"


ENTRIES = [".aws-sam/", "build/local/", ".pytest_cache/", "__pycache__/"]


def test_what_is_made_beside_an_application_is_not_committed(foreign: Application, empty: Application) -> None:
    assert ".gitignore" in foreign.once("init").out.split() and ".gitignore" in empty.once("init").out.split()
    assert foreign.text(".gitignore").split() == empty.text(".gitignore").split() == ENTRIES


@pytest.mark.parametrize(
    ("there", "then"),
    [
        (b"*.log", b"*.log\n.aws-sam/\nbuild/local/\n.pytest_cache/\n__pycache__/\n"),
        (b"/.aws-sam\r\n", b"/.aws-sam\r\nbuild/local/\r\n.pytest_cache/\r\n__pycache__/\r\n"),
        ("\n".join(ENTRIES).encode(), "\n".join(ENTRIES).encode()),
    ],
)
def test_entries_are_added_to_a_gitignore_that_lacks_them_and_nothing_else_changes(
    foreign: Application, there: bytes, then: bytes
) -> None:
    (foreign.folder / ".gitignore").write_bytes(there)
    done = foreign.once("init")
    assert (foreign.folder / ".gitignore").read_bytes() == then
    assert (".gitignore" in done.out.split()) == (there != then)


def test_init_and_new_name_the_regions_without_pipes_and_what_to_do_there(foreign: Application) -> None:
    there = "EventBridge Pipes is missing in ap-east-2, "
    of_queue = ("--function", "Warehouse", "--from-queue", "WarehouseQueue", "--key", "$.body.a")
    told, of_new = foreign.once("init").err, foreign.once("new", "reserve", *of_queue).err
    assert there in told and "EventBridge Pipes, which is missing in ap-east-2, " in of_new
    for said in (told, of_new):
        assert "and us-gov-west-1" in said
        assert 'set QueueTrigger: "false" at Machine in once/operations.yaml' in said
    assert there not in foreign.once("init").err
    assert "EventBridge Pipes" not in foreign.once("new", "bill", "--function", "BillCustomer").err


def test_init_says_what_the_stage_is_and_where_it_is_set(foreign: Application, empty: Application) -> None:
    assert "Its Stage is dev; prod keeps records and answers when the stack is deleted" in foreign.once("init").err
    assert foreign.text("template.yaml").count("Stage: dev # prod keeps") == 1
    assert "Its Stage is dev" in empty.once("init").err and "Its Stage" not in empty.once("init").err
    assert "Stage: !Ref Stage" in empty.text("template.yaml")
    stages = tomllib.loads(empty.text("samconfig.toml"))
    given = {name: each["deploy"]["parameters"] for name, each in stages.items() if name != "version"}
    assert {name: each["parameter_overrides"] for name, each in given.items()} == {
        "default": "Stage=dev",
        "prod": "Stage=prod",
    }
    assert {name: each["stack_name"] for name, each in given.items()} == {"default": "empty-dev", "prod": "empty-prod"}
    assert {each["capabilities"] for each in given.values()} == {"CAPABILITY_IAM CAPABILITY_AUTO_EXPAND"}


@pytest.mark.parametrize(
    ("folder", "name"), [("my shop_2", "my-shop-2"), ("7 days", "once-7-days"), ("é", "once"), ("a" * 120, "a" * 100)]
)
def test_a_new_application_is_called_as_its_folder_as_far_as_a_stack_can_be(
    folder: str, name: str, empty: Application
) -> None:
    (empty.folder / folder).mkdir()
    Application(empty.folder / folder).once("init")
    stages = tomllib.loads((empty.folder / folder / "samconfig.toml").read_text())
    assert stages["prod"]["deploy"]["parameters"]["stack_name"] == f"{name}-prod"


def test_init_in_an_empty_folder_makes_an_application_whose_tests_pass(empty: Application) -> None:
    assert empty.once("init").code == 0
    assert {"template.yaml", "samconfig.toml", "functions/place_order/schema.json"} <= state_of(empty).keys()
    assert empty.once("new", "send-invoice").code == 0
    told = yaml.safe_load(empty.once("env", "--openapi").out)
    schema = json.loads(empty.text("functions/send_invoice/schema.json"))
    assert payload_of(told, "send-invoice") == {name: each for name, each in schema.items() if name != "$schema"}
    assert started_by(told) == {"place-order", "send-invoice", "{operation}"}
    outside = Application(empty.folder.parent)
    assert (
        yaml.safe_load(outside.once("env", "--openapi", "--template", f"{empty.folder.name}/template.yaml").out) == told
    )
    done = empty.pytest("tests", "-k", "not whatever_breaks")  # the matrix is run by the proof
    assert done.returncode == 0 and "2 passed, 1 deselected" in done.stdout, done.stdout + done.stderr


def started_by(document: dict[str, Any]) -> set[str]:
    """The operations that the paths of an OpenAPI document start."""
    posts = [path for path, methods in document["paths"].items() if "post" in methods]
    return {path.rpartition("/")[2] for path in posts}


def payload_of(document: dict[str, Any], operation: str) -> dict[str, Any]:
    body = document["paths"][f"/{{tenant}}/{operation}"]["post"]["requestBody"]
    schema: dict[str, Any] = body["content"]["application/json"]["schema"]
    return schema


def test_the_document_of_an_adopted_application_has_its_own_operations(ready: Application) -> None:
    ready.once("new", "reserve", "--function", "Warehouse")
    ready.once("new", "restock", "--function", "Warehouse")
    told = yaml.safe_load(ready.once("env", "--openapi").out)
    assert started_by(told) == {"reserve", "restock", "{operation}"}
    assert payload_of(told, "restock") == {"type": "object"}
    bare = "\nResources:\n    Bare: { Type: AWS::ApiGateway::RestApi }\n"
    (ready.folder / "template.yaml").write_text(ready.text("template.yaml").replace("\nResources:\n", bare))
    assert yaml.safe_load(ready.once("env", "--openapi").out) == told
    (ready.folder / "warehouse" / "schema.json").write_text("{")
    assert "schema.json is not JSON" in ready.once("env", "--openapi").err


def test_an_application_without_the_api_has_no_document(ready: Application) -> None:
    operations = ready.folder / "once" / "operations.yaml"
    settings = 'Examples: "no"\n        HttpTrigger: "false"'
    operations.write_text(operations.read_text().replace('Examples: "no"', settings))
    done = ready.once("env", "--openapi")
    assert done.code == 2 and "no HTTP API of Once; its parameter HttpTrigger is false" in done.err


def test_what_is_written_is_formatted_python(empty: Application) -> None:
    empty.once("init")
    empty.once("new", "a-1")
    (empty.folder / "e.json").write_text(json.dumps({"source": "s", "detail-type": "T", "detail": {"id": "1"}}))
    empty.once("new", "b", "--from-rule", "default/T", "--key", "$.detail.id", "--example", "e.json")
    empty.once("new", "d", "--function", "A1Function")
    written = [each for name in ("functions", "tests") for each in (empty.folder / name).rglob("*.py")]
    ruff = [sys.executable, "-m", "ruff"]
    for arguments in (
        ["check", "--isolated", "--select=E,F,W,N,UP,B", "--line-length=120"],
        ["format", "--check", "--line-length=120"],
    ):
        done = subprocess.run([*ruff, *arguments, *written], capture_output=True, text=True, cwd=empty.folder)
        assert done.returncode == 0 and len(written) == 7, done.stdout
    assert all(ast.get_docstring(ast.parse(each.read_text())) for each in written)


def test_a_folder_with_other_files_and_no_template_is_left_alone(empty: Application) -> None:
    (empty.folder / "notes.txt").touch()
    done = empty.once("init")
    assert done.code == 2 and "has no template, but notes.txt" in done.err
    assert state_of(empty).keys() == {"notes.txt"}


@pytest.mark.parametrize(
    ("file", "tool"),
    [
        ("cdk.json", "CDK"),
        ("main.tf", "Terraform"),
        ("serverless.yml", "the Serverless Framework"),
        ("serverless.ts", "the Serverless Framework"),
        ("Pulumi.yaml", "Pulumi"),
        ("sst.config.ts", "SST"),
    ],
)
def test_init_names_the_page_for_an_application_of_another_tool(empty: Application, file: str, tool: str) -> None:
    (empty.folder / file).touch()
    done = empty.once("init")
    assert done.code == 2 and f"is deployed by {tool} ({file})" in done.err and "docs/other-tools.md" in done.err
    assert list(state_of(empty)) == [file]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Transform: AWS::Serverless-2016-10-31", "", "is not a template of SAM"),
        (
            "AWS::Serverless-2016-10-31",
            "[AWS::LanguageExtensions, AWS::Serverless-2016-10-31]",
            "does not find the roles",
        ),
        ("    Ledger:\n", "    Once:\n", "has a resource Once of its own"),
        ("Resources:", "Resources: [", "is not YAML"),
    ],
)
def test_a_template_that_cannot_take_once_is_left_alone(foreign: Application, old: str, new: str, told: str) -> None:
    template = foreign.folder / "template.yaml"
    template.write_text(template.read_text().replace(old, new, 1))
    before = state_of(foreign)
    done = foreign.once("init")
    assert done.code == 2 and told in done.err and state_of(foreign) == before


def test_a_folder_once_of_somebody_else_is_left_alone(foreign: Application) -> None:
    (foreign.folder / "once").mkdir()
    done = foreign.once("init")
    assert done.code == 2 and "has not made it" in done.err
    assert foreign.text("template.yaml") == (APPLICATION / "template.yaml").read_text()


# ---- upgrade ----


def older(application: Application, name: str, *, changed_since: bool = False) -> None:
    """A file as an older version had it; changed since it was copied, or not."""
    path, record = application.folder / "once" / name, application.folder / "once" / ".installed.json"
    path.write_text(path.read_text() + "# of an older version\n")
    if not changed_since:
        noted = json.loads(record.read_text())
        noted["files"][name] = hashlib.sha256(path.read_bytes()).hexdigest()
        record.write_text(json.dumps(noted))


def test_an_upgrade_brings_what_is_new_and_names_it(foreign: Application) -> None:
    foreign.once("init")
    whole = state_of(foreign)
    older(foreign, "template.yaml")
    (foreign.folder / "once/statemachine/recovery.asl.yaml").unlink()
    assert "once init --upgrade" in foreign.once("init").err
    done = foreign.once("init", "--upgrade")
    assert done.code == 0 and state_of(foreign) == whole
    assert done.out.split() == ["once/statemachine/recovery.asl.yaml", "once/template.yaml"]
    assert foreign.once("init", "--upgrade").out == ""


def test_init_says_which_version_it_copied_and_an_upgrade_from_which_to_which(foreign: Application) -> None:
    here = version("oncekit")
    assert f"Once {here} is in once/." in foreign.once("init").err
    assert f"Once {here} is there" in foreign.once("init").err
    assert f"Nothing to upgrade: once/ is Once {here}." in foreign.once("init", "--upgrade").err
    record = foreign.folder / "once" / ".installed.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"version": "0.0.9"}))
    assert f"Nothing to upgrade: Once {here} is the same as 0.0.9." in foreign.once("init", "--upgrade").err
    record.write_text(json.dumps(json.loads(record.read_text()) | {"version": "0.0.9"}))
    older(foreign, "template.yaml")
    done = foreign.once("init", "--upgrade")
    assert f"From Once 0.0.9 to {here}: 1 file is new, changed or gone." in done.err
    assert json.loads(record.read_text())["version"] == here


def test_an_upgrade_overwrites_nothing_that_was_changed_here(foreign: Application) -> None:
    foreign.once("init")
    whole = foreign.text("once/template.yaml")
    older(foreign, "statemachine/recovery.asl.yaml")
    older(foreign, "template.yaml", changed_since=True)
    (foreign.folder / "once" / "operations.yaml").write_text("# mine\n" + foreign.text("once/operations.yaml"))
    before = state_of(foreign)
    done = foreign.once("init", "--upgrade")
    assert done.code == 3 and "was changed here, and is left as it is: template.yaml. To upgrade, delete" in done.err
    assert state_of(foreign) == before
    (foreign.folder / "once/template.yaml").unlink()
    assert foreign.once("init", "--upgrade").code == 0 and foreign.text("once/template.yaml") == whole
    assert foreign.text("once/operations.yaml").startswith("# mine\n")


def test_an_upgrade_takes_away_what_the_new_version_has_no_more(foreign: Application) -> None:
    foreign.once("init")
    (foreign.folder / "once/functions/gone.py").touch()
    older(foreign, "functions/gone.py")
    assert foreign.once("init", "--upgrade").code == 0
    assert not (foreign.folder / "once/functions/gone.py").exists()


def test_an_upgrade_names_what_the_users_file_asks_for_and_the_new_version_lacks(foreign: Application) -> None:
    foreign.once("init")
    mine = foreign.text("once/operations.yaml").replace("Examples:", 'Former: "1"\n        Examples:')
    (foreign.folder / "once" / "operations.yaml").write_text(mine.replace("Outputs.StateMachineArn", "Outputs.GoneArn"))
    told = foreign.once("init", "--upgrade").err
    assert "names the parameter Former of Machine, which this Once does not have" in told
    assert "names Machine.Outputs.GoneArn, which" in told and told.count("is yours") == 2


@pytest.mark.parametrize("record", ["{", "[]", '{"version": "1"}'])
def test_a_record_that_cannot_be_read_is_a_problem(foreign: Application, record: str) -> None:
    foreign.once("init")
    (foreign.folder / "once/.installed.json").write_text(record)
    done = foreign.once("init", "--upgrade")
    assert done.code == 2 and "cannot be read" in done.err


def test_there_is_nothing_to_upgrade_before_init(foreign: Application) -> None:
    assert "run `once init` first" in foreign.once("init", "--upgrade").err


# ---- new ----


@pytest.fixture
def ready(foreign: Application) -> Application:
    foreign.once("init")
    return foreign


RULE = "ShopBus/InvoiceIssued"
WRONG = [
    (("Charge",), "is not a name for an operation"),
    (("pay", "--function", "Bill"), "no function of this name; it has BillCustomer, Warehouse, WriteReceipt"),
    (("pay", "--from-queue", "Queue", "--key", "$.body.id"), "it has WarehouseDlq, WarehouseQueue"),
    (("pay", "--from-rule", "ShopBus", "--key", "$.id"), "write BUS/PATTERN"),
    (
        ("pay", "--from-rule", "ShopBus/P", "--key", "$.detail.invoice.number", "--example", "samples/invoice.json"),
        'the rule does not take this event; its pattern is {"detail-type": ["P"]}',
    ),
    (("pay", "--from-rule", 'ShopBus/{"a": 1}', "--key", "$.id"), "is not an event pattern"),
    (("pay", "--from-rule", "ShopBus/Paid"), "--key is needed"),
    (("pay", "--from-rule", "ShopBus/Paid", "--key", "id"), "a path begins with $"),
    (("pay", "--from-rule", "ShopBus/Paid", "--key", "$.a[*]"), "is not a path that is supported here"),
    (("pay", "--from-queue", "WarehouseQueue", "--key", "$"), "name the body of the message"),
    (("pay", "--from-queue", "WarehouseQueue", "--key", "$.attributes.SenderId"), "name the body of the message"),
    (("pay", "--from-rule", "ShopBus/Paid", "--key", "$.detail.ids[0]"), "name members only"),
    (("pay", "--from-rule", "ShopBus/Paid", "--key", "$.detail.<id>"), "name members only"),
    (("pay", "--key", "$.id"), "give --from-rule or --from-queue, too"),
    (("pay", "--from-queue", "WarehouseQueue", "--from-rule", "ShopBus/P", "--key", "$.id"), "not both"),
    (("pay", "--function", "Warehouse", "--step"), "--step is for a new function"),
    (("pay", "--gets", "all"), "is not one of 'request', 'payload'"),
    (("pay", "--on-crash", "stop"), "is not one of 'retry', 'quarantine'"),
    (("pay", "--on-crash", "quarantine"), "--on-crash is for events"),
    (("pay", "--example", "template.yaml"), "template.yaml: not JSON"),
    (("pay", "--from-rule", "ShopBus/P", "--key", "$.detail.no", "--example", "samples/invoice.json"), "nothing there"),
    (("pay", "--from-rule", RULE, "--key", "$.detail", "--example", "samples/invoice.json"), "must be a text"),
    (("pay", "--example", "samples/rounded.json"), "--example: the payload has a whole number beyond 9007199254740991"),
    (("pay", "--function", "BillCustomer", "--http", "/bills", "--key", "$.id"), "--http is gone: leave --http /bills"),
    (("billing",), "is there already"),
]


@pytest.mark.parametrize(
    ("arguments", "told"), WRONG, ids=lambda each: " ".join(each) if isinstance(each, tuple) else ""
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    ready: Application, arguments: tuple[str, ...], told: str
) -> None:
    (ready.folder / "events").mkdir()
    (ready.folder / "events" / "billing.json").touch()
    (ready.folder / "samples" / "rounded.json").write_text('{"number": 12345678901234567890}')
    before = state_of(ready)
    done = ready.once("new", *arguments)
    assert done.code == 2 and told in done.err and "Traceback" not in done.err, done.err
    assert state_of(ready) == before


NAMES = {"a": True, "a" * 40: True, "a" * 41: False, "a-b-2": True, "pay2": True}
NAMES |= dict.fromkeys(["", "a--b", "a-", "-a", "2a", "a_b", "aB", "é", "a\n"], False)


@pytest.mark.parametrize(("name", "good"), NAMES.items())
def test_a_name_of_an_operation_is_one_that_requests_and_resources_can_have(name: str, good: bool) -> None:
    with contextlib.nullcontext() if good else pytest.raises(Problem, match="is not a name for an operation"):
        Operation(name)


KEYS = [
    ("k", "k"),
    ("k" * 256, "k" * 256),
    ("k" * 257, None),
    ("", None),
    (7, "7"),
    (True, None),
    (1.5, None),
    (None, None),
]


@pytest.mark.parametrize(("given", "key"), KEYS, ids=lambda each: str(each)[:9])
def test_a_key_of_an_example_is_one_that_a_request_can_have(given: Any, key: str | None) -> None:
    trigger = FromRule("ShopBus/Paid", "$.detail.no", "$.detail", "quarantine")
    example = {"source": "shop", "detail-type": "Paid", "detail": {"no": given}}
    wanted = Wanted(Operation("pay"), "Pay", trigger=trigger, example=example)
    if key is None:
        with pytest.raises(Problem, match="the key must be a text of 1 to 256 characters, or a whole number"):
            wanted.request()
    else:
        expected = {"operation": "pay", "idempotencyKey": key, "payload": {"no": given}, "onCrash": "quarantine"}
        assert wanted.request() == expected


def test_a_schema_is_made_of_what_an_example_has() -> None:
    payload = {"s": "a", "i": 1, "n": 1.5, "b": True, "l": [1], "o": {"x": "y"}, "e": {}, "z": None}
    kinds = {"s": "string", "i": "integer", "n": "number", "b": "boolean", "l": "array"}
    of_object = {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}}
    schema = schema_of("pay", payload)
    assert schema["properties"] == {
        **{name: {"type": kind} for name, kind in kinds.items()},
        "o": of_object,
        "e": {"type": "object", "properties": {}},
        "z": {},
    }
    assert schema["required"] == sorted(payload) and "additionalProperties" not in schema
    PayloadSchema(schema).check({**payload, "more": 1})


def test_an_operation_that_is_there_is_not_written_again(ready: Application) -> None:
    assert ready.once("new", "pay").code == 0
    before = state_of(ready)
    done = ready.once("new", "pay", "--function", "Warehouse")
    assert done.code == 2 and "has the operation pay already" in done.err and state_of(ready) == before


def test_without_an_example_the_test_of_a_known_function_waits_for_a_payload(ready: Application) -> None:
    done = ready.once("new", "bill", "--function", "BillCustomer", "--gets", "payload")
    assert "Write a payload that BillCustomer takes into events/bill.json" in done.err
    assert "has no payload" in ready.text("tests/test_bill.py")
    assert "Write a payload" not in ready.once("new", "pay").err


def test_a_new_function_publishes_each_change_ends_in_time_and_its_table_outlives_the_stack(ready: Application) -> None:
    assert ready.once("new", "pay", "--step").code == 0
    made = parse(ready.text("template.yaml"), ready.folder)["Resources"]
    of_once = parse(ready.text("once/template.yaml"), ready.folder)["Parameters"]
    function, table = made["PayFunction"]["Properties"], made["PayTable"]
    assert function["AutoPublishAliasAllProperties"] and made["OnceLibrary"]["Properties"]["PublishLambdaVersion"]
    assert function["Timeout"] <= of_once["BusinessTimeoutSeconds"]["Default"]
    assert table["DeletionPolicy"] == table["UpdateReplacePolicy"] == "Retain"


def test_before_init_there_is_no_new(foreign: Application, empty: Application) -> None:
    assert "run `once init` first" in foreign.once("new", "pay").err
    assert "there is no template.yaml" in empty.once("new", "pay").err


@pytest.mark.parametrize(
    ("rule", "pattern"),
    [
        ('ShopBus/{"source": [{"prefix": "a."}]}', {"source": [{"prefix": "a."}]}),
        ("ShopBus/Paid", {"detail-type": ["Paid"]}),
    ],
)
def test_a_rule_takes_the_events_of_its_pattern(ready: Application, rule: str, pattern: dict[str, object]) -> None:
    done = ready.once("new", "pay", "--from-rule", rule, "--key", "$.detail.id")
    assert done.code == 0, done.err
    operations = parse(ready.text("once/operations.yaml"), ready.folder)
    assert operations["Resources"]["PayRule"]["Properties"]["EventPattern"] == pattern


def test_a_function_that_imports_once_gets_the_request_and_another_one_the_payload(ready: Application) -> None:
    code = ready.folder / "warehouse"
    (code / "nobodys.py").write_text("from once import Request\n")
    ready.once("new", "receive", "--function", "Warehouse")
    assert "- - receive\n" in ready.text("once/operations.yaml")
    (code / "more.py").write_text("from once import Request\n")
    (code / "reserve.py").write_text(f"import more\n{(code / 'reserve.py').read_text()}")
    ready.once("new", "reserve", "--function", "Warehouse")
    ready.once("new", "receipt", "--function", "WriteReceipt")
    ready.once("new", "bill", "--function", "BillCustomer", "--gets", "request")
    template = ready.folder / "template.yaml"
    template.write_text(template.read_text().replace("Handler: reserve.handler", "Handler: wrapper.of.handler"))
    ready.once("new", "wrapped", "--function", "Warehouse")  # a layer has the module; any of the folder may be called
    machine = parse(ready.text("once/operations.yaml"), ready.folder)["Resources"]["Machine"]
    assert machine["Properties"]["Parameters"]["PayloadOnlyOperations"]["Fn::Join"][1] == ["receive", "receipt"]


OTHERS = ["import once_more", "from oncelib import operation", "from oncelib.once import operation", "import not_once"]
IMPORTS = {
    "the library": (["import once"], True),
    "a module of it": (["import once.conditions as conditions"], True),
    "a name of a module of it": (["from once.errors import PermanentError"], True),
    "others": (OTHERS, False),
    "others, of its own folder": (OTHERS, False),
}


@pytest.mark.parametrize("case", IMPORTS)
def test_a_module_whose_name_begins_as_the_librarys_is_another(ready: Application, case: str) -> None:
    code, (lines, is_the_library) = ready.folder / "warehouse", IMPORTS[case]
    (code / "reserve.py").write_text("\n".join([*lines, "def handler(event, context): return {}\n"]))
    if "folder" in case:
        (code / "oncelib").mkdir()
        for name in ("once_more.py", "not_once.py", "oncelib/__init__.py", "oncelib/once.py"):
            (code / name).write_text("operation = 1\n")
    done = ready.once("new", "reserve", "--function", "Warehouse")
    assert done.code == 0 and ("imports once, and has no layer" in done.err) is is_the_library, done.err
    assert ("PayloadOnlyOperations" in ready.text("once/operations.yaml")) is not is_the_library


@pytest.mark.parametrize("code", ["warehouse", "."], ids=["a folder", "the application, with its once/"])
def test_imports_are_followed_into_folders_without_an_init_file(ready: Application, code: str) -> None:
    template = ready.folder / "template.yaml"
    template.write_text(template.read_text().replace("CodeUri: warehouse/", f"CodeUri: {code}"))
    (ready.folder / code / "reserve.py").write_text("from parts import stock\nhandler = stock.handler\n")
    (ready.folder / code / "parts").mkdir()
    (ready.folder / code / "parts/stock.py").write_text("from once import operation\n")
    done = ready.once("new", "reserve", "--function", "Warehouse")
    assert done.code == 0 and "PayloadOnlyOperations" not in ready.text("once/operations.yaml"), done.err


@pytest.mark.parametrize("place", ["!Sub ./warehouse", "FOLDER/warehouse", "../shop/warehouse"])
def test_code_is_read_where_the_template_says_that_it_is(ready: Application, place: str) -> None:
    written = f"CodeUri: {place.replace('FOLDER', str(ready.folder))}"
    (ready.folder / "template.yaml").write_text(ready.text("template.yaml").replace("CodeUri: warehouse/", written))
    (ready.folder / "warehouse/reserve.py").write_text("import once\ndef handler(event, context): event['Records']\n")
    done = ready.once("new", "reserve", "--function", "Warehouse")
    assert done.code == 0 and "PayloadOnlyOperations" not in ready.text("once/operations.yaml"), done.err
    assert "warehouse/reserve.py:2: Warehouse reads" in done.err


@pytest.mark.parametrize(("handler", "is_read"), [("work.handler", True), ("of_a_layer.handler", False)])
def test_of_code_outside_of_the_application_only_what_its_handler_names_is_read(
    ready: Application, handler: str, is_read: bool
) -> None:
    (ready.folder.parent / "elsewhere").mkdir()
    (ready.folder.parent / "elsewhere/work.py").write_text("def handler(event, context): event['Records']\n")
    text = ready.text("template.yaml").replace("CodeUri: warehouse/", f"CodeUri: {ready.folder.parent}/elsewhere")
    (ready.folder / "template.yaml").write_text(text.replace("Handler: reserve.handler", f"Handler: {handler}"))
    done = ready.once("new", "reserve", "--function", "Warehouse")
    assert done.code == 0 and ("elsewhere/work.py:1: Warehouse reads" in done.err) is is_read, done.err


def test_another_way_to_the_function_and_a_long_timeout_are_told(ready: Application) -> None:
    template = ready.folder / "template.yaml"
    queue = "            Events: {Messages: {Type: SQS, Properties: {Queue: !GetAtt WarehouseQueue.Arn}}}\n"
    text = template.read_text().replace("Handler: reserve.handler\n", f"Handler: reserve.handler\n{queue}")
    template.write_text(text.replace("Timeout: 20 ", "Timeout: 60 "))
    done = ready.once(
        "new", "reserve", "--function", "Warehouse", "--from-queue", "WarehouseQueue", "--key", "$.body.a"
    )
    assert done.code == 0 and "Warehouse still gets what comes from WarehouseQueue" in done.err
    assert "Warehouse may take 60 seconds, and Once waits for 30" in done.err


def test_a_function_that_is_not_made_everywhere_is_told(ready: Application) -> None:
    template = ready.folder / "template.yaml"
    text = template.read_text().replace("    BillCustomer:\n", "    BillCustomer:\n        Condition: IsProd\n")
    told = "BillCustomer is made only where its Condition IsProd is true"
    template.write_text(text)
    assert told in ready.once("new", "bill", "--function", "BillCustomer").err
    template.write_text(template.read_text().replace("    Once:\n", "    Once:\n        Condition: IsProd\n"))
    assert told not in ready.once("new", "bill-again", "--function", "BillCustomer").err


@pytest.mark.parametrize(("seconds", "is_told"), [(30, False), (31, True)])
def test_a_function_that_may_take_longer_than_once_waits_is_told(
    ready: Application, seconds: int, is_told: bool
) -> None:
    template = ready.folder / "template.yaml"
    template.write_text(template.read_text().replace("Timeout: 20 ", f"Timeout: {seconds} "))
    done = ready.once("new", "reserve", "--function", "Warehouse")
    assert ("Warehouse may take" in done.err) is is_told, done.err


READERS = """
    Mapping:
        Type: AWS::Lambda::EventSourceMapping
        Properties: {EventSourceArn: !GetAtt WarehouseQueue.Arn, FunctionName: !Ref Warehouse}
    MappingOfAnother:
        Type: AWS::Lambda::EventSourceMapping
        Properties: {EventSourceArn: !GetAtt WarehouseQueueTwo.Arn, FunctionName: !Ref Warehouse}
    Rule:
        Type: AWS::Events::Rule
        Properties: {EventBusName: !Ref ShopBus, EventPattern: {source: [a]}}
    RuleOfAnother:
        Type: AWS::Events::Rule
        Properties: {EventBusName: !Ref ShopBusTwo, EventPattern: {source: [a]}}
"""


def test_what_else_takes_from_a_source_is_told_and_not_what_takes_from_one_of_a_longer_name(ready: Application) -> None:
    text = ready.text("template.yaml").replace("    # --- functions ---\n", f"{READERS}    # --- functions ---\n")
    (ready.folder / "template.yaml").write_text(text)
    of_queue = ("--from-queue", "WarehouseQueue", "--key", "$.body.a")
    queue = ready.once("new", "reserve", "--function", "Warehouse", *of_queue).err
    bus = ready.once("new", "bill", "--function", "BillCustomer", "--from-rule", RULE, "--key", "$.detail.a").err
    assert "Mapping still gets what comes from WarehouseQueue by its own mapping: take that away" in queue
    assert "Rule still gets what comes from ShopBus by its own targets: take that away" in bus
    assert "OfAnother" not in queue + bus


def test_a_function_that_imports_once_without_its_layer_is_told(ready: Application) -> None:
    code, template = ready.folder / "warehouse" / "reserve.py", ready.folder / "template.yaml"
    code.write_text("from once import operation\n" + code.read_text())
    told = "Warehouse imports once, and has no layer with it, so it fails: give it Layers: [!Ref OnceLibrary]"
    assert told in ready.once("new", "reserve-1", "--function", "Warehouse").err
    text = template.read_text()
    layer = text.replace(
        "Handler: reserve.handler\n", "Handler: reserve.handler\n            Layers: [!Ref OnceLibrary]\n"
    )
    everywhere = text.replace("        Timeout: 20 ", "        Layers: [!Ref OnceLibrary]\n        Timeout: 20 ")
    for number, changed in enumerate((layer, everywhere)):
        template.write_text(changed)
        assert "layer" not in ready.once("new", f"reserve-a{number}", "--function", "Warehouse").err
    template.write_text(text)
    (ready.folder / "warehouse" / "requirements.txt").write_text("oncekit\n")
    assert "layer" not in ready.once("new", "reserve-c", "--function", "Warehouse").err


def with_library(ready: Application, function: str, build: str = "BuildMethod: python3.13") -> None:
    """The library's layer for every function, and what the warehouse's function and the layer say besides."""
    layer = f"    Library:\n        Type: AWS::Serverless::LayerVersion\n        Metadata: {{{build}}}\n"
    layer += "        Properties: {ContentUri: ./once/shared}\n"
    text = (APPLICATION / "template.yaml").read_text()
    text = text.replace("        Timeout: 20 ", "        Layers: [!Ref Library]\n        Timeout: 20 ")
    text = text.replace("    # --- functions ---\n", f"    # --- functions ---\n{layer}")
    handler = "Handler: reserve.handler\n"
    (ready.folder / "template.yaml").write_text(text.replace(handler, f"{handler}            {function}\n"))


UNLIKE = {
    "another version of Python": (
        ("Runtime: python3.11",),
        "Warehouse has the Runtime python3.11, and its layer Library is made for python3.13",
    ),
    "another processor": (
        ("Architectures: [arm64]",),
        "Warehouse has the Architectures arm64, and its layer Library is made for x86_64",
    ),
    "that of a parameter": (
        ("Architectures: [!Ref Processor]", "BuildMethod: python3.13, BuildArchitecture: arm64"),
        "Warehouse has the Architectures x86_64, and its layer Library is made for arm64",
    ),
    "the same": (("Architectures: [x86_64]",), ""),
    "one that only a deployment knows": (("Architectures: [!Ref AWS::NoValue]",), ""),
    "a layer that is made in another way": (("Runtime: python3.11", "BuildMethod: makefile"), ""),
}


@pytest.mark.parametrize(("given", "told"), UNLIKE.values(), ids=UNLIKE)
def test_a_function_that_cannot_load_the_library_is_told(
    foreign: Application, given: tuple[str, ...], told: str
) -> None:
    with_library(foreign, *given)
    template = foreign.folder / "template.yaml"
    parameters = "Parameters:\n    Processor: {Type: String, Default: x86_64}\n\nGlobals:\n"
    template.write_text(template.read_text().replace("Globals:\n", parameters))
    for command in (("init",), ("init",), ("new", "reserve", "--function", "Warehouse")):
        done = foreign.once(*command)
        assert done.code == 0 and told in done.err and ("is made for" in done.err) is bool(told), done.err
    assert "Warehouse has" not in foreign.once("new", "bill", "--function", "BillCustomer").err


def test_a_processor_that_the_application_names_stays_and_is_that_of_new_functions(foreign: Application) -> None:
    template, own = foreign.folder / "template.yaml", "Architecture: {Type: String, Default: x86_64}"
    template.write_text(template.read_text().replace("Globals:", f"Parameters:\n    {own}\n\nGlobals:"))
    for command in (("init",), ("new", "pay")):
        assert foreign.once(*command).code == 0
    value = parse(template.read_text(), template)
    assert value["Parameters"] == {"Architecture": {"Type": "String", "Default": "x86_64"}}
    made, once = value["Resources"]["PayFunction"]["Properties"], value["Resources"]["Once"]["Properties"]
    assert made["Architectures"] == [once["Parameters"]["Architecture"]] == [{"Ref": "Architecture"}]


SHAPES = {
    "records by get": (
        {"reserve": 'def handler(event, context):\n    return event.get("Records", [])\n'},
        'warehouse/reserve.py:2: Warehouse reads event["Records"], a list, and gets the payload of one request',
    ),
    "records in a module that it imports": (
        {"reserve": "from inner import work\ndef handler(event, context):\n    return work.all(event)\n"}
        | {
            "inner/__init__": "",
            "inner/work": "from . import more\ndef all(event):\n    return more.f(event)\n",
            "inner/more": 'def f(event): event["Records"]\n',
        },
        'warehouse/inner/more.py:1: Warehouse reads event["Records"]',
    ),
    "records by Powertools": (
        {
            "reserve": "import aws_lambda_powertools.utilities.batch as batch\n"
            "processor = batch.BatchProcessor(event_type=batch.EventType.SQS)\ndef reserve(record): 1\n"
            "def handler(sent, context):\n    return batch.process_partial_response(sent, reserve, processor)\n"
        },
        'warehouse/reserve.py:5: Warehouse reads event["Records"]',
    ),
    "records by a name of Powertools": (
        {"reserve": "def handler(sent, context):\n    for each in sent.records: each.body\n"},
        'warehouse/reserve.py:2: Warehouse reads event["Records"]',
    ),
    "a body, in an event of another name": (
        {"reserve": "import json\ndef handler(sent, context):\n    return json.loads(sent['body'])['id']\n"},
        'warehouse/reserve.py:3: Warehouse reads event["body"], and gets the payload, which is parsed already',
    ),
    "an event handler of Powertools": (
        {"reserve": "from routes import app\ndef handler(event, context):\n    return app.resolve(event, context)\n"}
        | {
            "routes": "from aws_lambda_powertools.event_handler import APIGatewayRestResolver\n"
            "app = APIGatewayRestResolver()\n@app.get('/')\ndef all(): return []\n"
        },
        "warehouse/routes.py:2: Warehouse has an event handler of Powertools, which takes what its API sends, and gets "
        "the payload: keep its API, with --direct",
    ),
    "an event by a decorator of Powertools": (
        {
            "reserve": "from aws_lambda_powertools.utilities.data_classes import S3Event, event_source\n"
            "@event_source(data_class=S3Event)\ndef handler(event, context):\n    return event.bucket_name\n"
        },
        "warehouse/reserve.py:2: Warehouse takes the event of its trigger, as a class of Powertools, and gets",
    ),
    "an event that a class of Powertools is made of": (
        {
            "reserve": "from aws_lambda_powertools.utilities import data_classes\n"
            "def handler(sent, context):\n    return data_classes.APIGatewayProxyEventV2(sent).json_body\n"
        },
        "warehouse/reserve.py:3: Warehouse takes the event of its trigger",
    ),
    "an event by its annotation, whose model extends one of Powertools": (
        {
            "reserve": "from aws_lambda_powertools.utilities.parser import event_parser\n"
            "from aws_lambda_powertools.utilities.parser.models import SqsModel\n"
            "class Orders(SqsModel):\n    pass\n"
            "@event_parser\ndef handler(event: Orders, context):\n    return event.Records\n"
        },
        "warehouse/reserve.py:6: Warehouse takes the event of its trigger",
    ),
    "an envelope of Powertools": (
        {
            "reserve": "from aws_lambda_powertools.utilities.parser import envelopes, event_parser\n"
            "class Order: pass\n@event_parser(model=Order, envelope=envelopes.SqsEnvelope)\n"
            "def handler(event, context): 1\n"
        },
        "warehouse/reserve.py:3: Warehouse takes the event of its trigger",
    ),
    "a detail by Powertools": (
        {
            "reserve": "from aws_lambda_powertools.utilities.data_classes import EventBridgeEvent, event_source\n"
            "@event_source(data_class=EventBridgeEvent)\ndef handler(event, context):\n    return event.detail\n"
        },
        'warehouse/reserve.py:2: Warehouse reads event["detail"]',
    ),
    "another lock": (
        {
            "reserve": "from aws_lambda_powertools.utilities.idempotency import idempotent_function\n"
            "@idempotent_function(data_keyword_argument='order', persistence_store=None)\ndef reserve(order): 1\n"
            "def handler(order, context): return reserve(order=order)\n"
        },
        "warehouse/reserve.py:2: Warehouse has Powertools' idempotency, too, which makes two locks: keep Once's",
    ),
    "not an error of Powertools' event handler": (
        {
            "reserve": "from aws_lambda_powertools.event_handler.exceptions import NotFoundError\n"
            "from aws_lambda_powertools.event_handler import Response, content_types\n"
            "def handler(order, context): raise NotFoundError\n"
        },
        "",
    ),
    "not what Powertools has for another handler in the same file": (
        {
            "reserve": "from aws_lambda_powertools.event_handler import APIGatewayRestResolver\n"
            "from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response\n"
            "from aws_lambda_powertools.utilities.idempotency import idempotent\n"
            "app, processor = APIGatewayRestResolver(), BatchProcessor(event_type=EventType.SQS)\n"
            "rest = APIGatewayRestResolver()\n"
            "def of_an_api(event, context): return rest.resolve(event, context)\n"
            "@idempotent(persistence_store=None)\ndef of_a_queue(event, context):\n"
            "    return process_partial_response(event, handler, processor, context)\n"
            "def handler(order, context): 1\n"
        },
        "",
    ),
    "not a class of Powertools for what is inside of the payload, nor a model of its own": (
        {
            "reserve": "from aws_lambda_powertools.utilities.data_classes import S3Event, SQSEvent\n"
            "from aws_lambda_powertools.utilities.parser import BaseModel, event_parser\n"
            "class Order(BaseModel): pass\n"
            "@event_parser(model=Order)\ndef handler(order: Order, context):\n    return S3Event(order.notice)\n"
        },
        "",
    ),
    "a detail": (
        {"reserve": "def handler(event, context):\n    return event['detail']['id']\n"},
        'warehouse/reserve.py:2: Warehouse reads event["detail"], and gets the payload: where a rule starts it '
        "(--from-rule), give --payload '$', the whole event; else read event itself",
    ),
    "an answer to API Gateway": (
        {"reserve": "import web\ndef handler(event, context):\n    return web.answer(400)\n"}
        | {"web": "def answer(status):\n    return {'statusCode': status, 'body': ''}\n"},
        "warehouse/web.py:2: Warehouse returns a statusCode, and what is returned counts as success, also a 400",
    ),
    "the path and the caller of a request by HTTP": (
        {
            "reserve": "def handler(event, context):\n"
            "    user = event['requestContext']['authorizer']['claims']['sub']\n    return user, event['body']\n"
        },
        'warehouse/reserve.py:2: Warehouse reads event["requestContext"], which Once does not give it',
    ),
    "a query, by get": (
        {"reserve": "def handler(event, context):\n    return (event.get('queryStringParameters') or {}).get('a')\n"},
        'warehouse/reserve.py:2: Warehouse reads event["queryStringParameters"], which Once does not give it',
    ),
    "records of an event that is a lambda's": (
        {"reserve": "handler = lambda sent, context: sent['Records']\n"},
        'warehouse/reserve.py:1: Warehouse reads event["Records"]',
    ),
    "records in a function that is the handler by another name": (
        {"reserve": "def inner(sent, context): return sent['Records']\nhandler = inner\n"},
        'warehouse/reserve.py:1: Warehouse reads event["Records"]',
    ),
    "records in a function that is wrapped": (
        {"reserve": "import web\ndef inner(sent, context): return sent['Records']\nhandler = web.wrap(inner)\n"},
        'warehouse/reserve.py:2: Warehouse reads event["Records"]',
    ),
    "records that are looked for": (
        {"reserve": "def handler(sent, context):\n    return 'Records' in sent\n"},
        'warehouse/reserve.py:2: Warehouse reads event["Records"]',
    ),
    "records that are taken out": (
        {"reserve": "def handler(sent, context):\n    return sent.pop('Records')\n"},
        'warehouse/reserve.py:2: Warehouse reads event["Records"]',
    ),
    "records in a function that gets the event under another name": (
        {"reserve": "import inner\ndef handler(sent, context):\n    return inner.Work().all(1, what=sent)\n"}
        | {"inner": "class Work:\n    def all(self, n, what): return last(what)\ndef last(it): return it['Records']\n"},
        'warehouse/inner.py:3: Warehouse reads event["Records"]',
    ),
    "records of which each is called an event, too": (
        {"reserve": "def handler(event, context):\n    for event in event['Records']: event['id']\n"},
        'warehouse/reserve.py:2: Warehouse reads event["Records"]',
    ),
    "an event handler of Powertools, with its type": (
        {
            "reserve": "from aws_lambda_powertools.event_handler import APIGatewayRestResolver\n"
            "app: APIGatewayRestResolver = APIGatewayRestResolver()\n"
            "def handler(sent, context): return app.resolve(sent, context)\n"
        },
        "warehouse/reserve.py:2: Warehouse has an event handler of Powertools",
    ),
    "not what else is called an event": (
        {
            "reserve": "for event in ({'detail': 1},): event['detail']\n"
            "def handler(order, context):\n    for event in order['items']: event['detail']\n"
            "    [event['body'] for event in order['items']]\n"
            "    list(map(lambda event: event['Records'], order['items']))\n    event = {'detail': 1}\n"
            "    return event['detail']\n"
        },
        "",
    ),
    "not what another handler reads": (
        {"reserve": "def handler(event, context):\n    return stock(event)\n"}
        | {"other": "def handler(event, context):\n    event['Records']\n"},
        "",
    ),
    "not what the former handler beside it reads": (
        {
            "reserve": "def handler(order, context): 1\ndef of_batches(event, context):\n"
            "    for each in event['Records']: handler(each['body'], context)\n"
        },
        "",
    ),
}


@pytest.mark.parametrize(("modules", "told"), SHAPES.values(), ids=SHAPES)
def test_a_function_that_takes_another_shape_is_told(ready: Application, modules: dict[str, str], told: str) -> None:
    for name, text in modules.items():
        path = ready.folder / "warehouse" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    done = ready.once("new", "reserve", "--function", "Warehouse")
    assert done.code == 0 and told in done.err and (".py:" in done.err) is bool(told), done.err


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "from aws_lambda_powertools.utilities.idempotency import idempotent\n"
            "@idempotent(persistence_store=None)\ndef handler(event, context): return event['Records']\n",
            "warehouse/reserve.py:2: Warehouse has Powertools' idempotency, too",
        ),
        (
            "from once import operation\n@operation()\ndef reserve(request): 1\n@reserve.entry\n"
            "def handler(event, context):\n    for each in event['Records']:\n"
            "        reserve.once(each, key=f'{each[\"messageId\"]}')\n",
            "warehouse/reserve.py:7: Warehouse takes for a key an id that AWS makes anew",
        ),
        (
            "from once import operation\n@operation()\ndef reserve(request): 1\n@reserve.entry\n"
            "def handler(event, context):\n    for each in event['Records']:\n"
            "        reserve.once({'of': each['messageId']}, key=each['body'])\n",
            "",
        ),
    ],
)
def test_in_the_direct_lane_another_lock_or_a_key_made_anew_is_told(ready: Application, code: str, told: str) -> None:
    (ready.folder / "warehouse/reserve.py").write_text(code)
    done = ready.once("new", "reserve", "--function", "Warehouse", "--direct")
    assert done.code == 0 and told in done.err and ("reserve.py:" in done.err) is bool(told), done.err


IN_NODE = {
    "records": (
        "// event.body is not read\nexports.handler = async (event) => {\n  for (const each of event.Records) 1\n}\n",
        'warehouse/reserve.js:3: Warehouse reads event["Records"], a list, and gets the payload of one request: let',
    ),
    "a query, in an event of another name": (
        "export const handler = async (sent: any): Promise<void> => {\n  sent?.queryStringParameters?.['a']\n}\n",
        'warehouse/reserve.ts:2: Warehouse reads event["queryStringParameters"], which Once does not give it',
    ),
    "a body that is unpacked": (
        "export async function handler(event) {\n  const { body, id: number } = event\n}\n",
        'warehouse/reserve.mjs:2: Warehouse reads event["body"], and gets the payload, which is parsed already',
    ),
    "a path that is unpacked at once": (
        "export const handler = async ({ pathParameters }) => pathParameters.id\n",
        'warehouse/reserve.mjs:1: Warehouse reads event["pathParameters"]',
    ),
    "an answer to API Gateway": (
        "exports.handler = async order => ({ statusCode: 400 })\n",
        "warehouse/reserve.js:1: Warehouse returns a statusCode, and what is returned counts as success, also a 400: "
        "it is COMPLETED, and each duplicate gets it. Throw an error whose name is PermanentError",
    ),
    "a batch by Powertools": (
        "import { processPartialResponse } from '@aws-lambda-powertools/batch'\n"
        "export const handler = async (event, context) =>\n  processPartialResponse(event, each, processor)\n",
        'warehouse/reserve.mjs:3: Warehouse reads event["Records"]',
    ),
    "another lock": (
        "import { makeIdempotent } from '@aws-lambda-powertools/idempotency'\n"
        "export const handler = makeIdempotent(async (order) => 1, { persistenceStore })\n",
        "warehouse/reserve.mjs:2: Warehouse has Powertools' idempotency, too",
    ),
    "a body, after a string that looks like the begin of a comment": (
        "const any = '*/*'\nexports.handler = async (sent) => sent.body /* as it is */\n",
        'warehouse/reserve.js:2: Warehouse reads event["body"]',
    ),
    "not what else is called an event": (
        "export const handler = async (order) => order.items.map((event) => event.detail)\n",
        "",
    ),
    "not what is said or answered by others": (
        "/* event.Records\n * statusCode: 400 */\ninterface Answer { statusCode: number }\n"
        "export const handler = async (order: any) => {\n  const { body, statusCode } = await fetch('https://a/event.b')\n"
        "  console.log(order.body2, statusCode, answer.body)\n}\n",
        "",
    ),
}


@pytest.mark.parametrize(("code", "told"), IN_NODE.values(), ids=IN_NODE)
def test_a_function_in_node_that_takes_another_shape_is_told(ready: Application, code: str, told: str) -> None:
    end = told.partition(":")[0].rpartition(".")[2] or "ts"
    (ready.folder / f"warehouse/reserve.{end}").write_text(code)
    handler = "Handler: reserve.handler\n"
    text = ready.text("template.yaml").replace(handler, f"{handler}            Runtime: nodejs22.x\n")
    (ready.folder / "template.yaml").write_text(text)
    done = ready.once("new", "reserve", "--function", "Warehouse")
    assert done.code == 0 and told in done.err and (f"reserve.{end}:" in done.err) is bool(told), done.err
    assert "--direct" not in done.err, "which is Python's"


NOT_RUN = "F is not run by `once run`, `once up` and its test, though deployed as any other:"


@pytest.mark.parametrize("place", [".", "code", "none"])
@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ("Runtime: java21, Handler: 'com.shop.Pay::pay'", f"{NOT_RUN} it has the Runtime java21, and Python, Node.js"),
        ("Runtime: provided.al2023, Handler: bootstrap", f"{NOT_RUN} it is made by a build (it has no `bootstrap`)"),
        ("Runtime: ruby3.4, Handler: app.Pay.pay", f"{NOT_RUN} it has the Runtime ruby3.4, and Python, Node.js"),
        ("Runtime: python3.13, Handler: app", "F has the Handler app, which names no function, so it fails"),
    ],
)
def test_a_function_that_cannot_be_started_here_is_told_and_added(
    empty: Application, properties: str, told: str, place: str
) -> None:
    added(empty, f"{{ {properties}, CodeUri: {place} }}", told)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (".", ""),
        ("code", ""),
        ("none", "F is not run by `once run`, `once up` and its test: its CodeUri is not a folder: "),
        ("s3://artifacts/pay.zip", f"{NOT_RUN} its code is in the bucket artifacts on AWS"),
        ("{ Bucket: artifacts, Key: pay.zip }", f"{NOT_RUN} its code is in the bucket artifacts on AWS"),
    ],
)
def test_a_function_whose_code_is_not_here_is_told_as_once_run_tells_it(
    empty: Application, place: str, told: str
) -> None:
    added(empty, f"{{ Runtime: python3.13, Handler: app.handler, CodeUri: {place} }}", told)


def test_a_function_of_an_image_is_told_and_stops_nothing_else(empty: Application) -> None:
    image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/pay:1"
    added(empty, f"{{ PackageType: Image, ImageUri: '{image}' }}", f"{NOT_RUN} it is an image")
    template = empty.folder / "template.yaml"
    assert "F" in planned(template).resources, "the local cloud can be opened"


def test_a_function_whose_events_depend_on_a_condition_is_added(empty: Application) -> None:
    events = "!If [IsProd, { A: { Type: Api } }, { B: { Type: Api } }]"
    added(
        empty,
        f"{{ Runtime: nodejs22.x, Handler: app.handler, CodeUri: code, Events: {events} }}",
        "Event with id [Fn::If]",
    )


def added(application: Application, properties: str, told: str) -> None:
    """A function of such properties in an application of its own, added as people do, from within its folder."""
    template = f"    F: {{ Type: AWS::Serverless::Function, Properties: {properties} }}\n"
    head = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
    (application.folder / "code").mkdir()
    (application.folder / "code" / "app.py").write_text("def handler(event, context): return 1\n")
    (application.folder / "template.yaml").write_text(head + template)
    named = ("--template", "template.yaml")
    assert application.once("init", *named).code == 0
    done = application.once("new", "work", "--function", "F", *named)
    assert done.code == 0 and told in done.err and ("F has" in done.err or "F is" in done.err) is bool(told), done.err
    assert "WorkErrorsAlarm" in application.text("once/operations.yaml")


def test_a_layer_of_the_application_is_looked_at_too(ready: Application) -> None:
    (ready.folder / "layers/web").mkdir(parents=True)
    (ready.folder / "layers/web/web.py").write_text("def answer(status):\n    return {'statusCode': status}\n")
    code = "import web\ndef handler(event, context):\n    return web.answer(400)\n"
    (ready.folder / "warehouse/reserve.py").write_text(code)
    layer = "    Web:\n        Type: AWS::Serverless::LayerVersion\n        Properties: {ContentUri: layers/web}\n"
    text = ready.text("template.yaml").replace("    # --- functions ---\n", f"    # --- functions ---\n{layer}")
    handler = "Handler: reserve.handler\n"
    (ready.folder / "template.yaml").write_text(text.replace(handler, f"{handler}            Layers: [!Ref Web]\n"))
    done = ready.once("new", "reserve", "--function", "Warehouse")
    assert done.code == 0 and "layers/web/web.py:2: Warehouse returns a statusCode" in done.err


def test_a_function_that_reads_what_its_payload_has_is_told_nothing(ready: Application) -> None:
    of_rule = ("--from-rule", RULE, "--key", "$.detail.invoice.number")
    whole = ready.once("new", "bill", "--function", "BillCustomer", *of_rule, "--payload", "$")
    assert whole.code == 0 and "main.py" not in whole.err
    part = ready.once("new", "bill-2", "--function", "BillCustomer", *of_rule)
    assert part.code == 0 and 'billing/main.py:10: BillCustomer reads event["detail"]' in part.err


def test_what_a_pipe_needs_of_a_queue_is_told(ready: Application) -> None:
    template = ready.folder / "template.yaml"
    redrive = "RedrivePolicy: {deadLetterTargetArn: !GetAtt WarehouseDlq.Arn, maxReceiveCount: 5}"
    of_queue = ("--function", "Warehouse", "--from-queue", "WarehouseQueue", "--key", "$.body.a")
    text = template.read_text()
    template.write_text(text.replace(redrive, f"{redrive}\n            KmsMasterKeyId: alias/aws/sqs"))
    done = ready.once("new", "reserve", *of_queue)
    assert done.code == 0 and "RedrivePolicy" not in done.err and "kms:Decrypt" not in done.err
    template.write_text(text.replace(redrive, "KmsMasterKeyId: !Ref ShopKey"))
    done = ready.once("new", "reserve-again", *of_queue)
    assert done.code == 0 and "WarehouseQueue has no RedrivePolicy" in done.err
    assert "allow kms:Decrypt to the role of its pipe in once/operations.yaml" in done.err


SNS = {"Type": "Notification", "TopicArn": "arn:aws:sns:us-east-1:1:t", "MessageId": "1", "Message": '{"orderNo": "1"}'}
EVENT = {"id": "1", "source": "shop", "detail-type": "OrderPaid", "detail": {"orderNo": "1"}}
TO_QUEUE = "Protocol: sqs, Endpoint: !GetAtt WarehouseQueue.Arn"
SUBSCRIPTION = f"{{ Type: AWS::SNS::Subscription, Properties: {{ TopicArn: !Ref Orders, {TO_QUEUE}MORE }} }}"
OF_TOPIC = f"{{ Type: AWS::SNS::Topic, Properties: {{ Subscription: [ {{ {TO_QUEUE} }} ] }} }}"
OF_FUNCTION = """{ Type: AWS::Serverless::Function, Properties: { Events: { Orders: { Type: SNS, Properties: {
        Topic: !Ref Orders, SqsSubscription: { QueueArn: !GetAtt WarehouseQueue.Arn } } } } } }"""
RAW, ANEW = "RawMessageDelivery: true", "is an id that {} makes anew for each"
IN_PLACE = f"subscribe it by an AWS::SNS::Subscription with {RAW}, in place of Orders's"


@pytest.mark.parametrize(
    ("orders", "key", "example", "told"),
    [
        (SUBSCRIPTION.replace("MORE", ", RawMessageDelivery: false"), "$.body.orderNo", None, [f"set {RAW} of Orders"]),
        (SUBSCRIPTION.replace("MORE", ""), "$.body.MessageId", None, [f"set {RAW} of Orders", ANEW.format("SNS")]),
        (SUBSCRIPTION.replace("MORE", f", {RAW}"), "$.body.orderNo", {"orderNo": "1"}, []),
        (SUBSCRIPTION.replace("MORE", ", RawMessageDelivery: !Ref IsRaw"), "$.body.orderNo", None, []),
        (OF_TOPIC, "$.body.orderNo", None, [IN_PLACE]),
        (OF_FUNCTION, "$.body.orderNo", None, [IN_PLACE]),
        (None, "$.body.Subject", {**SNS, "Subject": "1"}, [f"set {RAW} of the subscription"]),
        (None, "$.body.MessageId", None, [ANEW.format("SNS")]),
        (None, "$.body.MessageId", {"MessageId": "of the shop's own"}, []),
        (None, "$.body.id", {"id": "o-1"}, []),
        (None, "$.body.id", EVENT, [ANEW.format("EventBridge")]),
        (None, "$.body.detail.orderNo", EVENT, []),
    ],
)
def test_what_sns_or_eventbridge_puts_around_a_message_is_told(
    ready: Application, orders: str | None, key: str, example: Any, told: list[str]
) -> None:
    if orders is not None:
        text = ready.text("template.yaml")
        added = f"    Orders: {orders}\n    # --- functions ---\n"
        (ready.folder / "template.yaml").write_text(text.replace("    # --- functions ---\n", added))
    (ready.folder / "sample.json").write_text(json.dumps(example))
    given = ("--example", "sample.json") if example is not None else ()
    done = ready.once(
        "new", "reserve", "--function", "Warehouse", "--from-queue", "WarehouseQueue", "--key", key, *given
    )
    lines = [line for line in done.err.splitlines() if RAW in line or "anew" in line]
    assert done.code == 0 and len(lines) == len(told), done.err
    assert all(each in line for each, line in zip(told, lines, strict=True)), lines


def test_the_id_of_an_event_as_a_key_is_told(ready: Application) -> None:
    of_rule = ("--function", "BillCustomer", "--from-rule", RULE)
    done = ready.once("new", "bill", *of_rule, "--key", "$.id")
    assert done.code == 0 and f"--key $.id {ANEW.format('EventBridge')} event" in done.err
    assert "anew" not in ready.once("new", "bill-2", *of_rule, "--key", "$.detail.id").err


@pytest.mark.parametrize(
    ("pattern", "is_told"),
    [
        ({"source": ["once"]}, True),
        ({"source": [{"prefix": "on"}], "detail": {"status": ["COMPLETED"]}}, True),
        ({"detail-type": ["Operation Completed"]}, True),
        ({"detail-type": ["Operation Failed", "Refund"], "detail": {"operation": ["pay", "bill"]}}, True),
        ({"source": ["once"], "detail": {"operation": [{"anything-but": ["pay"]}]}}, True),
        ({"source": ["once"], "detail": {"operation": ["pay"]}}, False),
        ({"source": ["once"], "detail": {"operation": [{"anything-but": ["bill"]}]}}, False),
        ({"source": ["shop"], "detail-type": ["Operation Completed"]}, False),
        ({"detail-type": ["Refund"]}, False),
        ({"region": ["us-east-1"]}, False),
    ],
)
def test_a_rule_that_takes_the_end_of_its_own_operation_is_told(
    ready: Application, pattern: dict[str, Any], is_told: bool
) -> None:
    of_rule = ("--from-rule", f"ShopBus/{json.dumps(pattern)}", "--key", "$.detail.key")
    done = ready.once("new", "bill", *of_rule)
    assert done.code == 0, done.err
    assert ("the rule takes the end of bill itself, which starts it again, for ever" in done.err) is is_told


def test_the_detail_types_that_a_rule_is_looked_at_for_are_those_that_are_announced() -> None:
    announced = Path(__file__).parents[2] / "functions" / "announce_end" / "announcement.py"
    assert set(re.findall(r'"(Operation \w+)"', announced.read_text())) == set(ENDS)


def test_the_generated_test_of_a_fifo_queue_holds(ready: Application) -> None:
    template, redrive = ready.folder / "template.yaml", "RedrivePolicy: {deadLetterTargetArn: !GetAtt WarehouseDlq.Arn"
    template.write_text(template.read_text().replace(f"{redrive}, maxReceiveCount: 5}}", "FifoQueue: true"))
    assert "FifoQueue" in template.read_text()
    of_queue = ("--function", "Warehouse", "--from-queue", "WarehouseQueue", "--key", "$.body.a")
    (ready.folder / "sample.json").write_text('{"a": "1", "sku": "tea", "orderNo": "1"}')
    assert ready.once("new", "reserve", *of_queue, "--example", "sample.json").code == 0
    done = ready.pytest("tests/test_reserve.py", "-k", "a_message_runs_it_once")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_template_of_another_name_is_taken(foreign: Application) -> None:
    shutil.move(foreign.folder / "template.yaml", foreign.folder / "app.yaml")
    assert foreign.once("init", "--template", "app.yaml").code == 0
    assert foreign.once("new", "pay", "--template", "app.yaml").code == 0
    assert "PayFunction:" in foreign.text("app.yaml")
    assert foreign.once("init", "--template", "none.yaml").code == 2


def test_the_tests_of_a_template_of_another_name_run_on_that_one(foreign: Application) -> None:
    shutil.move(foreign.folder / "template.yaml", foreign.folder / "app.yaml")
    assert foreign.once("init", "--template", "app.yaml").code == 0
    done = foreign.once("new", "pay", "--template", "app.yaml")
    assert "tests/conftest.py" in done.out.split()
    assert "tests/conftest.py" not in foreign.once("new", "refund", "--template", "app.yaml").out.split()
    run = foreign.pytest("tests/test_pay.py")
    assert run.returncode == 0, run.stdout


def test_a_template_of_another_name_is_found_by_every_command_and_test(foreign: Application) -> None:
    shutil.move(foreign.folder / "template.yaml", foreign.folder / "app.yaml")
    assert foreign.once("init", "--template", "app.yaml").code == 0
    before = state_of(foreign)
    assert foreign.once("init").code == 0 and state_of(foreign) == before
    assert foreign.once("new", "pay").code == 0
    assert "PayFunction:" in foreign.text("app.yaml")
    (foreign.folder / "tests/conftest.py").unlink()
    (foreign.folder / "tests/test_which.py").write_text(
        'def test_which(once_template): assert once_template.name == "app.yaml"\n'
    )
    assert foreign.pytest("tests/test_which.py").returncode == 0
    with contextlib.chdir(foreign.folder / "tests"):
        assert find_template(None) == foreign.folder / "app.yaml"


def test_of_two_templates_that_have_once_the_usual_one_is_taken_or_one_must_be_named(foreign: Application) -> None:
    for name in ("a.yaml", "b.yaml"):
        shutil.copy(foreign.folder / "template.yaml", foreign.folder / name)
        assert foreign.once("init", "--template", name).code == 0
    (foreign.folder / "template.yaml").rename(foreign.folder / "later.yaml")
    done = foreign.once("new", "pay")
    assert done.code == 2 and "has Once in a.yaml, b.yaml: name one with --template" in done.err
    (foreign.folder / "later.yaml").rename(foreign.folder / "template.yaml")
    assert foreign.once("init", "--template", "template.yaml").code == 0
    assert foreign.once("new", "pay").code == 0


def test_no_command_and_no_test_takes_the_examples_in_a_folder_of_somebody(foreign: Application) -> None:
    (foreign.folder / "template.yaml").rename(foreign.folder / "app.yaml")
    for command in (("run", "samples/invoice.json"), ("up",), ("env",), ("env", "--openapi")):
        done = foreign.once(*command)
        assert done.code == 2 and "name its template with --template" in done.err
    (foreign.folder / "test_which.py").write_text("def test_which(once_template): pass\n")
    assert "name it by the fixture once_template" in foreign.pytest("test_which.py").stdout


def test_a_template_in_another_folder_is_named_for_its_tests_too(foreign: Application) -> None:
    (foreign.folder.parent / "deploy").mkdir()
    shutil.move(foreign.folder, foreign.folder.parent / "deploy/shop")
    outside = Application(foreign.folder.parent)
    named = ("--template", "deploy/shop/template.yaml")
    assert outside.once("init", *named).code == 0
    assert "tests/conftest.py" in outside.once("new", "pay", *named).out.split()


def test_new_writes_a_placeholder_for_each_value_that_comes_from_elsewhere(foreign: Application) -> None:
    template, values = foreign.folder / "template.yaml", foreign.folder / "once/values.yaml"
    template.write_text(template.read_text().replace("Timeout: 20 ", "Timeout: !ImportValue usual-timeout"))
    foreign.once("init")
    done = foreign.once("new", "write-receipt", "--function", "WriteReceipt")
    assert "once/values.yaml" in done.out.split()
    assert f"{template}:8: !ImportValue usual-timeout" in done.err
    assert yaml.safe_load(values.read_text()) == {"ImportValue": {"usual-timeout": "usual-timeout"}}
    mine = values.read_text().replace(": usual-timeout", ": 20  # as the others")
    values.write_text(mine)
    template.write_text(f"{template.read_text()}\nParameters:\n  Vpc: {{ Type: String }}\n")
    assert "template.yaml" in foreign.once("new", "bill-customer", "--function", "BillCustomer").out.split()
    assert values.read_text() == f"{mine}Parameters:\n  Vpc: Vpc\n"
    assert planned(template).functions["once-Warehouse"].timeout == 20


@pytest.mark.parametrize(
    ("there", "then"),
    [
        ("Parameters:\n", "Parameters:\n  Vpc: Vpc\n"),
        ("Parameters: # mine\nresolve:", "Parameters: # mine\n  Vpc: Vpc\nresolve:"),
        ("Parameters: {} # mine\n# more\n", "Parameters:  # mine\n  Vpc: Vpc\n# more\n"),
        ("ImportValue: ~\n", "ImportValue: ~\nParameters:\n  Vpc: Vpc\n"),
        ("# mine", "# mine\nParameters:\n  Vpc: Vpc\n"),
        ("", "Parameters:\n  Vpc: Vpc\n"),
    ],
)
def test_an_empty_section_of_values_is_one_that_has_none_yet(ready: Application, there: str, then: str) -> None:
    template, values = ready.folder / "template.yaml", ready.folder / "once/values.yaml"
    template.write_text(f"{template.read_text()}\nParameters:\n    Vpc: {{Type: String}}\n")
    values.write_text(there)
    done = ready.once("new", "bill", "--function", "BillCustomer")
    assert (done.code, values.read_text()) == (0, then), done.err


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ("# mine\nParameters: vpc\n", "once/values.yaml:2: Parameters must have names and their values in it"),
        ("{ ImportValue: {} }", "once/values.yaml: it is not written line by line"),
        ("Parameters: { a: b }\nresolve: [", "once/values.yaml is not YAML"),
    ],
)
def test_values_that_cannot_be_added_to_are_told_before_anything_is_written(
    ready: Application, there: str, said: str
) -> None:
    template = ready.folder / "template.yaml"
    template.write_text(f"{template.read_text()}\nParameters:\n    Vpc: {{Type: String}}\n")
    (ready.folder / "once/values.yaml").write_text(there)
    before = state_of(ready)
    done = ready.once("new", "bill", "--function", "BillCustomer")
    after = {name: content for name, content in state_of(ready).items() if not name.startswith("build/")}
    assert (done.code, done.out, after) == (2, "", before)
    assert said in done.err


OF_ELSEWHERE = {"!Ref SalesBus": "SalesBus", "!ImportValue sales-bus": "sales-bus", "sales": "sales"}
"""Where a rule of the template gets events from, and how that is named."""


@pytest.mark.parametrize(("reference", "named"), OF_ELSEWHERE.items())
def test_a_bus_of_elsewhere_is_named_as_the_template_names_it(ready: Application, reference: str, named: str) -> None:
    rule = (
        f"Type: AWS::Events::Rule\n        Properties: {{EventBusName: {reference}, EventPattern: {{source: [x]}}}}\n"
    )
    template = ready.folder / "template.yaml"
    text = template.read_text().replace("Resources:\n", f"Resources:\n    Watched:\n        {rule}", 1)
    template.write_text(f"{text}\nParameters:\n    SalesBus: {{Type: String}}\n")
    of_rule = ("--function", "BillCustomer", "--from-rule", f"{named}/InvoiceIssued", "--payload", "$")
    done = ready.once("new", "bill", *of_rule, "--key", "$.detail.invoice.number", "--example", "samples/invoice.json")
    assert done.code == 0, done.err
    ran = ready.pytest("tests/test_bill.py", "-k", "an_event_runs_it_once")
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_a_queue_of_elsewhere_is_named_by_the_parameter_with_its_arn(ready: Application) -> None:
    template = ready.folder / "template.yaml"
    template.write_text(f"{template.read_text()}\nParameters:\n    OrderQueueArn: {{Type: String}}\n")
    of_queue = ("--function", "Warehouse", "--from-queue", "OrderQueueArn", "--key", "$.body.orderNo")
    done = ready.once("new", "reserve", *of_queue, "--example", "samples/reservation.json")
    assert done.code == 0, done.err
    ran = ready.pytest("tests/test_reserve.py", "-k", "a_message_runs_it_once")
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_a_function_of_an_application_inside_is_told_with_the_template_that_has_it(ready: Application) -> None:
    (ready.folder / "inner").mkdir()
    (ready.folder / "inner/app.yaml").write_text(
        "Transform: AWS::Serverless-2016-10-31\nResources:\n  Ship:\n    Type: AWS::Serverless::Function\n"
    )
    template = ready.folder / "template.yaml"
    inner = "    Inner: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: inner/app.yaml}}\n"
    template.write_text(template.read_text().replace("Resources:\n", f"Resources:\n{inner}", 1))
    done = ready.once("new", "ship", "--function", "Ship")
    assert done.code == 2 and "once init --template" in done.err and "inner/app.yaml, an application inside" in done.err


def test_whose_conftest_is_there_is_told_what_to_add(foreign: Application) -> None:
    shutil.move(foreign.folder / "template.yaml", foreign.folder / "app.yaml")
    (foreign.folder / "tests").mkdir()
    (foreign.folder / "tests/conftest.py").write_text("# mine\n")
    assert foreign.once("init", "--template", "app.yaml").code == 0
    done = foreign.once("new", "pay", "--template", "app.yaml")
    assert foreign.text("tests/conftest.py") == "# mine\n"
    assert "add to tests/conftest.py" in done.err and 'return Path(__file__).parents[1] / "app.yaml"' in done.err
