"""What the deployment tells this function, read from the environment on first use."""

import os
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Settings:
    response_bucket: str
    """RESPONSE_BUCKET: where results are kept until some days after their record expires."""


@cache
def settings() -> Settings:
    return Settings(response_bucket=os.environ["RESPONSE_BUCKET"])
