"""Requests of REST protocols are read as botocore writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.serialize import create_serializer

from oncekit.local.endpoint.rest_requests import RestRequest, loader, operation_of

pytestmark = pytest.mark.ours

BY_HOST = {"ListDirectoryBuckets"}
"""Only the host tells it from ListBuckets."""


def model_of(service: str) -> ServiceModel:
    return ServiceModel(loader().load_service_model(service, "service-2"), service)


def written(model: OperationModel, parameters: Mapping[str, Any]) -> RestRequest:
    """As botocore's client sends it."""
    sent = create_serializer(model.service_model.protocol, False).serialize_to_request(parameters, model)
    path, _, query = sent["url_path"].partition("?")
    query = "&".join(filter(None, (query, urlencode(sent["query_string"], doseq=True))))
    body = sent["body"] or b""
    headers = {name.lower(): str(value) for name, value in sent["headers"].items()}
    return RestRequest(sent["method"], path, query, headers, body.encode() if isinstance(body, str) else body)


def least(shape: Shape, name: str = "") -> Any:
    """A value with no more in it than is required."""
    if isinstance(shape, StructureShape):
        return {each: least(shape.members[each], each) for each in shape.required_members}
    if isinstance(shape, ListShape):
        return [least(shape.member)]
    if isinstance(shape, MapShape):
        return {"key": least(shape.value)}
    plain: Mapping[str, Any] = {"integer": 1, "long": 1, "boolean": True, "blob": b"{}", "timestamp": 0, "float": 1.0}
    return plain.get(shape.type_name, f"a-{name}")


@pytest.mark.parametrize("service", ["s3", "lambda", "scheduler", "pipes", "apigateway", "route53"])
def test_each_operation_is_known_by_its_request(service: str) -> None:
    model = model_of(service)
    read = {}
    for name in model.operation_names:
        operation = model.operation_model(name)
        if not operation.deprecated and name not in BY_HOST:
            given = least(operation.input_shape) if operation.input_shape else {}
            read[name] = (operation_of(service, written(operation, given)) or ("none",))[0]
    assert {name: found for name, found in read.items() if name != found} == {}


ARN = "arn:aws:lambda:us-east-1:123456789012:function:f"
CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("s3", "PutObject", {"Bucket": "b", "Key": "k/x y/", "IfNoneMatch": "*"}),
    ("s3", "CopyObject", {"Bucket": "b", "Key": "k", "CopySource": "a/x"}),
    ("s3", "DeleteObjects", {"Bucket": "b", "Delete": {"Objects": [{"Key": "k"}, {"Key": "l"}]}}),
    ("lambda", "Invoke", {"FunctionName": ARN, "Qualifier": "live", "InvocationType": "Event"}),
    ("lambda", "CreateAlias", {"FunctionName": "f", "Name": "live", "FunctionVersion": "1"}),
    ("scheduler", "CreateSchedule", {"Name": "n", "Target": {"Arn": ARN, "RoleArn": ARN}}),
]


@pytest.mark.parametrize(("service", "name", "parameters"), CALLS, ids=[each[1] for each in CALLS])
def test_parameters_are_read_as_they_were_given(service: str, name: str, parameters: dict[str, Any]) -> None:
    request = written(model_of(service).operation_model(name), parameters)
    found = operation_of(service, request)
    assert found is not None and {**found[1], **parameters} == found[1]


def test_what_no_operation_looks_like_is_none() -> None:
    assert operation_of("lambda", RestRequest("GET", "/nothing", "", {}, b"")) is None


def test_a_body_that_cannot_be_read_leaves_the_other_parameters() -> None:
    request = RestRequest("POST", "/b", "delete", {}, b"<Delete")
    assert operation_of("s3", request) == ("DeleteObjects", {"Bucket": "b"})
