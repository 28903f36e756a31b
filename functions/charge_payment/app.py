"""charge-payment: charges a card through a payment provider that has idempotency keys of its own."""

from pathlib import Path

from charge import Charge, charge_card
from once import JSON, Request, operation
from once.clients import client
from provider import PaymentProvider
from settings import settings


@operation(schema=Path(__file__).with_name("schema.json"))
def handler(request: Request) -> JSON:
    provider = PaymentProvider(client("dynamodb"), settings().ledger_table)
    return charge_card(Charge.of(request.payload), provider, request.provider_key("charge"))
