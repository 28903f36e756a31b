"""Sends one request to the HTTP API of the cloud as it is, and reads the answer."""

from __future__ import annotations

import http.client
from dataclasses import dataclass
from urllib.parse import urlsplit

from oncekit.proof.fuzz.cloud import Lane
from oncekit.proof.fuzz.door_requests import Asked

PATIENCE = 30.0
"""Seconds of the real clock."""


@dataclass(frozen=True)
class Said:
    status: int
    body: str

    def __str__(self) -> str:
        return f"{self.status} {self.body[:160]!a}"


def knock(lane: Lane, asked: Asked) -> Said:
    key = lane.cloud.environment["AWS_ACCESS_KEY_ID"]
    scope = f"{key}/20260101/us-east-1/execute-api/aws4_request"
    signed = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
    at = urlsplit(lane.cloud.http_url)
    line = http.client.HTTPConnection(str(at.hostname), at.port, timeout=PATIENCE)
    try:
        line.putrequest(asked.method, asked.path, skip_accept_encoding=True)
        for name, value in (("Authorization", signed), *asked.headers):
            line.putheader(name, value.encode("latin-1"))
        line.putheader("Content-Length", str(len(asked.body)))
        line.endheaders(asked.body)
        answer = line.getresponse()
        return Said(answer.status, answer.read().decode(errors="replace"))
    finally:
        line.close()
