"""Every way in which the library has an effect once; the result says what this attempt heard."""

from __future__ import annotations

import os

from once import JSON, Request, operation
from once.step import Step


@operation()
def handler(request: Request) -> JSON:
    orders, stock = os.environ["ORDERS_TABLE"], os.environ["STOCK_TABLE"]

    def write(step: Step) -> JSON:
        step.update(stock, {"sku": "by step"}, "ADD sold :one", {":one": 1})
        return "shipped"

    return {
        "providerKey": request.provider_key("charge"),
        "created": request.put_once(orders, {"orderId": "o-1", "fence": request.lock.fence}),
        "applied": request.apply_once(stock, {"sku": "by update"}, "ADD sold :one", {":one": 1}),
        "step": request.step("ship", write),
    }
