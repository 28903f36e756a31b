"""moto finds the members of an answer as it would by itself, though the names to look for are worked out once."""

from __future__ import annotations

from typing import Any

import pytest
from moto.core.serialize import JSONSerializer, QuerySerializer, XFormedAttributePicker
from moto.core.utils import get_service_model

from oncekit.local import LocalCloud
from oncekit.local.quick_calls import quick_calls

pytestmark = pytest.mark.ours


class Table:
    """A model whose class begins the name of the member."""

    name = "by its class"


class Named:
    """A model that says itself where the member is."""

    label = "by its own word"

    class Meta:
        serialization_aliases = {"TableName": "label"}  # noqa: RUF012 as in moto


@pytest.mark.parametrize("turned", [False, True])
def test_the_same_member_is_found_in_each_kind_of_model_whichever_comes_first(cloud: LocalCloud, turned: bool) -> None:
    models: list[tuple[Any, Any]] = [
        ({"TableName": "as it is"}, "as it is"),
        ({"table_name": "in python's way"}, "in python's way"),
        (Table(), "by its class"),
        (Named(), "by its own word"),
        ({}, None),
    ]
    service = get_service_model("dynamodb")
    serializer = JSONSerializer(service.operation_model("DescribeTable"), value_picker=XFormedAttributePicker())
    with quick_calls():
        for model, found in reversed(models) if turned else models:
            assert serializer.get_value(model, "TableName", service.shape_for("TableName")) == found


def test_an_answer_is_changed_at_the_paths_at_which_its_service_changes_it(cloud: LocalCloud) -> None:
    operation = get_service_model("cloudformation").operation_model("DescribeStacks")
    picker = XFormedAttributePicker(response_transformers={"Outputs.Output.OutputValue": str.upper})
    output = {"OutputKey": "same", "OutputValue": "other"}
    stack = {"StackName": "s", "Outputs": [output], "Parameters": [{"ParameterKey": "k", "ParameterValue": "same"}]}
    with quick_calls():
        told = QuerySerializer(operation, value_picker=picker).serialize({"Stacks": [stack]})["body"]
    assert "<OutputKey>same</OutputKey><OutputValue>OTHER</OutputValue>" in told
    assert "<ParameterValue>same</ParameterValue>" in told
