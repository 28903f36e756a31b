"""Charging a card: the amount, the provider's answer, and the errors that end the operation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from once import JSON, PermanentError


class CardDeclined(PermanentError):
    """The card's bank declined; another attempt would not help."""


class KeyReused(PermanentError):
    """The provider has charged something else under this key; nothing was charged now."""


@dataclass(frozen=True, slots=True)
class Charge:
    order_id: str
    amount: int
    """In the smallest unit of the currency, e.g. cents."""
    currency: str
    card: str
    """The provider's token for the card; never a card number."""

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "Charge":
        """The charge in a payload that schema.json has accepted."""
        return cls(
            order_id=payload["orderId"],
            amount=int(payload["amount"]),
            currency=payload["currency"],
            card=payload.get("card", "on-file"),
        )


class Provider(Protocol):
    """A payment provider that remembers idempotency keys, as Stripe and Adyen do."""

    def charge(self, charge: Charge, idempotency_key: str) -> str:
        """Charges once per key and returns the charge's id. Raises CardDeclined, KeyReused."""


def charge_card(charge: Charge, provider: Provider, idempotency_key: str) -> JSON:
    """Charges the card. The same key gives the same charge, however often it is tried."""
    charge_id = provider.charge(charge, idempotency_key)
    return {
        "chargeId": charge_id,
        "orderId": charge.order_id,
        "amount": charge.amount,
        "currency": charge.currency,
        "status": "succeeded",
    }
