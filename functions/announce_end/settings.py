"""The settings of this function, read from the environment on first use."""

import os
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Settings:
    bus: str
    """EVENT_BUS: the name of the bus."""
    table: str
    """ONCE_TABLE: the name of Once's table, where a consumer finds the record."""


@cache
def settings() -> Settings:
    return Settings(bus=os.environ["EVENT_BUS"], table=os.environ["ONCE_TABLE"])
