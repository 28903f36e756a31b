"""Prices of us-east-1, on demand, first tier, in dollars per million unless said; and what is assumed of time.

Step Functions, DynamoDB, Lambda, S3, SQS, CloudWatch and X-Ray: their pricing pages. How the duration and memory of an
Express execution are billed: aws.amazon.com/step-functions/pricing, "Express Workflows" and examples 3 and 4.
"""

from __future__ import annotations

import math

WRITE, READ = 0.625, 0.125
"""DynamoDB's request units."""
TRANSITION = 25.0
"""Of a Standard execution; its start is one of them."""
EXPRESS_START = 1.0
EXPRESS_GIGABYTE_SECOND = 0.06 / 3600
"""Dollars; the page says $0.06 a GB-hour."""
INVOCATION = 0.20
LAMBDA_GIGABYTE_SECOND = 0.0000133334
"""Dollars; arm64, the template's default."""
PUT, GET = 5.0, 0.4
"""S3's."""
MESSAGE = 0.4
"""SQS."""
API_CALL = 3.5
"""A request to a REST API of API Gateway, the first 333 million of a month (aws.amazon.com/api-gateway/pricing)."""
SENT_GIGABYTE = 0.09
"""Dollars for 10^9 bytes to the internet, the first 10 TB of a month (aws.amazon.com/ec2/pricing/on-demand)."""
LOGGED_GIGABYTE = 0.5
"""Dollars for 10^9 bytes that CloudWatch Logs takes in, with 26 bytes for each line, as PutLogEvents counts them."""
OF_A_LINE = 26
TRACE = 5.0
SAMPLED = 0.05
"""X-Ray's default rule traces the first request of each second and 5 % of the others; the former is left out."""

LOGIC_MS = 100
"""What business logic is taken to need."""
STATE_MS, CALL_MS = 10, 10
"""What a state, and a call of a service beside it, are taken to need: assumed, and more than is usual."""
WAIT_MS = 3000
"""What a wait is taken to last: the mean of the first back-off, by default between 2 and 4 seconds."""

_MEGABYTE = 1_000_000
_CHUNK_MEGABYTES = 64
_WORKFLOW_MEGABYTES = 50


def of_a_second() -> float:
    """What another second of an Express execution costs, in dollars a million: 64 MB of it."""
    return _CHUNK_MEGABYTES / 1024 * EXPRESS_GIGABYTE_SECOND * 1e6


def express_gigabyte_seconds(ms: int, definition_bytes: int, data_bytes: int) -> float:
    """What an Express execution is billed: its time by started 100 ms, its memory by started 64 MB."""
    megabytes = _WORKFLOW_MEGABYTES + (definition_bytes + data_bytes) / _MEGABYTE
    billed = math.ceil(megabytes / _CHUNK_MEGABYTES) * _CHUNK_MEGABYTES
    return billed / 1024 * math.ceil(ms / 100) / 10
