"""Tests as a user writes them, with the kit: run by tests/testing/test_kit.py, in a process of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncekit.testing.kit_cloud import TestCloud

FUNCTIONS = Path(__file__).with_name("functions")


@pytest.fixture
def application(once_cloud: TestCloud) -> TestCloud:
    """The cloud with functions of ours, and a table, a bucket and a queue for them."""
    if "Notes" not in once_cloud.client("dynamodb").list_tables()["TableNames"]:
        once_cloud.client("dynamodb").create_table(
            TableName="Notes",
            KeySchema=[{"AttributeName": "note", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "note", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        once_cloud.client("s3").create_bucket(Bucket="papers")
    environment = {
        "NOTES_TABLE": "Notes",
        "PAPERS": "papers",
        "MAIL_QUEUE": once_cloud.client("sqs").create_queue(QueueName="mail")["QueueUrl"],
        "ORDERS_TABLE": once_cloud.resources["OrdersTable"],
        "STOCK_TABLE": once_cloud.resources["StockTable"],
        "ONCE_TABLE": once_cloud.once.outputs["TableName"],
        "ONCE_BUCKET": once_cloud.once.outputs["ResponseBucketName"],
        "ONCE_RETENTION_DAYS": "30",
    }
    for folder in FUNCTIONS.iterdir():
        once_cloud.add_function(folder.name, folder, environment=environment)
    once_cloud.outside.answer("https://api.provider.example/", {"id": "ch_1"})
    once_cloud.outside.answer("https://mail.example/", {})
    return once_cloud
