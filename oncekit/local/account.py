"""Which account and region the local cloud is."""

from __future__ import annotations

ACCOUNT = "123456789012"
REGION = "us-east-1"
