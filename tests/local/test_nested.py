"""Once as an application inside the template of another: deployed as on AWS, with the same checks of roles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oncekit.adoption.application_template import ApplicationTemplate
from oncekit.contract.lanes import Lane
from oncekit.local import LocalCloud
from oncekit.local.deployment.deploy import planned
from oncekit.local.templates.intrinsics import TemplateError
from oncekit.local.templates.template import load
from oncekit.problem import Problem

pytestmark = pytest.mark.ours

ROOT = Path(__file__).parents[2]
PLAIN = ROOT / "tests" / "functions" / "plain_echo"
APPLICATION = """
Transform: AWS::Serverless-2016-10-31
Parameters:
  BusinessTimeoutSeconds: {{ Type: Number, Default: 30 }}
  Operations: {{ Type: String, Default: "" }}
Resources:
  Charge:
    Type: AWS::Serverless::Function
    Properties: {{ CodeUri: code, Handler: app.handler, Runtime: python3.13, AutoPublishAlias: live }}
  Once:
    Type: AWS::Serverless::Application
    Properties:
      Location: {root}/template.yaml
      Parameters:
        BusinessTimeoutSeconds: !Ref BusinessTimeoutSeconds
        Examples: "no"
        Operations: !Sub charge=${{Charge}}:live
        {parameter}
  Effects:
    Type: AWS::IAM::Policy
    Properties:
      PolicyName: effects
      Roles: [!Ref ChargeRole]
      PolicyDocument:
        Statement:
          - Effect: Allow
            Action: s3:PutObject
            Resource: !Sub
              - arn:${{AWS::Partition}}:s3:::${{Bucket}}/responses/*/*/charge/*
              - {{ Bucket: !GetAtt Once.Outputs.ResponseBucketName }}
Outputs:
  Machine: {{ Value: !GetAtt Once.Outputs.StateMachineArn }}
"""


@contextmanager
def inside(cloud: LocalCloud, folder: Path, code: Path = PLAIN, parameter: str = "") -> Iterator[LocalCloud]:
    """An application with Once inside of it; the function brings the library along, as it would on AWS."""
    (folder / "template.yaml").write_text(APPLICATION.format(root=ROOT, parameter=parameter))
    (folder / "code").mkdir()
    for file in (*code.iterdir(), ROOT / "shared" / "once"):
        (folder / "code" / file.name).symlink_to(file)
    with cloud.deployed_with({}, folder / "template.yaml"):
        yield cloud


@pytest.fixture
def nested(cloud: LocalCloud, tmp_path: Path) -> Iterator[LocalCloud]:
    with inside(cloud, tmp_path) as deployed:
        yield deployed


def request(lane: Lane) -> dict[str, object]:
    return {"operation": "charge", "idempotencyKey": lane, "payload": {"return": 42}}


@pytest.mark.parametrize("lane", ["full", "fast"])
def test_a_function_of_the_outer_template_runs_once_in_each_lane(nested: LocalCloud, lane: Lane) -> None:
    first, second = nested.run(request(lane), lane=lane), nested.run(request(lane), lane=lane)
    assert [each.output["disposition"] for each in (first, second)] == ["EXECUTED", "REPLAYED"]
    assert [each.operation for each in nested.invocations()] == ["charge"]
    assert nested.record(f"default#charge#{lane}") is not None
    assert not nested.denials()
    assert nested.outputs["Machine"] == nested.outputs["StateMachineArn"] == nested.resources["OperationStateMachine"]


def test_a_function_gets_what_the_library_needs_by_a_policy_beside_its_role(cloud: LocalCloud, tmp_path: Path) -> None:
    large = {"operation": "charge", "idempotencyKey": "large", "payload": {"bytes": 300_000}}
    with inside(cloud, tmp_path, ROOT / "functions" / "build_report") as deployed:
        assert "resultRef" in deployed.run(large).output
        assert not deployed.denials()


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        (
            "Parameters: { VpcId: { Type: String } }\nResources: {}",
            "parameter VpcId needs a value: set it at the resource",
        ),
        (
            "Transform: AWS::LanguageExtensions\nResources: { 'Fn::ForEach::T': [N, [a], { '${N}': {} }] }",
            "inner.yaml:2: Resources: Fn::ForEach::T: a loop of AWS::LanguageExtensions is run on AWS only",
        ),
    ],
)
def test_what_an_application_inside_lacks_is_told_at_its_resource(tmp_path: Path, inside: str, said: str) -> None:
    (tmp_path / "inner.yaml").write_text(inside)
    inner = "{ Type: AWS::Serverless::Application, Properties: { Location: inner.yaml } }"
    path = tmp_path / "template.yaml"
    path.write_text(f"Transform: AWS::Serverless-2016-10-31\nResources: {{ Inner: {inner} }}")
    told = planned(path).unread["Inner"].replace(f"{tmp_path}/", "")
    assert told == f"AWS::CloudFormation::Stack: {said}"


def test_templates_that_are_inside_of_each_other_are_told(tmp_path: Path) -> None:
    resource = "{{ Type: AWS::Serverless::Application, Properties: {{ Location: {} }} }}"
    template = "Transform: AWS::Serverless-2016-10-31\nResources: {{ {} }}"
    itself, inner = (resource.format(each) for each in ("./template.yaml", "inner.yaml"))
    (tmp_path / "template.yaml").write_text(template.format(f"Itself: {itself}, Inner: {inner}"))
    (tmp_path / "inner.yaml").write_text(template.format(f"Outer: {resource.format('template.yaml')}"))
    said = (
        "AWS::CloudFormation::Stack: templates are inside of each other in a circle: template.yaml -> {}template.yaml"
    )
    told = planned(tmp_path / "template.yaml").unread
    assert told == {"Itself": said.format(""), "Outer": said.format("inner.yaml -> ")}
    with pytest.raises(TemplateError, match="has no parameter Gone"):
        load(tmp_path / "template.yaml", {"Gone": "a"})
    with pytest.raises(Problem, match="has no function of this name"):
        ApplicationTemplate(tmp_path / "template.yaml").function("Gone")


def test_a_value_that_a_parameter_inside_does_not_take_is_said_with_the_application(
    cloud: LocalCloud, tmp_path: Path
) -> None:
    said = r"^Once: parameter MaxAttempts is '0', but must be at least 1$"
    with pytest.raises(TemplateError, match=said), inside(cloud, tmp_path, parameter="MaxAttempts: 0"):
        pass


CONDITIONAL = """
Transform: AWS::Serverless-2016-10-31
Conditions: {{ IsProd: !Equals [dev, prod], IsDev: !Not [!Condition IsProd] }}
Resources:
  Queue: {{ Type: AWS::SQS::Queue, Condition: IsProd }}
  {name}:
    Type: AWS::CloudFormation::Stack
    Properties: {{ TemplateURL: inner.yaml, Parameters: {{ Q: {value} }} }}
"""


@pytest.mark.parametrize("name", ["Once", "Other"])
def test_what_needs_a_resource_whose_condition_is_false_is_not_made(tmp_path: Path, name: str) -> None:
    path = tmp_path / "template.yaml"
    said = f"{name} refers to Queue, which is not made, as its Condition IsProd is false"
    (tmp_path / "inner.yaml").write_text(
        "Parameters: { Q: { Type: String } }\nResources: { Topic: { Type: AWS::SNS::Topic } }"
    )
    path.write_text(CONDITIONAL.format(name=name, value="!If [IsDev, none, !GetAtt Queue.Arn]"))
    assert not planned(path).unread
    path.write_text(CONDITIONAL.format(name=name, value="!GetAtt Queue.Arn"))
    if name == "Once":
        with pytest.raises(TemplateError, match=said):
            planned(path)
    else:
        assert said.partition(" ")[2] in planned(path).unread[name]
