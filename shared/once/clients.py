"""AWS clients, made on first use and then kept: making one costs more than a request does."""

from functools import cache
from typing import TYPE_CHECKING, Literal, overload

from once.settings import settings

if TYPE_CHECKING:
    from botocore.client import BaseClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client


@overload
def client(service: Literal["dynamodb"]) -> "DynamoDBClient": ...
@overload
def client(service: Literal["s3"]) -> "S3Client": ...
@cache
def client(service: str) -> "BaseClient":
    """The client of a service, with timeouts that leave a function time to say what went wrong.

    It comes from botocore itself: boto3 would add its import and nothing that a client needs.
    """
    import botocore.session
    from botocore.config import Config

    config = Config(
        connect_timeout=2,
        read_timeout=10,
        retries={"mode": "standard", "max_attempts": 4},
        tcp_keepalive=True,
    )
    return botocore.session.get_session().create_client(service, region_name=settings().region, config=config)
