"""The settings of the deployment, read from the environment on first use."""

import json
import os
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Settings:
    """See the environment of the functions in template.yaml."""

    region: str | None
    """AWS_REGION; None leaves it to the AWS configuration."""
    metrics_namespace: str
    """POWERTOOLS_METRICS_NAMESPACE."""
    stack: str | None
    """ONCE_STACK: the stack, as a dimension of metrics; two stacks of an account may have the same operations."""


@cache
def settings() -> Settings:
    """The settings of this process. `settings.cache_clear()` makes the next call read the environment again."""
    return Settings(
        region=os.environ.get("AWS_REGION") or None,
        metrics_namespace=os.environ.get("POWERTOOLS_METRICS_NAMESPACE") or "Once",
        stack=os.environ.get("ONCE_STACK") or None,
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a function of the direct lane finds records, large requests and answers: Once's stack."""

    table: str
    bucket: str
    retention_days: int


def place() -> Place:
    """Of this process: from ONCE_TABLE, ONCE_BUCKET and ONCE_RETENTION_DAYS, or the SSM parameter ONCE_PARAMETER."""
    if table := os.environ.get("ONCE_TABLE"):
        return Place(table, os.environ["ONCE_BUCKET"], int(os.environ["ONCE_RETENTION_DAYS"]))
    from aws_lambda_powertools.utilities import parameters

    told = json.loads(parameters.get_parameter(os.environ["ONCE_PARAMETER"], max_age=3600))
    return Place(told["table"], told["bucket"], told["retentionDays"])
