"""What the local cloud leaves out to start quickly is missed by nobody."""

from __future__ import annotations

import boto3
import pytest

from oncekit.local import LocalCloud

pytestmark = pytest.mark.ours


def test_another_region_can_be_called_and_has_nothing(cloud: LocalCloud) -> None:
    there = boto3.client("dynamodb", region_name="eu-central-1", endpoint_url=cloud.endpoint_url)
    assert there.list_tables()["TableNames"] == []
    assert cloud.client("dynamodb").list_tables()["TableNames"]


def test_number_of_items_is_what_a_scan_counts(cloud: LocalCloud) -> None:
    table = cloud.outputs["TableName"]
    for key in ("a", "b"):
        cloud.client("dynamodb").put_item(TableName=table, Item={"id": {"S": key}})
    assert cloud.item_counts()["IdempotencyTable"] == 2 == cloud.client("dynamodb").scan(TableName=table)["Count"]
