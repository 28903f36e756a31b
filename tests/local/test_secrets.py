"""Secrets that a template has, and who may read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncekit.local import LocalCloud

pytestmark = pytest.mark.ours

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Given: { Type: AWS::SecretsManager::Secret, Properties: { Name: shop/given, SecretString: '{"user": "ann"}' } }
  Made:
    Type: AWS::SecretsManager::Secret
    Properties: { GenerateSecretString: { SecretStringTemplate: '{"user": "bob"}', GenerateStringKey: word } }
  Plain: { Type: AWS::SecretsManager::Secret, Properties: { GenerateSecretString: { PasswordLength: 15 } } }
  Other: { Type: AWS::SecretsManager::Secret, Properties: { SecretString: hush } }
  Reads:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: code/
      Handler: app.handler
      Runtime: python3.13
      Policies:
        - AWSSecretsManagerGetSecretValuePolicy: { SecretArn: !Ref Given }
        - AWSSecretsManagerGetSecretValuePolicy: { SecretArn: !Ref Made }
        - AWSSecretsManagerGetSecretValuePolicy: { SecretArn: !Ref Plain }
      Environment:
        Variables:
          REFERRED: !Sub "{{resolve:secretsmanager:${Made}:SecretString:word}}"
          GIVEN: !Sub "{{resolve:secretsmanager:${Given}:SecretString:user}}"
"""
CODE = """
import os
import boto3
from botocore.exceptions import ClientError

def handler(event, context):
    if event in os.environ:
        return os.environ[event]
    try:
        return boto3.client("secretsmanager").get_secret_value(SecretId=event)["SecretString"]
    except ClientError as error:
        return error.response["Error"]["Code"]
"""


@pytest.fixture
def shop(tmp_path: Path, cloud: LocalCloud) -> Iterator[LocalCloud]:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/app.py").write_text(CODE)
    (tmp_path / "template.yaml").write_text(TEMPLATE)
    before = cloud._parameters, cloud._path
    cloud.redeploy({}, tmp_path / "template.yaml")
    yield cloud
    cloud.redeploy(*before)


def test_a_function_reads_the_secrets_that_its_role_allows_and_a_template_refers_to_the_same(shop: LocalCloud) -> None:
    def got(asked: str) -> str:
        answer = shop.client("lambda").invoke(FunctionName=shop.resources["Reads"], Payload=json.dumps(asked))
        return str(json.loads(answer["Payload"].read()))

    secrets = shop.resources
    assert [got(each) for each in ("shop/given", secrets["Given"])] == ['{"user": "ann"}'] * 2
    assert json.loads(got(secrets["Made"])) == {"user": "bob", "word": got("REFERRED")}
    assert got("GIVEN") == "ann"
    assert got(secrets["Plain"]) == "Plain-generated"
    assert got(secrets["Other"]) == "AccessDeniedException"
    assert got("shop/none") == "ResourceNotFoundException"
