"""Orders and stock in DynamoDB: an order and what it takes off the shelves are written together or not at all."""

from typing import TYPE_CHECKING, cast

from once import JSON
from order import FIRST_DELIVERY, Order, OutOfStock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef


class OrderBook:
    """Places orders. One request makes one order: the order's id comes from the request's."""

    def __init__(self, dynamodb: "DynamoDBClient", orders_table: str, stock_table: str) -> None:
        self._dynamodb = dynamodb
        self._orders_table = orders_table
        self._stock_table = stock_table

    def place(self, order: Order, request_id: str) -> JSON:
        """Places the order unless an earlier attempt of the same request has; returns its receipt either way.

        Raises OutOfStock, naming the articles. A conflict with another order at the same moment passes as botocore's
        TransactionCanceledException: nothing was written, and the next attempt will do.
        """
        writes = self.writes(order, request_id)
        try:
            self._dynamodb.transact_write_items(TransactItems=writes)
        except self._dynamodb.exceptions.TransactionCanceledException as error:
            reasons = cast("list[dict[str, str]]", error.response.get("CancellationReasons", []))
            refused = [reason.get("Code") == "ConditionalCheckFailed" for reason in reasons]
            if refused[:1] == [True]:
                return order.receipt()
            short = [sku for sku, refusal in zip(order.quantities, refused[1:], strict=False) if refusal]
            if short:
                raise OutOfStock(f"not enough left of {', '.join(short)}") from error
            raise
        return order.receipt()

    def writes(self, order: Order, request_id: str) -> "list[TransactWriteItemTypeDef]":
        """The order's row first, then one stock row for each article, in the order's own sequence."""
        return [self._order_row(order, request_id), *(self._taking(*line) for line in order.quantities.items())]

    def _order_row(self, order: Order, request_id: str) -> "TransactWriteItemTypeDef":
        return {
            "Put": {
                "TableName": self._orders_table,
                "Item": {
                    "orderId": {"S": order.order_id},
                    "requestId": {"S": request_id},
                    "customer": {"S": order.customer},
                    "items": {"M": {sku: {"N": str(quantity)} for sku, quantity in order.quantities.items()}},
                },
                # The id is the request's own, so a row that is there is this request's.
                "ConditionExpression": "attribute_not_exists(orderId)",
            }
        }

    def _taking(self, sku: str, quantity: int) -> "TransactWriteItemTypeDef":
        enough_left = "available >= :quantity"
        if quantity <= FIRST_DELIVERY:
            enough_left += " OR attribute_not_exists(sku)"
        return {
            "Update": {
                "TableName": self._stock_table,
                "Key": {"sku": {"S": sku}},
                "UpdateExpression": "SET available = if_not_exists(available, :delivery) - :quantity",
                "ConditionExpression": enough_left,
                "ExpressionAttributeValues": {
                    ":quantity": {"N": str(quantity)},
                    ":delivery": {"N": str(FIRST_DELIVERY)},
                },
            }
        }
