"""The account and region of the local cloud, and the names of functions in it."""

from __future__ import annotations

ACCOUNT = "123456789012"
REGION = "us-east-1"


def function_arn(name: str, qualifier: str | None = None) -> str:
    """The ARN of a function, or of an alias or version of it."""
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}" + (f":{qualifier}" if qualifier else "")


def name_and_qualifier(function: str, qualifier: str | None = None) -> tuple[str, str | None]:
    """Name and qualifier out of what Invoke takes: a name, a partial or whole ARN, each with a qualifier or without."""
    *before, rest = function.rpartition("function:")
    name, _, in_name = rest.partition(":")
    return name if before else function, qualifier or in_name or None
