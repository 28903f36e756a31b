"""Business logic under the library: it returns what its payload says."""

from __future__ import annotations

from typing import Any

from once import Request, operation


@operation()
def handler(request: Request) -> Any:
    return request.payload["return"]
