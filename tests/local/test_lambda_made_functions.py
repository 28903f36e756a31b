"""Functions that a client makes through the Lambda API: they run as business functions, until they are deleted."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from oncekit.local import LocalCloud

pytestmark = pytest.mark.ours

CODE = """
import os
def handler(event, context):
    return {"saw": os.environ["SEEN"], "n": event["payload"]["n"], "path": os.environ["PYTHONPATH"]}
"""
NAME = "once_op-made"
REQUEST = {"operation": "made", "idempotencyKey": "k", "payload": {"n": 7}}


def zipped(code: str = CODE) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(zipfile.ZipInfo("app.py"), code)  # without the time: the same bytes for the same code
    return content.getvalue()


def layers(cloud: LocalCloud) -> list[str]:
    """SAM gives a layer a name that is different for each version."""
    return [ref for logical_id, ref in cloud.resources.items() if logical_id.startswith("OnceLayer")]


def make(cloud: LocalCloud, **more: Any) -> dict[str, Any]:
    given = {
        "FunctionName": NAME,
        "Role": "arn:aws:iam::123456789012:role/any",
        "Runtime": "python3.13",
        "Handler": "app.handler",
        "Code": {"ZipFile": zipped()},
        "Environment": {"Variables": {"SEEN": "this"}},
        "Layers": layers(cloud),
        "Publish": True,
        **more,
    }
    made: dict[str, Any] = cloud.client("lambda").create_function(**given)
    return made


def test_function_that_a_client_made_runs_with_its_layer_until_it_is_deleted(cloud: LocalCloud) -> None:
    made = make(cloud)
    functions = cloud.client("lambda")
    functions.get_waiter("published_version_active").wait(FunctionName=NAME, Qualifier=made["Version"])
    alias = functions.create_alias(FunctionName=NAME, Name="live", FunctionVersion=made["Version"])
    assert alias["AliasArn"].endswith(f":{NAME}:live")
    execution = cloud.run(REQUEST)
    answer = json.loads(execution.output["result"])
    assert (answer["saw"], answer["n"]) == ("this", 7)
    assert [Path(each).name for each in answer["path"].split(os.pathsep)][1:] == ["shared"]
    functions.delete_function(FunctionName=NAME)
    for gone in (functions.delete_function, functions.get_function_configuration):
        with pytest.raises(functions.exceptions.ResourceNotFoundException):
            gone(FunctionName=NAME)
    assert cloud.run({**REQUEST, "idempotencyKey": "other"}).error == "NeedsAttention"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"FunctionName": "once_op-place-order"}, "ResourceConflictException"),
        ({"Layers": ["arn:aws:lambda:us-east-1:123456789012:layer:none:1"]}, "InvalidParameterValueException"),
        ({"Code": {"S3Bucket": "b", "S3Key": "k"}}, "InvalidParameterValueException"),
    ],
)
def test_function_that_cannot_be_made_is_refused(cloud: LocalCloud, more: dict[str, Any], code: str) -> None:
    with pytest.raises(ClientError) as refused:
        make(cloud, **more)
    assert refused.value.response["Error"]["Code"] == code
