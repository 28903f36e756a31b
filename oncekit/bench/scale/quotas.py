"""AWS's default quotas, of an account in a region. All but those of DynamoDB's partitions are raised on request.

- Step Functions developer guide, "Step Functions service quotas": StartExecution, StateTransition, DescribeExecution,
  GetExecutionHistory, by two groups of regions; Express has no quota on transitions. New accounts have less.
- DynamoDB developer guide, "on-demand capacity mode" (a new table takes 4,000 write and 12,000 read units a second, and
  grows to twice its peak), "Quotas" (40,000 of each for a table), "Best practices for designing partition keys" (1,000
  write and 3,000 read units a second for a partition, and so for an item or a key of an index).
- Lambda developer guide, "Lambda scaling behavior" and "quotas": 1,000 concurrent executions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FULL_STARTS, FAST_STARTS = "Standard starts", "Express starts"
TRANSITIONS, DESCRIBES, HISTORIES = "transitions", "DescribeExecution", "GetExecutionHistory"
WRITES, READS, INDEX_WRITES = "table writes", "table reads", "index writes"
ITEM_WRITES, ITEM_READS = "writes of one item", "reads of one item"
CONCURRENCY = "Lambda concurrency"
SWEEP = "records of a sweep"
"""Not AWS's, but `RecoveryRounds`."""


@dataclass(frozen=True)
class Quota:
    """A token bucket; `refill` is by second. A quota on what is held at the same time refills as it is given back."""

    size: float
    refill: float


Quotas = Mapping[str, Quota]

LARGE, OTHER = "us-east-1, us-west-2, eu-west-1", "other regions"
_BY_REGION: Mapping[str, Quotas] = {
    LARGE: {FULL_STARTS: Quota(1300, 300), TRANSITIONS: Quota(5000, 5000), DESCRIBES: Quota(300, 15)},
    OTHER: {FULL_STARTS: Quota(800, 150), TRANSITIONS: Quota(800, 800), DESCRIBES: Quota(250, 10)},
}
_ITEM = {ITEM_WRITES: Quota(1000, 1000), ITEM_READS: Quota(3000, 3000)}
_EVERYWHERE: Quotas = {
    FAST_STARTS: Quota(6000, 6000),
    HISTORIES: Quota(400, 20),
    CONCURRENCY: Quota(1000, 0),
    **_ITEM,
}
NEW, GROWN = "a new table", "a table that has grown"
SHARDS = 16
"""Keys of the index `open-operations` for records in progress."""
_TABLES: Mapping[str, Quotas] = {
    NEW: {WRITES: Quota(4000, 4000), READS: Quota(12_000, 12_000), INDEX_WRITES: Quota(4000, 4000)},
    GROWN: {
        WRITES: Quota(40_000, 40_000),
        READS: Quota(40_000, 40_000),
        INDEX_WRITES: Quota(SHARDS * 1000, SHARDS * 1000),
    },
}


def quotas(region: str, table: str) -> Quotas:
    """All quotas, by name."""
    return {**_BY_REGION[region], **_EVERYWHERE, **_TABLES[table]}
