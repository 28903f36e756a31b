"""docs/recover-a-stack.md and the template that it imports, held against AWS's schemas and against template.yaml."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import botocore.session
import jmespath
import pytest
from botocore import xform_name
from scenario import A_LEASE, charge, dies, record_of, released
from template_parts import resolver

from oncekit.local import LocalCloud
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.templates.elsewhere import Elsewhere
from oncekit.local.templates.template import Template, load, parse

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/recover-a-stack.md").read_text()
KEPT = ROOT / "docs/kept-resources.yaml"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/mine"
OF_THE_COMMAND_ITSELF = {"output", "query"}
COMMANDS = re.findall(r"^\$ (?:\w+=\$\()?(aws .*?)\)?$", PAGE, re.MULTILINE)
Resources = dict[str, dict[str, Any]]
KEEPS_IN_PROD = {"Fn::If": ["IsProd", "Retain", "Delete"]}


@pytest.fixture(scope="module")
def kept() -> Template:
    body = parse(KEPT.read_text(), KEPT)
    return Template(KEPT, {"EncryptionKeyArn": ""}, body, Elsewhere.of(KEPT))


def test_what_is_imported_is_what_outlives_a_stack(kept: Template, resources: Resources) -> None:
    outlives = {name for name, each in resources.items() if each.get("DeletionPolicy") == KEEPS_IN_PROD}
    assert set(kept.section("Resources")) == outlives
    for name, each in kept.section("Resources").items():
        assert each["Type"] == resources[name]["Type"]
        assert each["DeletionPolicy"] == each["UpdateReplacePolicy"] == "Retain"


@pytest.mark.parametrize("key", ["", KEY])
def test_table_is_imported_with_the_settings_that_it_has(kept: Template, key: str) -> None:
    deployed = load(ROOT / "template.yaml", {"Stage": "prod", "EncryptionKeyArn": key})
    imported = Template(kept.path, {"EncryptionKeyArn": key}, kept.body, kept.elsewhere)
    table = "IdempotencyTable"
    assert resolver(imported).resolve(kept.section("Resources")[table]["Properties"]) == resolver(deployed).resolve(
        deployed.section("Resources")[table]["Properties"]
    )


def test_cloudformation_takes_the_template_and_the_names_of_what_it_imports(kept: Template) -> None:
    from cfnlint.api import ManualArgs, lint
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

    assert lint(KEPT.read_text(), config=ManualArgs(regions=[REGION])) == []
    [written] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    imported = {each["LogicalResourceId"]: each for each in json.loads(written)}
    assert set(imported) == set(kept.section("Resources"))
    for name, each in imported.items():
        assert each["ResourceType"] == kept.section("Resources")[name]["Type"]
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, each["ResourceType"]).schema
        assert [f"/properties/{member}" for member in each["ResourceIdentifier"]] == schema["primaryIdentifier"]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: " ".join(each.split()[1:4]))
def test_command_is_one_that_aws_has(command: str) -> None:
    _, service, operation, *words = shlex.split(command)
    session = botocore.session.get_session()
    model = session.get_service_model(service)
    if operation == "wait":
        waiters = session.create_client(service, REGION, aws_access_key_id="a", aws_secret_access_key="b").waiter_names
        assert words.pop(0).replace("-", "_") in waiters
        return
    [name] = [each for each in model.operation_names if xform_name(each, "-") == operation]
    members = model.operation_model(name).input_shape.members
    options = {xform_name(each, "-"): each for each in members}
    for position, word in enumerate(words):
        option = word.removeprefix("--")
        if word.startswith("--") and option not in OF_THE_COMMAND_ITSELF:
            assert option in options or option.removeprefix("no-") in options, option
            enum = getattr(members[options[option.removeprefix("no-")]], "enum", None)
            assert not enum or words[position + 1] in enum


def query(operation: str) -> str:
    """The --query of the page's command."""
    [words] = [shlex.split(each) for each in COMMANDS if each.split()[2] == operation]
    return words[words.index("--query") + 1]


def test_what_was_left_is_found_among_the_versions_that_stay_too(resources: Resources) -> None:
    versions = ["OperationStateMachineVersion", "ChargePaymentFunctionVersion0a1b2c3d4e"]
    summaries = [
        {"LogicalResourceId": name, "PhysicalResourceId": f"id of {name}", "ResourceStatus": "DELETE_SKIPPED"}
        for name in [*resources, *versions]
    ]
    found = jmespath.search(query("list-stack-resources"), {"StackResourceSummaries": summaries})
    shown = re.findall(r"^([A-Z]\w+) {3,}\S+$", PAGE, re.MULTILINE)
    kept = [name for name, r in resources.items() if r.get("DeletionPolicy") == KEEPS_IN_PROD]
    assert sorted(name for name, _ in found) == sorted(kept)
    assert sorted(shown) == sorted(name for name, _ in found)


def test_newest_of_the_lost_stacks_is_found_once_over_all_pages() -> None:
    """With --output text the command would run the query for each page, and print a line for each."""
    others = [{"StackName": "other", "StackId": "another's"}] * 200
    mine = [{"StackName": "once-prod", "StackId": each} for each in ("newest", "older")]
    assert jmespath.search(query("list-stacks"), {"StackSummaries": [*others, *mine]}) == "newest"
    for command in COMMANDS:
        if "[0]" in command:
            assert "--output json" in command


def test_there_are_commands_to_look_at() -> None:
    assert len(COMMANDS) >= 11


LOST = "OperationStateMachine-7G8H9I0J"


def owned_by_the_lost_machine(cloud: LocalCloud) -> None:
    """A record as a lost stack leaves it: in progress, its lease over."""
    cloud.run(charge())
    cloud.client("dynamodb").update_item(
        TableName=cloud.outputs["TableName"],
        Key={"id": {"S": record_of(cloud, charge())["id"]}},
        UpdateExpression="SET #s = :in, #o = :lost, leaseExpiresAt = :over, openShard = :shard REMOVE expiresAt, #r",
        ExpressionAttributeNames={"#s": "status", "#o": "owner", "#r": "result"},
        ExpressionAttributeValues={
            ":in": {"S": "IN_PROGRESS"},
            ":lost": {"S": f"arn:aws:states:{REGION}:{ACCOUNT}:execution:{LOST}:gone"},
            ":over": {"N": "1"},
            ":shard": {"S": "IN_PROGRESS#0"},
        },
    )


def test_operation_of_a_lost_machine_is_done_when_its_lease_is_over(cloud: LocalCloud) -> None:
    owned_by_the_lost_machine(cloud)
    assert cloud.run(charge()).output["disposition"] == "EXECUTED"
    assert cloud.denials() == (), "whom it may not ask after it does not ask after"


@pytest.mark.skipif(shutil.which("perl") is None, reason="the page's command is perl's")
def test_the_pages_command_switches_the_sweeps_schedule_off_and_nothing_else(tmp_path: Path) -> None:
    """After a restore a sweep would start again what has ended since."""
    shutil.copy(ROOT / "template.yaml", tmp_path)
    [command] = re.findall(r"^\$ (perl .*)$", PAGE, re.MULTILINE)
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    was = parse((ROOT / "template.yaml").read_text(), ROOT / "template.yaml")
    now = parse((tmp_path / "template.yaml").read_text(), tmp_path / "template.yaml")
    schedule = now["Resources"]["RecoverySchedule"]["Properties"]
    assert schedule.pop("State") == "DISABLED"
    assert now == was


def test_what_is_open_in_a_restored_table_a_sweep_starts_unless_it_is_released(cloud: LocalCloud) -> None:
    """Without anyone sending it again."""
    request = charge()
    with cloud.intercept(dies(cloud, "Finalize")):
        cloud.run(request)
    table = cloud.outputs["TableName"]
    [restored] = cloud.client("dynamodb").scan(TableName=table)["Items"]
    cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]
    for released_first in (False, True):
        cloud.client("dynamodb").put_item(TableName=table, Item=restored)
        if released_first:
            released(cloud, request)
        machine, name = cloud.outputs["RecoveryStateMachineArn"], f"after-a-restore-{released_first}"
        cloud.client("stepfunctions").start_execution(stateMachineArn=machine, name=name, input="{}")
        cloud.settle()
        status = "FAILED" if released_first else "COMPLETED"
        assert record_of(cloud, request)["status"] == status
