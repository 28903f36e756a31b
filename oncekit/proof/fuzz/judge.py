"""What a request may touch: its own record, function and objects, and what is the stack's for everybody."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.engine.limits import MAX_BYTES

_SENDABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What SQS does not take (SendMessage, *Important*: the characters of XML 1.0)."""
_LOOKS = ("describeExecution", "getExecutionHistory")
"""Of an execution, which changes nothing: recovery looks at one that died before its request could be read."""
_EXECUTION = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:OperationStateMachine-local:"


@dataclass(frozen=True)
class Stack:
    """The names of what the definitions call."""

    table: str
    bucket: str
    queue: str
    prefix: str
    alias: str
    cache_function: str

    @staticmethod
    def of(definitions: Mapping[str, Mapping[str, Any]]) -> Stack:
        states = definitions["operation"]["States"]
        asked = {name: state.get("Arguments", {}) for name, state in states.items()}
        named = re.search(r"'([\w-]+-)' & \$r\.operation & ':(\w+)'", states["ReceiveRequest"]["Assign"]["request"])
        assert named is not None, "the name of an operation's function is made in another way"
        return Stack(
            asked["AcquireLock"]["TableName"],
            asked["KeepRequest"]["Bucket"],
            asked["RefuseRequest"]["QueueUrl"],
            named[1],
            named[2],
            asked["CacheResponse"]["FunctionName"],
        )

    def execution(self, name: str) -> str:
        return _EXECUTION + name

    def is_own(self, arn: str) -> bool:
        return arn.startswith(_EXECUTION)

    def reference(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """What CacheResponse says of the result that it wrote."""
        days, owner = payload.get("retentionDays", 30), str(payload["owner"])
        text = payload["text"] if "text" in payload else json.dumps(payload.get("value"))
        body = text.encode("utf-8", "surrogatepass")
        name = f"{payload['fence']}-{hashed(owner)[:16]}.json"
        key = f"responses/{days}d/{payload['tenant']}/{hashed(str(payload['id']))}/{name}"
        return {"bucket": self.bucket, "key": key, "sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body)}


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Judge:
    """Judges the calls for one request; without an id, those of a request that must not come so far."""

    stack: Stack
    tenant: str | None = None
    operation: str | None = None
    key: str | None = None
    named: str | None = None
    """The id that a request names which must not come so far: recovery may ask for that record when it died unread."""

    @property
    def id(self) -> str | None:
        return None if self.key is None else f"{self.tenant}#{self.operation}#{self.key}"

    def of(self, resource: str, arguments: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with a call."""
        service, _, action = resource.partition(":")
        if action == "sendMessage":
            yield from self._message(arguments)
        elif self.id is None and not self._only_looks(action, arguments):
            yield f"{resource} for a request that is to be refused: {shown(arguments)}"
        elif self.id is None:
            return
        elif service == "dynamodb":
            yield from self._record(arguments)
        elif service == "lambda":
            yield from self._function(arguments)
        elif service == "s3":
            if arguments["Bucket"] != self.stack.bucket or not self.is_kept_at(arguments["Key"]):
                yield f"puts another's object: {shown(arguments)}"
        elif action == "startExecution" and id_in(arguments["Input"]) != self.id:
            yield f"starts another's request: {shown(arguments)}"

    def _only_looks(self, action: str, arguments: Mapping[str, Any]) -> bool:
        if action == "getItem":
            return (arguments["TableName"], arguments["Key"]) == (self.stack.table, {"id": {"S": self.named}})
        return action in _LOOKS and self.stack.is_own(arguments["ExecutionArn"])

    def is_kept_at(self, key: object) -> bool:
        place = rf"requests/{self.tenant}/{hashed(self.id or '')}/[0-9]+\.json"
        return isinstance(key, str) and re.fullmatch(place, key) is not None

    def is_answer_at(self, key: object) -> bool:
        place = rf"responses/([0-9]+d/)?{self.tenant}/{hashed(self.id or '')}/[\w-]+\.json"
        return isinstance(key, str) and re.fullmatch(place, key) is not None

    def _record(self, arguments: Mapping[str, Any]) -> Iterator[str]:
        if arguments["TableName"] != self.stack.table or arguments.get("Key") != {"id": {"S": self.id}}:
            yield f"touches another record: {shown(arguments)}"

    def _function(self, arguments: Mapping[str, Any]) -> Iterator[str]:
        payload = arguments["Payload"]
        if arguments["FunctionName"] == self.stack.cache_function:
            if (payload["id"], payload["tenant"]) != (self.id, self.tenant):
                yield f"keeps a result for another: {shown(arguments)}"
            return
        if arguments["FunctionName"] != f"{self.stack.prefix}{self.operation}:{self.stack.alias}":
            yield f"invokes another function: {shown(arguments)}"
        told = tuple(payload[name] for name in ("tenant", "operation", "idempotencyKey"))
        if told != (self.tenant, self.operation, self.key) or payload["lock"]["id"] != self.id:
            yield f"tells the function of another request: {shown(arguments)}"

    def _message(self, arguments: Mapping[str, Any]) -> Iterator[str]:
        text = json.dumps(arguments["MessageBody"], ensure_ascii=False, separators=(",", ":"))
        if arguments["QueueUrl"] != self.stack.queue:
            yield f"sends to another queue: {shown(arguments)}"
        if found := _SENDABLE.search(text):
            yield f"sends {found.group()!a}, which no queue takes"
        if len(text) * 4 > MAX_BYTES and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            yield "sends more than a queue takes"


def id_in(text: Any) -> str | None:
    """The id of the request in an execution's input."""
    try:
        given = json.loads(text) if isinstance(text, str) else text
        given = given[0] if isinstance(given, list) else given
        given = given.get("body", given)
        return f"{given.get('tenant', 'default')}#{given['operation']}#{given['idempotencyKey']}"
    except (ValueError, AttributeError, KeyError, TypeError, IndexError):
        return None


def shown(value: Any) -> str:
    return json.dumps(value)[:300]
