"""A function that is run alone says what it cannot reach, and what to do; on AWS, AWS says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError
from botocore.stub import Stubber
from moto import mock_aws
from once.clients import client
from once.errors import OutOfReachError
from once.settings import settings

CALLS = {
    "charge_payment": ("events/functions/charge-payment.json", "ProviderLedgerTable"),
    "place_order": ("events/functions/place-order.json", "IdempotencyTable"),
    "build_report": ("events/functions/build-report.json", "ResponseBucket"),
    "cache_response": ("events/functions/cache-response.json", "ResponseBucket"),
}
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """The environment that `sam local invoke` gives a function of a stack that is not deployed: no credentials."""
    names = ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", *CREDENTIALS)
    for name in names:
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_SAM_LOCAL": "true",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "LEDGER_TABLE": "ProviderLedgerTable",
        "ORDERS_TABLE": "OrdersTable",
        "STOCK_TABLE": "StockTable",
    }.items():
        monkeypatch.setenv(name, value)
    forget()
    yield monkeypatch
    forget()


def forget() -> None:
    settings.cache_clear()
    client.cache_clear()  # type: ignore[attr-defined]


@pytest.mark.parametrize("folder", CALLS)
def test_a_function_without_credentials_names_what_it_needs(
    alone: pytest.MonkeyPatch, function: Callable[[str], ModuleType], read: Callable[[str], Any], folder: str
) -> None:
    event, target = CALLS[folder]
    with pytest.raises(OutOfReachError, match=rf"^{target} is out of reach: NoCredentialsError: .*once run"):
        function(folder).handler(read(event), None)


@pytest.mark.parametrize("folder", CALLS)
def test_a_function_of_a_stack_that_is_not_deployed_names_what_is_not_there(
    alone: pytest.MonkeyPatch, function: Callable[[str], ModuleType], read: Callable[[str], Any], folder: str
) -> None:
    for name, value in CREDENTIALS.items():
        alone.setenv(name, value)
    event, target = CALLS[folder]
    with (
        mock_aws(),
        pytest.raises(OutOfReachError, match=rf"^{target} is out of reach: .*(NotFound|NoSuchBucket).*--env-vars"),
    ):
        function(folder).handler(read(event), None)


def test_what_business_logic_must_see_is_left_to_it(aws: None, alone: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        alone.setenv(name, value)
    forget()
    table = client("dynamodb")
    with pytest.raises(ClientError, match="ConditionalCheckFailedException"):
        table.put_item(
            TableName="ledger", Item={"chargeId": {"S": "1"}}, ConditionExpression="attribute_exists(chargeId)"
        )


@pytest.mark.parametrize(
    "code",
    ["AccessDenied", "ExpiredTokenException", "UnrecognizedClientException"],
)
def test_credentials_that_are_no_good_are_named(alone: pytest.MonkeyPatch, code: str) -> None:
    dynamodb = client("dynamodb")
    with Stubber(dynamodb) as stubber:
        stubber.add_client_error("get_item", code, "not you")
        with pytest.raises(OutOfReachError, match=rf"^orders is out of reach: {code}: not you; .*--env-vars"):
            dynamodb.get_item(TableName="orders", Key={"orderId": {"S": "1"}})


@pytest.mark.parametrize("said", [None, "false", ""])
def test_on_aws_an_error_stays_what_it_is(alone: pytest.MonkeyPatch, said: str | None) -> None:
    alone.delenv("AWS_SAM_LOCAL")
    if said is not None:
        alone.setenv("AWS_SAM_LOCAL", said)
    forget()
    with pytest.raises(NoCredentialsError):
        client("dynamodb").get_item(TableName="orders", Key={"orderId": {"S": "1"}})
