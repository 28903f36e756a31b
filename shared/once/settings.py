"""The settings of the deployment, read from the environment on first use."""

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
