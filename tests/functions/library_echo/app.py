"""Business logic under the library: it returns what its payload says."""

from __future__ import annotations

import json
from typing import Any

from once import Request, operation


@operation()
def handler(request: Request) -> Any:
    if "json" in request.payload:  # numbers that no payload can have
        return json.loads(request.payload["json"])
    return request.payload["return"]
