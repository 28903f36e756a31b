"""The account and region of the local cloud."""

from __future__ import annotations

ACCOUNT = "123456789012"
REGION = "us-east-1"
