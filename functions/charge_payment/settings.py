"""The settings of this function, read from the environment on first use."""

import os
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Settings:
    ledger_table: str
    """LEDGER_TABLE: the table with the payment provider's ledger."""


@cache
def settings() -> Settings:
    return Settings(ledger_table=os.environ["LEDGER_TABLE"])
