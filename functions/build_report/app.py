"""build-report: builds a report of exactly the requested size, to try results of any size."""

from pathlib import Path

from once import JSON, Request, operation
from report import report


@operation(schema=Path(__file__).with_name("schema.json"))
def handler(request: Request) -> JSON:
    return report(int(request.payload["bytes"]))
