"""Every call that the library makes for business logic, on a table that NOTES_TABLE names."""

from __future__ import annotations

import os

from once import JSON, Request, operation
from once.conditions import Attr
from once.step import Step


@operation()
def handler(request: Request) -> JSON:
    notes = os.environ["NOTES_TABLE"]

    def write(step: Step) -> JSON:
        step.put(notes, {"id": "put"})
        step.update(notes, {"id": "updated"}, "SET n = :one", {":one": 1})
        step.delete(notes, {"id": "deleted"})
        step.check(notes, {"id": "checked"}, Attr("id").not_exists())
        return None

    request.step("everything", write)
    request.put_once(notes, {"id": "put once"})
    request.apply_once(notes, {"id": "applied once"}, "SET n = :one", {":one": 1})
    return "x" * 300_000
