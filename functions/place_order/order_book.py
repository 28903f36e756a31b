"""Orders and stock in DynamoDB: an order and the change of the stock are written together, or not at all."""

from functools import partial

from once import JSON, ConditionFailed, Request
from once.conditions import Attr
from once.step import Step
from order import FIRST_DELIVERY, Order, OutOfStock


class OrderBook:
    """Places orders. One request makes one order: it is a step of that request."""

    def __init__(self, orders_table: str, stock_table: str) -> None:
        self._orders_table = orders_table
        self._stock_table = stock_table

    def place(self, order: Order, request: Request) -> JSON:
        """Places the order unless an earlier attempt of the request has; returns its receipt either way.

        Raises OutOfStock, naming the articles.
        """
        try:
            return request.step("place", partial(self._write, order, request.id))
        except ConditionFailed as failed:
            short = [str(refusal.target["sku"]) for refusal in failed.refusals if refusal.table == self._stock_table]
            if not short:
                raise
            raise OutOfStock(f"not enough left of {', '.join(short)}") from failed

    def _write(self, order: Order, request_id: str, step: Step) -> JSON:
        row = {
            "orderId": order.order_id,
            "requestId": request_id,
            "customer": order.customer,
            "items": order.quantities,
        }
        step.put(self._orders_table, row, condition=Attr("orderId").not_exists())
        for sku, quantity in order.quantities.items():
            enough_left = Attr("available").gte(quantity)
            if quantity <= FIRST_DELIVERY:
                enough_left = enough_left | Attr("sku").not_exists()
            step.update(
                self._stock_table,
                {"sku": sku},
                "SET available = if_not_exists(available, :delivery) - :quantity",
                {":quantity": quantity, ":delivery": FIRST_DELIVERY},
                condition=enough_left,
            )
        return order.receipt()
