"""CloudFormation's intrinsic functions, as its documentation describes them."""

from __future__ import annotations

from typing import Any

import pytest

from oncekit.local.templates.intrinsics import NO_VALUE, Resolver, TemplateError

pytestmark = pytest.mark.ours


@pytest.fixture
def resolver() -> Resolver:
    return Resolver(
        parameters={"Stage": "prod", "Days": "7", "Names": "one, two", "Switch": "true", "AWS::Region": "us-east-1"},
        mappings={"Expiration": {"7": {"Days": 14}}},
        conditions={
            "IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
            "IsDev": {"Fn::Not": [{"Condition": "IsProd"}]},
        },
        resource=lambda name: f"ref-of-{name}",
        attribute=lambda name, attribute: f"{attribute}-of-{name}",
    )


@pytest.mark.aws(
    "CloudFormation User Guide, Intrinsic functions",
    "Use intrinsic functions in your templates to assign values to properties that are not available until",
)
@pytest.mark.parametrize(
    ("node", "value"),
    [
        ({"Ref": "Stage"}, "prod"),
        ({"Ref": "Table"}, "ref-of-Table"),
        ({"Fn::GetAtt": ["Table", "Arn"]}, "Arn-of-Table"),
        ({"Fn::GetAtt": "Table.Stream.Arn"}, "Stream.Arn-of-Table"),
        (
            {"Fn::Sub": "${Stage}/${Table}/${Table.Arn}/${AWS::Region}/${!Literal}"},
            "prod/ref-of-Table/Arn-of-Table/us-east-1/${Literal}",
        ),
        ({"Fn::Sub": ["${Own}", {"Own": {"Ref": "Days"}}]}, "7"),
        ({"Fn::If": ["IsProd", "Retain", "Delete"]}, "Retain"),
        ({"Fn::If": ["IsDev", "Retain", "Delete"]}, "Delete"),
        ({"Fn::Equals": [{"Ref": "Days"}, 7]}, True),
        ({"Fn::Sub": ["${Own}", {"Own": True}]}, "true"),
        ({"Fn::And": [{"Condition": "IsProd"}, {"Condition": "IsDev"}]}, False),
        ({"Fn::Or": [{"Condition": "IsProd"}, {"Condition": "IsDev"}]}, True),
        ({"Fn::FindInMap": ["Expiration", {"Ref": "Days"}, "Days"]}, 14),
        ({"Fn::Join": ["|", {"Ref": "Names"}]}, "one|two"),
        ({"Fn::Select": [1, {"Fn::Split": [",", "a,b,c"]}]}, "b"),
        ({"Fn::Base64": "once"}, "b25jZQ=="),
        ({"Fn::GetAZs": ""}, ["us-east-1a", "us-east-1b", "us-east-1c"]),
        ({"Fn::Select": [1, {"Fn::GetAZs": {"Ref": "AWS::Region"}}]}, "us-east-1b"),
        ({"Fn::Cidr": ["10.0.0.0/16", 2, 8]}, ["10.0.0.0/24", "10.0.1.0/24"]),
        ({"Fn::Length": {"Ref": "Names"}}, 2),
        ({"Fn::ToJsonString": {"of": [{"Ref": "Days"}]}}, '{"of": ["7"]}'),
        ({"Fn::FindInMap": ["Expiration", "8", "Days", {"DefaultValue": {"Ref": "Days"}}]}, "7"),
        ({"Name": {"Ref": "AWS::NoValue"}, "Other": 1}, {"Other": 1}),
        ([{"Ref": "AWS::NoValue"}, 1], [1]),
        ({"Ref": "AWS::NoValue"}, NO_VALUE),
        (
            {"Condition": {"Bool": {"aws:SecureTransport": "false"}}},
            {"Condition": {"Bool": {"aws:SecureTransport": "false"}}},
        ),
    ],
)
def test_function_resolves_as_documented(resolver: Resolver, node: Any, value: Any) -> None:
    assert resolver.resolve(node) == value


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"Fn::ImportValue": "x"}, "Fn::ImportValue"),
        ({"Fn::If": ["Unknown", 1, 2]}, "Unknown"),
    ],
)
def test_what_cannot_be_resolved_is_named(resolver: Resolver, node: Any, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        resolver.resolve(node)
