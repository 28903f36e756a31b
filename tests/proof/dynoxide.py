"""Dynoxide, a DynamoDB-compatible server that is atomic under load, and the calls to it."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oncekit.local.account import REGION

ROOT = Path(__file__).parents[2]
DYNOXIDE = ROOT / "build" / "npm" / "node_modules" / "@dynoxide" / "linux-x64" / "dynoxide"
_SCOPE = f"20260101/{REGION}/dynamodb/aws4_request"
_SIGNED = f"AWS4-HMAC-SHA256 Credential=local/{_SCOPE}, SignedHeaders=host, Signature=0"


class Refused(Exception):
    """The server answered with an error; `code` is its name."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Connection:
    """Sends calls as they are: the arguments are the body."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def call(self, action: str, body: str) -> dict[str, Any]:
        """The answer. Raises Refused."""
        headers = {
            "X-Amz-Target": f"DynamoDB_20120810.{action}",
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": _SIGNED,
            "X-Amz-Date": "20260101T000000Z",
        }
        self._http.request("POST", "/", body, headers)
        answer = self._http.getresponse()
        parsed: dict[str, Any] = json.loads(answer.read() or b"{}")
        if answer.status != 200:
            message = parsed.get("message") or parsed.get("Message", "")
            raise Refused(str(parsed.get("__type", answer.status)).rpartition("#")[2], str(message))
        return parsed

    def items(self, table: str) -> Iterator[dict[str, Any]]:
        """Every item of a table."""
        start: dict[str, Any] = {}
        while True:
            page = self.call("Scan", json.dumps({"TableName": table, "ConsistentRead": True, **start}))
            yield from page["Items"]
            if not page.get("LastEvaluatedKey"):
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


@contextmanager
def server(*tables: str) -> Iterator[int]:
    """A server of its own with these tables, each with the key `id`; gives its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    quiet = subprocess.DEVNULL
    command = [str(DYNOXIDE), "serve", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    try:
        _wait_for(port)
        connection = Connection(port)
        for name in tables:
            table = {
                "TableName": name,
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            }
            connection.call("CreateTable", json.dumps(table))
        yield port
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError("Dynoxide did not start within 4 s")
