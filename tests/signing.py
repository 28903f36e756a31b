"""What a client of the local cloud signs with, out of the environment that the cloud gives."""

from __future__ import annotations

from collections.abc import Mapping


def keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Arguments of `boto3.client`: it takes an environment's keys once, and a process may see several clouds."""
    return {
        "aws_access_key_id": environment["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": environment["AWS_SECRET_ACCESS_KEY"],
        "region_name": environment["AWS_REGION"],
    }
