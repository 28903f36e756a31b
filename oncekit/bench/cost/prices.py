"""Prices of us-east-1, on demand, first tier, in dollars per million unless said; and what is assumed of time.

Step Functions, DynamoDB, Lambda, S3, CloudWatch and X-Ray: their pricing pages. How the duration and memory of an
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
PUT, GET = 5.0, 0.4
"""S3's."""
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

EXPRESS_GIGABYTES = 64 / 1024
"""Memory is billed by started 64 MB: 50 MB, the definition and the data of an execution, which are far below 14 MB."""


def express_gigabyte_seconds(ms: int) -> float:
    """What an Express execution is billed: its memory for its time by started 100 ms."""
    return EXPRESS_GIGABYTES * math.ceil(ms / 100) / 10
