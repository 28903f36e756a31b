"""Makes the call that its event tells, and tells what came of it."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.exceptions import ClientError


def handler(event: dict[str, Any], _context: object) -> Any:
    method = getattr(boto3.client(event["service"]), event["method"])
    try:
        method(**event["parameters"])
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return {**error.response["Error"], "status": status}
    return {"Code": "OK"}
