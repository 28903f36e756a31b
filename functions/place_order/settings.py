"""What the deployment tells this function, read from the environment on first use."""

import os
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Settings:
    orders_table: str
    """ORDERS_TABLE: one row is one order."""
    stock_table: str
    """STOCK_TABLE: one row says how many of an article are left."""


@cache
def settings() -> Settings:
    return Settings(orders_table=os.environ["ORDERS_TABLE"], stock_table=os.environ["STOCK_TABLE"])
