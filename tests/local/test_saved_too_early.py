"""A template saved in the middle of an edit: what is wrong is said with the resource, and what is deployed goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncekit.local import LocalCloud
from oncekit.local.templates.definition import DefinitionError
from oncekit.local.templates.template import TemplateError

pytestmark = pytest.mark.ours

START = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
ROWS = """
  Rows:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: rows
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      AttributeDefinitions: [{ AttributeName: id, AttributeType: S }]
"""
HEAD = START + ROWS
EVENT = "{ E: { Type: Api, Properties: { Path: /a, Method: post, RestApiId: !Ref Gone } } }"
TYPE = "  N: {{ Type: AWS::{}, Properties: {} }}\n"
REPOSITORY = "{ Location: { ApplicationId: 'arn:aws:serverlessrepo:us-east-1:1:x', SemanticVersion: 1.0.0 } }"


class Edited:
    """A small template, deployed; more is appended to it, and it is deployed again."""

    def __init__(self, path: Path, cloud: LocalCloud) -> None:
        self.path = path
        self.cloud = cloud

    def save(self, appended: str, head: str = HEAD) -> None:
        self.path.write_text(head + appended)
        self.cloud.redeploy()

    def rows(self) -> int:
        return int(self.cloud.client("dynamodb").scan(TableName="rows")["Count"])


@pytest.fixture
def edited(cloud: LocalCloud, tmp_path: Path) -> Iterator[Edited]:
    path = tmp_path / "template.yaml"
    path.write_text(HEAD)
    before = cloud._parameters, cloud._path
    cloud.redeploy({}, path)
    cloud.client("dynamodb").put_item(TableName="rows", Item={"id": {"S": "1"}})
    yield Edited(path, cloud)
    cloud.redeploy(*before)


@pytest.mark.parametrize(
    ("appended", "said"),
    [
        ("  N:\n    Properties: {}\n", "N: it has no Type"),
        ("  N: hello\n", "N: it is a text, and must be an object"),
        (TYPE.format("SNS::Topic", "hello"), "N: its Properties are a text, and must be an object"),
        (TYPE.format("DynamoDB::Table", "{}"), "N (AWS::DynamoDB::Table): moto"),
        (
            TYPE.format("Lambda::Function", "{}"),
            "N has no Code, which the local cloud looks for; if",
        ),
        (TYPE.format("IAM::Role", "{ Policies: [{ PolicyDocument: { Statement: [hello] } }] }"), "the policy N."),
        (TYPE.format("Scheduler::Schedule", "{ ScheduleExpression: rate(5 minutes) }"), "N has no Target, which"),
        (TYPE.format("SQS::Queue", "{ RedrivePolicy: 5 }"), "(AWS::SQS::Queue): moto, which plays its service here"),
        (
            TYPE.format("SNS::Topic", "{ TopicName: !Select [3, [a]] }"),
            'N: Fn::Select of [3, ["a"]] cannot be',
        ),
        ("Outputs: { X: {} }\n", "the output X has no Value, which the"),
        (
            "  N: { Type: AWS::SNS::Topic, Condition: C }\nConditions: { C: !Not [!Condition C] }\n",
            "N has a form that the local cloud does not read (RecursionError",
        ),
        (
            TYPE.format("Serverless::Application", REPOSITORY),
            "N: the local cloud fetches no application from the Serverless Application Repository",
        ),
        (
            TYPE.format(
                "Serverless::Function", f"{{ CodeUri: ., Runtime: python3.13, Handler: a.b, Events: {EVENT} }}"
            ),
            "N.E (the event Api): RestApiId must be a valid reference",
        ),
    ],
)
def test_it_is_refused_in_one_line_and_what_was_deployed_stays(edited: Edited, appended: str, said: str) -> None:
    with pytest.raises(TemplateError, match=re.escape(said)) as refused:
        edited.save(appended)
    assert "\n" not in str(refused.value)
    assert edited.rows() == 1


def test_a_long_definition_is_refused_in_a_line_and_what_was_deployed_stays(edited: Edited) -> None:
    long = {"Type": "Wait", "Comment": "all is well " * 5_000, "End": True}
    (edited.path.parent / "machine.json").write_text(json.dumps({"StartAt": "Gone", "States": {"Long": long}}))
    with pytest.raises(DefinitionError, match=r"machine\.json: AWS would refuse it: StartAt: there is no") as refused:
        edited.save(
            TYPE.format("Serverless::StateMachine", "{ DefinitionUri: machine.json, Role: 'arn:aws:iam::1:role/r' }")
        )
    assert len(str(refused.value)) < 1_000, str(refused.value)[:2_000]
    assert edited.rows() == 1


def test_a_table_that_is_taken_out_and_put_back_is_there_with_its_rows(edited: Edited) -> None:
    edited.save("  News: { Type: AWS::SNS::Topic }\n", "Resources:\n")
    assert "Rows" not in edited.cloud.resources
    edited.save("")
    assert edited.rows() == 1


TARGET = "{ Arn: 'arn:aws:states:x:1:stateMachine:m' }"
REFUSED = TYPE.format("Scheduler::Schedule", f"{{ ScheduleExpression: every day, Target: {TARGET} }}")
"""What delivers by the new resources refuses it: everything was made by then."""
ECHO = """
  Echo:
    Type: AWS::Serverless::Function
    Properties: { CodeUri: echo/, Handler: app.handler, Runtime: python3.13 }
"""
MACHINE = """
  Machine:
    Type: AWS::Serverless::StateMachine
    Properties: {{ Name: edited, Type: {}, DefinitionUri: {}, Role: 'arn:aws:iam::123456789012:role/r' }}
"""


def test_what_a_refused_deployment_was_made_of_is_followed_too_until_one_succeeds(edited: Edited) -> None:
    before, echo = edited.cloud.sources, edited.path.parent / "echo"
    echo.mkdir()
    with pytest.raises(TemplateError, match=r"^N: "):
        edited.save(ECHO + REFUSED)
    assert edited.cloud.sources == before | {echo}
    edited.save("")
    assert edited.cloud.sources == before


@pytest.mark.parametrize("kind", ["STANDARD", "EXPRESS"])
def test_a_machine_gets_another_definition_or_another_type(edited: Edited, kind: str) -> None:
    for result in (1, 2):
        definition = (
            f"{{StartAt: A, QueryLanguage: JSONata, States: {{A: {{Type: Pass, Output: {result}, End: true}}}}}}"
        )
        (edited.path.parent / f"{result}.asl.yaml").write_text(definition)
    edited.save(MACHINE.format("STANDARD", "1.asl.yaml"))
    edited.save(MACHINE.format(kind, "2.asl.yaml"))
    arn = edited.cloud.resources["Machine"]
    assert edited.cloud.wait(edited.cloud.start_machine(arn, "{}", f"after-{kind}")).output == 2
    assert edited.cloud.client("stepfunctions").describe_state_machine(stateMachineArn=arn)["type"] == kind
