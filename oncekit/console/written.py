"""What functions wrote to tables of their own: told by the calls themselves, each of which names its invocation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oncekit.contract.items import plain_item
from oncekit.local.endpoint.own_services import Request
from oncekit.local.lambda_runtime.environment import trace_of

MOST = 10_000
"""Invocations of which writes are kept, the newest."""
_ROOT = re.compile(r"Root=1-[0-9a-f]{8}-([0-9a-f]{24})")
_VERBS = {"Put": "put", "Update": "updated", "Delete": "deleted"}


@dataclass(frozen=True)
class Written:
    verb: str
    table: str
    text: str
    """JSON: the item, or the key and how it was updated."""


class OwnWrites:
    """By invocation."""

    def __init__(self) -> None:
        self._of: dict[str, list[Written]] = {}

    def of(self, request: Request, besides: str) -> tuple[str, Sequence[Written]] | None:
        """What a request of a function is going to write to any table but `besides`, for `note`."""
        found = _ROOT.search(str(request.environ.get("HTTP_X_AMZN_TRACE_ID", "")))  # as AWS's SDKs send it
        acts = _acts(request.target, request.asked.parameters) if found else ()
        own = [_written(verb, act) for verb, act in acts if act.get("TableName") != besides]
        return (found[1], own) if found and own else None

    def note(self, trace: str, own: Sequence[Written]) -> None:
        """It has been written."""
        self._of.setdefault(trace, []).extend(own)
        while len(self._of) > MOST:
            del self._of[next(iter(self._of))]

    def by(self, request_id: str) -> list[Written]:
        """Of an invocation."""
        return list(self._of.get(trace_of(request_id), ()))


def _acts(target: str, asked: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if target == "TransactWriteItems":
        yield from (act for each in asked["TransactItems"] for act in each.items() if act[0] in _VERBS)
    elif target == "BatchWriteItem":
        for table, requests in asked["RequestItems"].items():
            for each in requests:
                yield from ((verb.removesuffix("Request"), {"TableName": table, **act}) for verb, act in each.items())
    elif (verb := target.removesuffix("Item")) in _VERBS:
        yield verb, asked


def _written(verb: str, act: Mapping[str, Any]) -> Written:
    told = plain_item(act["Item"]) if "Item" in act else {"key": plain_item(act["Key"])}
    if "UpdateExpression" in act:
        told["update"] = act["UpdateExpression"]
        told |= {"names": act["ExpressionAttributeNames"]} if "ExpressionAttributeNames" in act else {}
        told |= {"values": plain_item(act.get("ExpressionAttributeValues", {}))}
    return Written(_VERBS[verb], str(act["TableName"]), json.dumps(told, ensure_ascii=False, default=repr))
