"""A session whose clients know the APIs' models and give these answers; what a model does not have is refused."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.stub import Stubber

KEY = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nobody"}


class Aws:
    """Stands for a session. A client that has no answer left fails."""

    def __init__(self, region: str = "us-east-1") -> None:
        self.region_name = region
        self.stubs: dict[str, Stubber] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def client(self, service: str, **_: Any) -> Any:
        if service not in self.stubs:
            client = boto3.client(service, region_name=self.region_name, **KEY)
            client.meta.events.register_first("before-parameter-build", self._hear)
            self.stubs[service] = Stubber(client)
            self.stubs[service].activate()
        return self.stubs[service].client

    def _hear(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.asked.append((model.name, dict(params)))

    def says(self, service: str, method: str, answer: dict[str, Any] | None = None) -> None:
        self.client(service)
        self.stubs[service].add_response(method, answer or {})

    def refuses(self, service: str, method: str, code: str, message: str = "no") -> None:
        self.client(service)
        self.stubs[service].add_client_error(method, code, message)

    def calls(self, operation: str) -> list[dict[str, Any]]:
        return [params for name, params in self.asked if name == operation]
