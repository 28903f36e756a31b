"""What Lambda's runtime for Node.js brings and a machine does not: AWS's SDK v3, from a folder that npm fills once."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from oncekit.local.kept_files import caches_of_the_user
from oncekit.problem import Problem

VERSION = "3.901.0"
"""Of every package of the SDK. It runs with Node.js 18 and later."""
SCOPE = "@aws-sdk/"
PACKAGES = (
    "client-apigatewaymanagementapi",
    "client-bedrock-runtime",
    "client-cloudwatch",
    "client-cloudwatch-logs",
    "client-cognito-identity-provider",
    "client-dynamodb",
    "client-eventbridge",
    "client-firehose",
    "client-iot-data-plane",
    "client-kinesis",
    "client-kms",
    "client-lambda",
    "client-rekognition",
    "client-s3",
    "client-scheduler",
    "client-secrets-manager",
    "client-ses",
    "client-sesv2",
    "client-sfn",
    "client-sns",
    "client-sqs",
    "client-ssm",
    "client-sts",
    "credential-providers",
    "lib-dynamodb",
    "lib-storage",
    "s3-request-presigner",
    "util-dynamodb",
)
"""Lambda has all of the SDK, some 400 packages; these are what functions use most, without SCOPE."""


def folder() -> Path:
    """Where they are, in node_modules; it is the user's, for all applications."""
    return caches_of_the_user() / "oncekit" / f"node-sdk-{VERSION}"


def fill(more: Sequence[str]) -> list[str]:
    """Let npm install the packages, more of them, and those that were added before; their names. Raises Problem."""
    npm = shutil.which("npm")
    if npm is None:
        raise Problem("there is no npm on this machine's PATH: install Node.js, which brings it")
    if odd := [each for each in more if not each.startswith(SCOPE)]:
        raise Problem(
            f"{odd[0]} is not of AWS's SDK, whose packages begin with {SCOPE}: npm install it with your function"
        )
    file = folder() / "package.json"
    before = json.loads(file.read_text())["dependencies"] if file.is_file() else {}
    names = sorted({*(SCOPE + each for each in PACKAGES), *before, *more})
    folder().mkdir(parents=True, exist_ok=True)
    _want(file, names)
    # No scripts: a package of the SDK needs none. No lock: what is wanted is in package.json, in one version.
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--loglevel=error")
    done = subprocess.run(  # noqa: S603 the user's own npm
        [npm, "install", *options], cwd=folder(), capture_output=True, text=True
    )
    if done.returncode != 0:
        _want(file, sorted(before))  # else a name that does not exist would stop every later one
        told = " ".join(done.stderr.split())
        raise Problem(f"npm could not install {VERSION} of AWS's SDK into {folder()}: {told}")
    return names


def _want(file: Path, names: Sequence[str]) -> None:
    file.write_text(json.dumps({"private": True, "dependencies": dict.fromkeys(names, VERSION)}, indent=2))
