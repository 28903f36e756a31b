"""A payment provider, simulated by a table: each row of the ledger is one movement of money.

It stands for a system outside AWS, so nothing here is fenced: the provider only knows the key that it is handed.
Whoever charges twice under two keys has two rows.
"""

from typing import TYPE_CHECKING

from charge import CardDeclined, Charge, KeyReused

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class PaymentProvider:
    """Charges cards; remembers the idempotency key of each charge for good."""

    def __init__(self, dynamodb: "DynamoDBClient", ledger_table: str) -> None:
        self._dynamodb = dynamodb
        self._ledger_table = ledger_table

    def charge(self, charge: Charge, idempotency_key: str) -> str:
        """Moves the money once per key and returns the charge's id. Raises CardDeclined, KeyReused."""
        if charge.card == "declined":
            raise CardDeclined(f"the bank declined {charge.amount} {charge.currency} for order {charge.order_id}")
        charge_id = f"ch_{idempotency_key[:24]}"
        try:
            self._dynamodb.put_item(
                TableName=self._ledger_table,
                Item={
                    "chargeId": {"S": charge_id},
                    "idempotencyKey": {"S": idempotency_key},
                    "orderId": {"S": charge.order_id},
                    "amount": {"N": str(charge.amount)},
                    "currency": {"S": charge.currency},
                },
                ConditionExpression="attribute_not_exists(chargeId)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self._dynamodb.exceptions.ConditionalCheckFailedException as error:
            if not _is(error.response.get("Item"), charge):
                raise KeyReused(f"charge {charge_id} exists with another order, amount or currency") from error
        return charge_id


def _is(row: object, charge: Charge) -> bool:
    return (
        isinstance(row, dict)
        and row.get("orderId") == {"S": charge.order_id}
        and row.get("amount") == {"N": str(charge.amount)}
        and row.get("currency") == {"S": charge.currency}
    )
