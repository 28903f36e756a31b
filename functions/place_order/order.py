"""An order, and the error when it cannot be placed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from once import JSON, PermanentError

FIRST_DELIVERY = 100
"""Pieces of an article in stock before its first order, so that the example runs on empty tables."""


class OutOfStock(PermanentError):
    """There are fewer pieces left than the order needs; nothing was ordered."""


@dataclass(frozen=True, slots=True)
class Order:
    order_id: str
    customer: str
    quantities: Mapping[str, int]
    """Pieces by article (sku); an article that was named twice is there once, with the sum."""

    @classmethod
    def of(cls, payload: Mapping[str, Any], key: str) -> "Order":
        """The order in a payload that schema.json has accepted; `key` is the same in all attempts at it."""
        quantities: Counter[str] = Counter()
        for item in payload["items"]:
            quantities[item["sku"]] += int(item["quantity"])
        return cls(order_id=f"ord_{key[:24]}", customer=payload["customer"], quantities=dict(quantities))

    def receipt(self) -> JSON:
        """The receipt for the customer."""
        return {
            "orderId": self.order_id,
            "customer": self.customer,
            "items": [{"sku": sku, "quantity": quantity} for sku, quantity in self.quantities.items()],
            "status": "placed",
        }
