"""Sends one request to the HTTP API of the cloud as it is, and reads the answer."""

from __future__ import annotations

import http.client
from dataclasses import dataclass
from urllib.parse import urlsplit

from oncekit.local.access_keys import authorization
from oncekit.proof.fuzz.cloud import Lane
from oncekit.proof.fuzz.http_api_requests import Asked

PATIENCE = 30.0
"""Seconds of the real clock."""


@dataclass(frozen=True)
class Said:
    status: int
    body: str

    def __str__(self) -> str:
        return f"{self.status} {self.body[:160]!a}"


def knock(lane: Lane, asked: Asked) -> Said:
    signed = authorization(lane.cloud.environment["AWS_ACCESS_KEY_ID"], "execute-api")
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
