"""Deployment of templates other than the project's own: what a user adds works, or is named."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from event_stand import Stand, worker

from oncekit.local import LocalCloud
from oncekit.local.deployment.deploy import deploy
from oncekit.local.deployment.resources import Deployed
from oncekit.local.deployment.stack import Stack
from oncekit.local.events.exchange import left_out
from oncekit.local.templates.intrinsics import TemplateError
from oncekit.local.templates.template import load

pytestmark = pytest.mark.ours

HEAD = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
TABLE = """
  Rows:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: {name}
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{{ AttributeName: {key}, KeyType: HASH }}]
      AttributeDefinitions: [{{ AttributeName: {key}, AttributeType: S }}]
"""
FUNCTION = """
  Echo:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: echo
      CodeUri: functions/echo/
      Handler: app.handler
      Runtime: python3.13
      Timeout: 7
      ReservedConcurrentExecutions: 3
      Layers: [!Ref Shared]
      Environment: { Variables: { ROWS: !Ref Rows, NUMBER: 5, SWITCH: true } }
      AutoPublishAlias: live
  Shared:
    Type: AWS::Serverless::LayerVersion
    Properties: { ContentUri: shared/ }
"""


class Project:
    """A folder with a template, deployed on the backends of the shared cloud."""

    def __init__(self, folder: Path, cloud: LocalCloud) -> None:
        self.folder = folder
        self.cloud = cloud
        self.known: dict[str, Deployed] = {}

    def deploy(self, resources: str, parameters: Mapping[str, str] | None = None) -> Stack:
        path = self.folder / "template.yaml"
        path.write_text(HEAD + resources)
        template, cloud = load(path, parameters), self.cloud
        return deploy(template, cloud._service_calls.make, cloud.endpoint_url, self.known)


@pytest.fixture
def project(tmp_path: Path, cloud: LocalCloud) -> Project:
    (tmp_path / "functions" / "echo").mkdir(parents=True)
    return Project(tmp_path, cloud)


def test_function_is_registered_with_code_layer_limits_and_environment(project: Project) -> None:
    stack = project.deploy(TABLE.format(name="deploy-a", key="id") + FUNCTION)
    [(name, spec)] = stack.functions.items()
    assert name == "echo"
    assert spec.code == project.folder / "functions/echo"
    assert (spec.handler, spec.timeout, spec.concurrency) == ("app.handler", 7, 3)
    assert spec.environment == {"ROWS": "deploy-a", "NUMBER": "5", "SWITCH": "true"}
    assert stack.resources["EchoAliaslive"].ref.endswith(":function:echo:live")


BUILT = "Metadata: { BuildMethod: python3.13 }"
LAYERS = [
    ("python", "", True),
    ("python/lib/python3.13/site-packages", "", True),
    ("python/lib/python3.12/site-packages", "", False),
    ("", BUILT, True),
    ("", "", False),
    ("python", BUILT, False),
]


@pytest.mark.parametrize(("place", "metadata", "found"), LAYERS)
def test_a_function_imports_from_its_layer_what_it_would_on_lambda(
    project: Project, place: str, metadata: str, found: bool
) -> None:
    """A layer is unzipped to /opt as it is; one with a BuildMethod has its folder under python/."""
    packages = project.folder / "shared" / place
    packages.mkdir(parents=True)
    (packages / "of_layer.py").write_text("VALUE = 1")
    (project.folder / "functions/echo/app.py").write_text("from of_layer import VALUE\n\nhandler = print\n")
    stack = project.deploy(FUNCTION.replace("!Ref Rows", "rows") + f"    {metadata}\n")
    project.cloud.register_function("layered", stack.functions["echo"])
    answer = project.cloud.functions.invoke(FunctionName="layered", Payload=b"{}")
    failed = json.loads(answer["Payload"].read()) or {}
    assert failed.get("errorType") == (None if found else "Runtime.ImportModuleError")


def test_a_public_layer_is_left_out_and_told_unless_its_packages_are_here(project: Project) -> None:
    arns = [f"arn:aws:lambda:eu-central-1:017000801446:layer:{name}:7" for name in ("AWSLambdaPowertoolsPythonV3", "X")]
    (project.folder / "functions/echo/app.py").write_text("import aws_lambda_powertools\n\nhandler = print\n")
    layers = f"[!Ref Shared, {', '.join(arns)}]"
    stack = project.deploy(FUNCTION.replace("!Ref Rows", "rows").replace("[!Ref Shared]", layers))
    assert list(left_out(stack.resources)) == [f"{arns[1]} (a layer)"]
    project.cloud.register_function("layered", stack.functions["echo"])
    answer = project.cloud.functions.invoke(FunctionName="layered", Payload=b"{}")
    assert json.loads(answer["Payload"].read()) is None


def test_unchanged_resources_keep_their_data_and_changed_ones_are_made_anew(project: Project) -> None:
    dynamodb = project.cloud.client("dynamodb")
    project.deploy(TABLE.format(name="deploy-b", key="id") + FUNCTION)
    dynamodb.put_item(TableName="deploy-b", Item={"id": {"S": "1"}})
    project.deploy(TABLE.format(name="deploy-b", key="id") + FUNCTION.replace("Timeout: 7", "Timeout: 8"))
    assert dynamodb.scan(TableName="deploy-b")["Count"] == 1
    project.deploy(TABLE.format(name="deploy-b", key="other") + FUNCTION.replace("Timeout: 7", "Timeout: 8"))
    assert dynamodb.scan(TableName="deploy-b")["Count"] == 0


def test_resource_that_nobody_knows_has_a_name_and_attributes_and_is_told(project: Project) -> None:
    stack = project.deploy(
        "  Odd: { Type: AWS::Odd::Thing }\n"
        "  News: { Type: AWS::SNS::Topic, Properties: { TopicName: !Ref Odd, DisplayName: !GetAtt Odd.Arn } }\n"
    )
    arn = "arn:aws:odd:us-east-1:123456789012:Odd"
    assert stack.resources["News"].properties == {"TopicName": "once-Odd", "DisplayName": arn}
    assert list(left_out(stack.resources)) == ["Odd (AWS::Odd::Thing)"]


def test_a_mapping_whose_source_is_elsewhere_is_left_out_and_told(project: Project) -> None:
    mapping = "  Reads: { Type: AWS::Lambda::EventSourceMapping, Properties: { FunctionName: !Ref Echo } }\n"
    stack = project.deploy(TABLE.format(name="deploy-m", key="id") + FUNCTION + mapping)
    assert list(left_out(stack.resources)) == ["Reads (AWS::Lambda::EventSourceMapping: its source is not here)"]


def test_function_without_a_folder_is_in_name_only_and_told(project: Project) -> None:
    stack = project.deploy(
        TABLE.format(name="deploy-c", key="id") + FUNCTION.replace("functions/echo/", "functions/other/")
    )
    [told] = left_out(stack.resources, stack.unread)
    assert re.search(r"^Echo \(AWS::Lambda::Function: its CodeUri is not a folder: .*/functions/other/?\)$", told)


def test_reference_to_nothing_is_named_with_who_refers(project: Project) -> None:
    with pytest.raises(TemplateError, match="News refers to Nothing"):
        project.deploy("  News: { Type: AWS::SNS::Topic, Properties: { TopicName: !Ref Nothing } }")


def test_circle_of_references_is_shown(project: Project) -> None:
    one = "  One: { Type: AWS::SNS::Topic, Properties: { TopicName: !Ref Two } }\n"
    two = "  Two: { Type: AWS::SNS::Topic, Properties: { TopicName: !Ref One } }\n"
    with pytest.raises(TemplateError, match="One -> Two -> One"):
        project.deploy(one + two)


def test_an_application_inside_that_is_not_on_this_machine_is_in_name_only_and_told(project: Project) -> None:
    nested = "  Inner:\n    Type: AWS::Serverless::Application\n    Properties: { Location: inner/template.yaml }\n"
    stack = project.deploy(nested)
    said = r"^Inner \(AWS::CloudFormation::Stack: its Location is not a file on this machine: .*/inner/template.yaml\)$"
    [told] = left_out(stack.resources, stack.unread)
    assert re.search(said, told)


MACHINE = """
  Works:
    Type: AWS::Serverless::StateMachine
    Properties: { DefinitionUri: machines/works.asl.yaml, Role: 'arn:aws:iam::123456789012:role/works' }
"""


DEFINITIONS = {
    "the state S is in JSONPath; only JSONata runs here": {"S": {"Type": "Pass", "ResultPath": "$.x", "End": True}},
    "the state S is a Parallel": {"S": {"Type": "Parallel", "Branches": [], "End": True}},
    "the state S waits for a callback": {
        "S": {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "End": True}
    },
    "the state S waits for a job to end": {
        "S": {"Type": "Task", "Resource": "arn:aws:states:::batch:submitJob.sync", "End": True}
    },
}


def write_works(folder: Path, states: Mapping[str, Any], language: str = "JSONata") -> None:
    definition = {"QueryLanguage": language, "StartAt": "S", "States": states}
    (folder / "machines").mkdir()
    (folder / "machines/works.asl.yaml").write_text(json.dumps(definition))


@pytest.mark.parametrize("reason", DEFINITIONS)
def test_a_machine_that_is_not_run_here_is_named_with_the_state_and_the_reason(stand: Stand, reason: str) -> None:
    write_works(stand.folder, DEFINITIONS[reason], "JSONPath" if "JSONPath" in reason else "JSONata")
    stand.deploy(MACHINE)
    assert list(left_out(stand.stack.resources)) == [f"Works (AWS::StepFunctions::StateMachine: {reason})"]


def test_a_machine_of_ones_own_in_jsonata_is_run(stand: Stand) -> None:
    write_works(stand.folder, {"S": {"Type": "Pass", "Output": "{% 1 + 1 %}", "End": True}})
    stand.deploy(MACHINE)
    assert list(left_out(stand.stack.resources)) == []
    stand.start(machine="Works")
    assert [each.output for each in stand.executions("Works")] == [2]


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ({"S": {"Type": "Pass", "Next": "T"}}, "S: Next: there is no state 'T'"),
        ({"T": {"Type": "Succeed"}}, "StartAt: there is no state 'S'"),
        ({"S": {"Type": "Parallell", "End": True}}, "S: there is no type of state 'Parallell'"),
        ({"S": {"Type": "Pass"}}, "S: has no Next and no End"),
        ({"S": {"Type": "Task", "End": True}}, "S: has no Resource"),
        ({"S": {"Type": "Map", "End": True}}, "S: has no ItemProcessor and no Iterator"),
        ({"S": None}, "S: there is no type of state None"),
    ],
)
def test_a_definition_that_aws_refuses_is_named_with_the_state_and_the_reason(
    project: Project, states: Mapping[str, Any], said: str
) -> None:
    write_works(project.folder, states)
    stack = project.deploy(MACHINE)
    [told] = left_out(stack.resources, stack.unread)
    assert told.startswith("Works (AWS::StepFunctions::StateMachine: ")
    assert f"works.asl.yaml: AWS would refuse it: {said}" in told


@pytest.mark.ours
def test_two_machines_of_one_name_are_told_of_by_what_is_wrong_with_them(stand: Stand) -> None:
    named, said = "      Name: same\n", "Other (AWS::StepFunctions::StateMachine: State Machine Already Exists: "
    stand.deploy(worker() + named + worker("Other", type="EXPRESS") + named)
    [told] = left_out(stand.stack.resources, stand.stack.unread)
    assert told.startswith(said)


def test_files_that_it_is_deployed_from_are_told_also_a_missing_one(project: Project, cloud: LocalCloud) -> None:
    sources: set[Path] = set()
    path = project.folder / "template.yaml"
    inner = "  Inner: { Type: AWS::Serverless::Application, Properties: { Location: inner/template.yaml } }\n"
    path.write_text(HEAD + inner + TABLE.format(name="deploy-s", key="id") + FUNCTION + MACHINE)
    deploy(load(path), cloud._service_calls.make, cloud.endpoint_url, {}, sources)
    assert project.folder / "machines/works.asl.yaml" in sources
    for name, text in (
        ("machines/works.asl.yaml", "{ StartAt: A, States: { A: { Type: Succeed } } }"),
        ("inner/template.yaml", f"{HEAD}  News: {{ Type: AWS::SNS::Topic }}\n"),
    ):
        (project.folder / name).parent.mkdir()
        (project.folder / name).write_text(text)
    deploy(load(path), lambda *_: None, cloud.endpoint_url, project.known, sources)
    names = ("functions/echo", "shared/python", "machines/works.asl.yaml", "inner/template.yaml")
    assert sources == {project.folder / name for name in names}


def test_fifo_queues_and_topics_without_a_name_get_one_that_ends_as_it_must(project: Project) -> None:
    long = "x" * 80
    deployed = project.deploy(
        "  Dead: { Type: AWS::SQS::Queue, Properties: { FifoQueue: true } }\n"
        "  Works:\n    Type: AWS::SQS::Queue\n    Properties:\n      FifoQueue: true\n"
        "      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3 }\n"
        f"  {long}: {{ Type: AWS::SQS::Queue, Properties: {{ FifoQueue: true }} }}\n"
        "  News: { Type: AWS::SNS::Topic, Properties: { FifoTopic: true } }\n"
        "  Plain: { Type: AWS::SQS::Queue, Properties: { FifoQueue: false } }\n"
    )
    refs = {name: each.ref for name, each in deployed.resources.items()}
    assert all(refs[name].endswith(".fifo") for name in ("Dead", "Works", long, "News"))
    assert not refs["Plain"].endswith(".fifo")


NOT_RUN = {
    "PackageType: Image, ImageUri: '123456789012.dkr.ecr.eu-west-1.amazonaws.com/pay:1'": "it is an image, ",
    "Runtime: java21, Handler: 'shop.Pay::pay', CodeUri: ./": "it has the Runtime java21, ",
    "Runtime: dotnet8, Handler: 'Shop::Shop.Pay::Pay', CodeUri: ./": "it has the Runtime dotnet8, ",
    "Runtime: go1.x, Handler: main, CodeUri: ./": "it has the Runtime go1.x, ",
}


@pytest.mark.parametrize(("properties", "reason"), NOT_RUN.items())
def test_a_function_that_does_not_run_here_is_named_with_the_reason(
    project: Project, properties: str, reason: str
) -> None:
    deployed = project.deploy(f"  Pay: {{ Type: AWS::Serverless::Function, Properties: {{ {properties} }} }}\n")
    [told] = left_out(deployed.resources)
    assert told.startswith(f"Pay (AWS::Lambda::Function: {reason}")
    assert deployed.resources["Pay"].attributes("Arn").endswith(":function:once-Pay")
    assert not deployed.functions


def test_a_function_in_nodejs_is_in_name_only_where_there_is_no_node(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(project.folder))
    properties = "{ Runtime: nodejs22.x, Handler: app.handler, CodeUri: ./ }"
    deployed = project.deploy(f"  Pay: {{ Type: AWS::Serverless::Function, Properties: {properties} }}\n")
    [told] = left_out(deployed.resources)
    assert "there is no `node` on this machine's PATH: install Node.js" in told
