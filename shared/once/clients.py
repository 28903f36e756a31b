"""AWS clients, made on first use and then kept, because making one takes longer than a request.

They come from botocore: boto3 would take longer to import and add nothing that a client needs. A function that always
needs a client imports this module at its top, so that botocore is loaded while Lambda starts it, with more CPU.
"""

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, overload

import botocore.session
from botocore.config import Config
from botocore.loaders import Loader

from once.settings import settings

if TYPE_CHECKING:
    from botocore.client import BaseClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client


@overload
def client(service: Literal["dynamodb"]) -> "DynamoDBClient": ...
@overload
def client(service: Literal["s3"]) -> "S3Client": ...
@overload
def client(service: Literal["ssm"]) -> Any: ...
@cache
def client(service: str) -> "BaseClient":
    """The client of a service, with timeouts that leave a function time to say what went wrong."""
    config = Config(
        connect_timeout=2,
        read_timeout=10,
        retries={"mode": "standard", "total_max_attempts": 4},
        tcp_keepalive=True,
    )
    session = botocore.session.get_session()
    session.register_component("data_loader", _models(session.get_config_variable("data_path")))
    return session.create_client(service, region_name=settings().region, config=config)


class _Models(Loader):
    """The descriptions of services: files of botocore, some of them large."""

    def list_available_services(self, type_name: str) -> list[str]:
        """Those that clients are made for. To list all, botocore looks into 400 folders, twice for each client."""
        return ["dynamodb", "s3", "ssm"]


@cache
def _models(more: str | None) -> Loader:
    """One for all clients: what is the same in each is read once. `more` is AWS_DATA_PATH: folders to look in first."""
    folders = os.path.expandvars(more or "").split(os.pathsep)
    return _Models([os.path.expanduser(each) for each in folders if each])  # noqa: PTH111 Path's raises without a home
