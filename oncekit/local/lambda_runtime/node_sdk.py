"""What Lambda's runtime for Node.js brings and a machine does not: AWS's SDK v3, from a folder that npm fills once."""

from __future__ import annotations

from pathlib import Path

from oncekit.local.kept_files import caches_of_the_user

VERSION = "3.901.0"
"""Of every package of the SDK. It runs with Node.js 18 and later."""


def folder() -> Path:
    """Where they are, in node_modules; it is the user's, for all applications."""
    return caches_of_the_user() / "oncekit" / f"node-sdk-{VERSION}"
