"""Parameters of Systems Manager that a template has, and who may read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oncekit.local import LocalCloud

Ask = Callable[[str, str], Any]
TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Place: { Type: AWS::SSM::Parameter, Properties: { Name: /shop/place, Type: String, Value: VALUE } }
  A: { Type: AWS::SSM::Parameter, Properties: { Name: /shop/deep/a, Type: String, Value: a } }
  B: { Type: AWS::SSM::Parameter, Properties: { Name: /shop/deep/b, Type: String, Value: b } }
  Reads:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: code/
      Handler: app.handler
      Runtime: python3.13
      Policies:
        - Version: "2012-10-17"
          Statement:
            - Effect: Allow
              Action: ssm:GetParameter
              Resource: !Sub arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter/shop/place
Outputs:
  Named: { Value: !Ref Place }
  Has: { Value: !GetAtt Place.Value }
"""
CODE = """
import boto3
from botocore.exceptions import ClientError

def handler(event, context):
    try:
        return boto3.client("ssm").get_parameter(Name=event)["Parameter"]["Value"]
    except ClientError as error:
        return error.response["Error"]["Code"]
"""


@pytest.fixture
def ask(tmp_path: Path, cloud: LocalCloud) -> Iterator[Ask]:
    """The function's answer about a parameter, where the template's has this value."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code/app.py").write_text(CODE)
    before = cloud._parameters, cloud._path

    def asked(value: str, name: str) -> Any:
        (tmp_path / "template.yaml").write_text(TEMPLATE.replace("VALUE", value))
        cloud.redeploy({}, tmp_path / "template.yaml")
        answer = cloud.client("lambda").invoke(FunctionName=cloud.resources["Reads"], Payload=json.dumps(name).encode())
        return json.loads(answer["Payload"].read())

    yield asked
    cloud.redeploy(*before)


@pytest.mark.ours
def test_a_function_reads_a_parameter_as_it_is_deployed_now(ask: Ask, cloud: LocalCloud) -> None:
    assert [ask(value, "/shop/place") for value in ("north", "7")] == ["north", "7"]
    assert (cloud.outputs["Named"], cloud.outputs["Has"]) == ("/shop/place", "7")


@pytest.mark.ours
def test_parameters_of_the_template_are_read_by_their_names_and_their_path(ask: Ask, cloud: LocalCloud) -> None:
    ask("north", "/shop/place")
    parameters = cloud.client("ssm")
    found = parameters.get_parameters(Names=["/shop/place", "/shop/none"])
    assert ([each["Value"] for each in found["Parameters"]], found["InvalidParameters"]) == (["north"], ["/shop/none"])
    for asked, names in (
        ({"Path": "/shop"}, ["/shop/place"]),
        ({"Path": "/shop/", "Recursive": True}, ["/shop/deep/a", "/shop/deep/b", "/shop/place"]),
    ):
        pages = parameters.get_paginator("get_parameters_by_path").paginate(**asked, PaginationConfig={"PageSize": 2})
        assert [each["Name"] for page in pages for each in page["Parameters"]] == names


@pytest.mark.aws(
    "AWS Systems Manager User Guide, Restricting access to specific parameters and paths",
    "scope Allow statements to the smallest set of parameters a principal needs",
)
def test_a_function_reads_only_the_parameter_that_its_role_allows(ask: Ask) -> None:
    assert ask("north", "/shop/other") == "AccessDeniedException"
