"""What docs/other-tools.md shows for CDK and Terraform makes what `once new` would write for the same functions."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from hcl2 import loads
from tools import tool

from oncekit.adoption.texts import text
from oncekit.local import LocalCloud
from oncekit.local.templates.template import parse

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "other-tools.md").read_text(encoding="utf-8")
ARN = "arn:aws:{}:REGION:ACCOUNT"
HERE = {"AWS::Partition": "aws", "AWS::Region": "REGION", "AWS::AccountId": "ACCOUNT", "DirectLaneName": "once"}
OPERATIONS = {"charge": ("effects",), "reserve-stock": ("effects", "direct")}
"""What `once new` writes for the role of each."""
Statement = tuple[frozenset[str], str, str]
"""Actions, the resource, and the condition as JSON."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def outputs(shared_cloud: LocalCloud) -> Mapping[str, str]:
    return shared_cloud.outputs


def statement(actions: Any, resource: str, condition: Any) -> Statement:
    return (
        frozenset([actions] if isinstance(actions, str) else actions),
        resource,
        json.dumps(condition, sort_keys=True),
    )


def flat(value: Any, resources: Mapping[str, str]) -> str:
    """A text of a template as it is deployed; `resources` are those that it may name."""
    if isinstance(value, str):
        return value
    [(function, given)] = value.items()
    if function == "Fn::Join":
        return str(given[0]).join(flat(each, resources) for each in given[1])
    if function == "Fn::Sub":
        pattern, more = (given, {}) if isinstance(given, str) else given
        known = {**HERE, **{name: flat(each, resources) for name, each in more.items()}}
        return re.sub(r"\$\{([\w:]+)\}", lambda found: known[found[1]], pattern)
    return {**HERE, **resources}[given if isinstance(given, str) else ".".join(given)]


def statements(document: Mapping[str, Any], resources: Mapping[str, str]) -> set[Statement]:
    return {
        statement(each["Action"], flat(each["Resource"], resources), each.get("Condition", {}))
        for each in document["Statement"]
    }


def written(file: str, **names: str) -> dict[str, Any]:
    """The resources that `once new` writes for an operation."""
    lines = text(file, Operation="O", **names)
    resources: dict[str, Any] = parse(f"Resources:\n{indent(lines, '  ')}", Path(file))["Resources"]
    return resources


def as_once_new_writes(operation: str, outputs: Mapping[str, str]) -> set[Statement]:
    found: set[Statement] = set()
    for name in OPERATIONS[operation]:
        [policy] = written(f"{name}.yaml", operation=operation, role="R").values()
        machine = {f"Machine.Outputs.{output}": value for output, value in outputs.items()}
        found |= statements(policy["Properties"]["PolicyDocument"], machine)
    return found


def input_template() -> Any:
    """Of the rule that `once new --from-rule` writes for `charge`."""
    places = {"key": '["detail", "orderId"]', "payload": '["detail"]', "onCrash": "retry"}
    rule = written("rule.yaml", operation="charge", bus="b", busName="b", pattern="{}", **places)["ORule"]
    return rule["Properties"]["Targets"][0]["InputTransformer"]["InputTemplate"]


def test_the_page_names_the_functions_in_operations_as_they_are_called() -> None:
    assert len(re.findall(r"\bOperations=(\S+?)[\"\s]", PAGE)) == 2
    for named in re.findall(r"\bOperations=(\S+?)[\"\s]", PAGE):
        assert dict(each.split("=") for each in named.split(",")) == {each: f"shop-{each}:live" for each in OPERATIONS}


def test_the_page_takes_outputs_that_there_are(outputs: Mapping[str, str]) -> None:
    taken = {
        *re.findall(r"\bonce\.([A-Z]\w+)\b", "\n".join(blocks("typescript"))),
        *re.findall(r'local\.once\["(\w+)"\]', PAGE),
        *re.findall(r"\$\{cf:once\.(\w+)\}", PAGE),
    }
    assert len(taken) > 4 and taken <= outputs.keys()


# ---- CDK ----


@pytest.fixture(scope="module")
def synthesised(outputs: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The template that the program of the page makes where Once has these outputs."""
    library = tool("build/cdk/node_modules/aws-cdk-lib/package.json", "make cdk").parents[1]
    folder = tmp_path_factory.mktemp("cdk")
    (folder / "node_modules").symlink_to(library)
    for operation in OPERATIONS:
        (folder / "functions" / operation).mkdir(parents=True)
        (folder / "functions" / operation / "app.py").write_text("def handler(event, context): ...\n")
    (folder / "once.json").write_text(json.dumps([[name, value] for name, value in outputs.items()]))
    [program] = blocks("typescript")
    # What its compiler makes of imports; the rest is JavaScript.
    program = re.sub(r"^import (?:\* as )?(.+) from ('.+');$", r"const \1 = require(\2);", program, flags=re.MULTILINE)
    (folder / "app.js").write_text(program)
    node = shutil.which("node")
    assert node, "npm installed the library, so node is there"
    done = subprocess.run([node, "app.js"], cwd=folder, env={"CDK_OUTDIR": "out"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    template: dict[str, Any] = json.loads((folder / "out" / "Shop.template.json").read_text())
    return template


def of_type(template: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] == kind:
            yield logical_id, resource["Properties"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_function_made_by_cdk_is_what_once_new_would_make_of_it(
    operation: str, synthesised: dict[str, Any], outputs: Mapping[str, str]
) -> None:
    [(logical_id, function)] = [
        (logical_id, each)
        for logical_id, each in of_type(synthesised, "AWS::Lambda::Function")
        if each["FunctionName"] == f"shop-{operation}"
    ]
    assert function["Layers"] == [outputs["LayerArn"]]
    variables = function.get("Environment", {}).get("Variables", {})
    assert variables == ({"ONCE_PARAMETER": "/once/once/direct"} if "direct" in OPERATIONS[operation] else {})
    aliases = dict(of_type(synthesised, "AWS::Lambda::Alias")).values()
    assert [each["Name"] for each in aliases if each["FunctionName"] == {"Ref": logical_id}] == ["live"]
    role = function["Role"]["Fn::GetAtt"][0]
    policies = [each for _, each in of_type(synthesised, "AWS::IAM::Policy") if each["Roles"] == [{"Ref": role}]]
    given = {each for policy in policies for each in statements(policy["PolicyDocument"], {})}
    assert given == as_once_new_writes(operation, outputs)


def test_a_rule_made_by_cdk_starts_the_machine_as_that_of_once_new(
    synthesised: dict[str, Any], outputs: Mapping[str, str]
) -> None:
    [(_, rule)] = of_type(synthesised, "AWS::Events::Rule")
    [target] = rule["Targets"]
    assert target["Arn"] == outputs["StateMachineAliasArn"]
    assert target["InputTransformer"]["InputTemplate"] == input_template()
    starter = target["RoleArn"]["Fn::GetAtt"][0]
    [policy] = [each for _, each in of_type(synthesised, "AWS::IAM::Policy") if each["Roles"] == [{"Ref": starter}]]
    wanted = {statement("states:StartExecution", outputs["StateMachineArn"], {})}
    assert statements(policy["PolicyDocument"], {}) == wanted


def test_cfn_lint_takes_what_cdk_makes(synthesised: dict[str, Any], tmp_path: Path) -> None:
    linter = shutil.which("cfn-lint", path=str(Path(tool(".venv/bin/cfn-lint", "make development")).parent))
    (tmp_path / "t.json").write_text(json.dumps(synthesised))
    assert linter
    # W3005: a DependsOn that CDK writes besides.
    lint = [linter, "--regions", "us-east-1", "--ignore-checks", "W3005", "--"]
    done = subprocess.run([*lint, tmp_path / "t.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# ---- Terraform ----

Resources = dict[tuple[str, str, str], Mapping[str, Any]]
"""By resource or data, type and name."""


def plain(value: Any) -> Any:
    """Without the quotation marks that the parser leaves around a text."""
    if isinstance(value, str):
        return json.loads(value) if re.fullmatch(r'"([^"\\]|\\.)*"', value) else value.replace('\\"', '"').strip('"')
    if isinstance(value, list):
        return [plain(each) for each in value]
    return {plain(name): plain(each) for name, each in value.items()} if isinstance(value, dict) else value


@pytest.fixture(scope="module")
def terraform() -> Resources:
    found: Resources = {}
    for block in blocks("hcl"):
        parsed = plain(loads(block))
        for kind in ("data", "resource"):
            for declared in parsed.get(kind, []):
                [(type_, named)] = [each for each in declared.items() if not each[0].startswith("__")]
                [(name, body)] = [each for each in named.items() if not each[0].startswith("__")]
                found[kind, type_, name] = body
    return found


def resolved(expression: str, outputs: Mapping[str, str]) -> str:
    known = {
        "data.aws_partition.here.partition": "aws",
        "local.here": "REGION:ACCOUNT",
        "local.bucket": f"arn:aws:s3:::{outputs['ResponseBucketName']}",
        **{f'local.once["{name}"]': value for name, value in outputs.items()},
    }
    return re.sub(r"\$\{(.+?)\}", lambda found: known[found[1]], expression)


def of_document(document: Mapping[str, Any], outputs: Mapping[str, str]) -> set[Statement]:
    def condition(each: Mapping[str, Any]) -> dict[str, Any]:
        named = ((one["test"], one["variable"], one["values"]) for one in each.get("condition", []))
        return {test: {variable: values[0]} for test, variable, values in named}

    return {
        statement(each["actions"], resolved(resource, outputs), condition(each))
        for each in document["statement"]
        for resource in each["resources"]
        if resource != "*"
    }


def test_a_function_made_by_terraform_is_what_once_new_would_make_of_it(
    terraform: Resources, outputs: Mapping[str, str]
) -> None:
    function = terraform["resource", "aws_lambda_function", "reserve_stock"]
    assert function["function_name"] == "shop-reserve-stock" and function["publish"] is True
    assert [resolved(each, outputs) for each in function["layers"]] == [outputs["LayerArn"]]
    [environment] = function["environment"]
    assert environment["variables"] == {"ONCE_PARAMETER": "/once/once/direct"}
    assert terraform["resource", "aws_lambda_alias", "reserve_stock"]["name"] == "live"
    given = of_document(terraform["data", "aws_iam_policy_document", "reserve_stock"], outputs)
    assert given == as_once_new_writes("reserve-stock", outputs)


def test_a_rule_made_by_terraform_starts_the_machine_as_that_of_once_new(
    terraform: Resources, outputs: Mapping[str, str]
) -> None:
    target = terraform["resource", "aws_cloudwatch_event_target", "charge"]
    assert resolved(target["arn"], outputs) == outputs["StateMachineAliasArn"]
    [transformer] = target["input_transformer"]
    assert input_template() in transformer["input_template"]
    given = of_document(terraform["data", "aws_iam_policy_document", "starter"], outputs)
    assert given == {statement("states:StartExecution", outputs["StateMachineArn"], {})}


def test_all_that_the_text_for_terraform_names_is_in_it(terraform: Resources) -> None:
    for block in blocks("hcl"):
        for type_, name in re.findall(r"(?<!data\.)\b(aws_\w+)\.(\w+)\.\w+", block):
            assert ("resource", type_, name) in terraform, f"{type_}.{name}"
        for type_, name in re.findall(r"\bdata\.(aws_\w+)\.(\w+)\.\w+", block):
            assert ("data", type_, name) in terraform, f"data.{type_}.{name}"


def test_the_function_of_the_page_is_what_a_machine_calls_and_gets_the_payload(
    cloud: LocalCloud, tmp_path: Path
) -> None:
    [code] = blocks("python")
    (tmp_path / "app.py").write_text(code)
    cloud.add_function("charge", tmp_path)
    request = {"operation": "charge", "idempotencyKey": "of-other-tools", "payload": {"orderId": "o-1", "amount": 12}}
    ended = cloud.run(request)
    assert ended.status == "SUCCEEDED", ended.why
    assert json.loads(ended.output["result"])["orderId"] == "o-1"
