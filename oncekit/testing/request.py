"""A Request and its lock for a unit test: business logic runs in the test's own process, without a cloud.

DynamoDB and S3 are moto's, in this process. The lock is there, held by this attempt: fenced steps work, and so does
whatever the test does to the lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

from oncekit.local.account import ACCOUNT, REGION

if TYPE_CHECKING:
    from once import Request

TABLE, BUCKET = "IdempotencyTable", "responses"
OWNER = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:Operation:test"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
}
LED_ELSEWHERE = ("AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "AWS_PROFILE")


class Requests:
    """Call it for a Request. While it is open, boto3 reaches moto, with empty tables."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._tables: list[str] = []

    def __enter__(self) -> Self:
        from moto import mock_aws

        with ExitStack() as stack:
            stack.enter_context(_environment())
            stack.enter_context(mock_aws())
            stack.callback(_forget_clients)
            _forget_clients()
            self._stack = stack.pop_all()
        self.table(TABLE, "id")
        self._client("s3").create_bucket(Bucket=BUCKET)
        return self

    def __exit__(self, *_: object) -> None:
        # The mock may stand inside that of a cloud, which outlives it.
        for table in self._tables:
            self._client("dynamodb").delete_table(TableName=table)
        self._stack.close()

    def __call__(
        self,
        operation: str,
        payload: Mapping[str, Any],
        *,
        key: str = "key-1",
        tenant: str = "default",
        attempt: int = 1,
    ) -> Request:
        """A request whose lock this attempt holds. A higher `attempt` takes the lock over; finished steps stay."""
        from once import Request

        return Request.from_event(self.event(operation, payload, key=key, tenant=tenant, attempt=attempt))

    def event(
        self,
        operation: str,
        payload: Mapping[str, Any],
        *,
        key: str = "key-1",
        tenant: str = "default",
        attempt: int = 1,
    ) -> dict[str, Any]:
        """The event of such a request, for a handler under `@operation`."""
        id = f"{tenant}#{operation}#{key}"
        self._lock(id, attempt)
        lock = {"table": TABLE, "id": id, "owner": OWNER, "fence": attempt, "leaseExpiresAt": 4_000_000_000}
        return {
            "operation": operation,
            "tenant": tenant,
            "idempotencyKey": key,
            "payload": dict(payload),
            "attempt": attempt,
            "retentionDays": 30,
            "responseBucket": BUCKET,
            "replyToken": "token",
            "lock": lock,
        }

    def take_over(self, request: Request) -> None:
        """Another owner takes the lock of the request: from now on its steps raise LockLostError."""
        self._lock(request.id, request.lock.fence + 1, f"{OWNER}-other")

    # ---- tables ----

    def table(self, name: str, key: str, sort_key: str = "") -> None:
        """An empty table with a text as its key. The test gives its name to the function, as the template does."""
        keys = {key: "HASH", **({sort_key: "RANGE"} if sort_key else {})}
        self._client("dynamodb").create_table(
            TableName=name,
            KeySchema=[{"AttributeName": each, "KeyType": kind} for each, kind in keys.items()],
            AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in keys],
            BillingMode="PAY_PER_REQUEST",
        )
        self._tables.append(name)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All items of a table as plain Python values."""
        from oncekit.local.items import plain_item

        pages = self._client("dynamodb").get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return [plain_item(item) for page in pages for item in page["Items"]]

    def _lock(self, id: str, fence: int, owner: str = OWNER) -> None:
        self._client("dynamodb").update_item(
            TableName=TABLE,
            Key={"id": {"S": id}},
            UpdateExpression="SET #owner = :owner, fence = :fence, #status = :status",
            ExpressionAttributeNames={"#owner": "owner", "#status": "status"},
            ExpressionAttributeValues={
                ":owner": {"S": owner},
                ":fence": {"N": str(fence)},
                ":status": {"S": "IN_PROGRESS"},
            },
        )

    @staticmethod
    def _client(service: str) -> Any:
        from once import clients

        return clients.client(service)  # type: ignore[call-overload]  # the service is data here


@contextmanager
def _environment() -> Iterator[None]:
    import pytest

    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        for name in LED_ELSEWHERE:
            patch.delenv(name, raising=False)
        yield


def _forget_clients() -> None:
    from once import clients, settings

    clients.client.cache_clear()  # type: ignore[attr-defined]
    settings.settings.cache_clear()
