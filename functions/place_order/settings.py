"""The settings of this function, read from the environment on first use."""

import os
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Settings:
    orders_table: str
    """ORDERS_TABLE: the table with one row for each order."""
    stock_table: str
    """STOCK_TABLE: the table with the number of pieces left of each article."""


@cache
def settings() -> Settings:
    return Settings(orders_table=os.environ["ORDERS_TABLE"], stock_table=os.environ["STOCK_TABLE"])
