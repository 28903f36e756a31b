"""What makes requests out of events that are there: a rule on a bus, or a pipe on a queue."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from oncekit.adoption.names import Operation
from oncekit.adoption.texts import parts, text
from oncekit.local.events.patterns import PatternError, check, matches
from oncekit.local.events.templates import MISSING, PathError, find
from oncekit.problem import Problem

DEFAULT_BUS = "default"
_ROUTE = re.compile(r"(/[A-Za-z0-9._-]+)+")
_MEMBERS = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_]*)*")


@dataclass(frozen=True)
class Source:
    """A resource of the template that events come from, and how the folder's template learns of it."""

    logical_id: str
    type: str
    suffix: str
    value: str

    @property
    def parameter(self) -> str:
        return f"{self.logical_id}{self.suffix}"


LASTING = ("source", "detail-type", "detail")
"""The members of an event that stay when its producer sends it again; its id and time make another payload."""


class Trigger(Protocol):
    """A trigger of an operation."""

    @property
    def source(self) -> Source | None:
        """The resource in the application's template; None where there is none to name."""

    def resources(self, operation: Operation) -> list[list[str]]:
        """The lines of each resource."""

    def request(self, sample: Any) -> tuple[Any, Any]:
        """Key and payload of the request that is made of a sample. Raises Problem."""

    def test(self, operation: Operation) -> str: ...

    @property
    def on_crash(self) -> str | None:
        """What its requests say, retry or quarantine; None for what is usual."""

    @property
    def sample_name(self) -> str:
        """What a sample is called, as a part of its file's name."""


@dataclass(frozen=True)
class FromRule:
    """A rule on a bus, the logical id of one or `default`. Raises Problem for what AWS would refuse."""

    bus: str
    pattern: Mapping[str, Any]
    key: str
    payload: str
    on_crash: str | None = None
    sample_name = "event"

    @classmethod
    def of(cls, given: str, key: str, payload: str | None, on_crash: str | None) -> FromRule:
        """`BUS/PATTERN`: the pattern is JSON, or the detail type that events must have."""
        bus, _, pattern = given.partition("/")
        if not bus or not pattern:
            raise Problem(f"--from-rule {given}: write BUS/PATTERN, such as ShopBus/OrderPaid")
        return cls(bus, _pattern(pattern), key, payload or "$.detail", on_crash)

    def __post_init__(self) -> None:
        check_path("--key", self.key)
        check_path("--payload", self.payload)

    @property
    def source(self) -> Source | None:
        if self.bus == DEFAULT_BUS:
            return None
        return Source(self.bus, "AWS::Events::EventBus", "Name", f"!Ref {self.bus}")

    def resources(self, operation: Operation) -> list[list[str]]:
        whole = self.payload == "$"
        paths = {"key": self.key} | ({name: f"$.{name}" for name in LASTING} if whole else {"payload": self.payload})
        event = ", ".join(f'"{name}": <{name}>' for name in LASTING)
        places = {
            "bus": f"the bus {self.bus}",
            "busName": f"!Ref {self.source.parameter}" if self.source else DEFAULT_BUS,
            "pattern": json.dumps(self.pattern),
            "paths": json.dumps(paths),
            "payload": f"{{{event}}}" if whole else "<payload>",
            "onCrash": _member(self.on_crash),
        }
        return parts("rule.yaml", **operation.places, **places)

    def request(self, sample: Any) -> tuple[Any, Any]:
        if not isinstance(sample, dict) or not {"source", "detail-type", "detail"} <= sample.keys():
            raise Problem("--example: an event has the members source, detail-type and detail")
        lasting = {name: sample[name] for name in LASTING} if self.payload == "$" else sample
        key, payload = at("--key", self.key, sample), at("--payload", self.payload, lasting)
        if not matches(self.pattern, sample):
            raise Problem(f"--example: the rule does not take this event; its pattern is {json.dumps(self.pattern)}")
        return key, payload

    def test(self, operation: Operation) -> str:
        bus = f'once_cloud.resources["{self.bus}"]' if self.source else f'"{DEFAULT_BUS}"'
        return text("test_rule.py.txt", **operation.places, busOf=bus)


@dataclass(frozen=True)
class FromQueue:
    """A pipe on a queue, by its logical id. Paths begin at the message, as the pipe sees it: `$.body`."""

    queue: str
    key: str
    payload: str
    on_crash: str | None = None
    sample_name = "message"

    @classmethod
    def of(cls, queue: str, key: str, payload: str | None, on_crash: str | None) -> FromQueue:
        return cls(queue, key, payload or "$.body", on_crash)

    def __post_init__(self) -> None:
        for option, path in (("--key", self.key), ("--payload", self.payload)):
            check_path(option, path)
            if path == "$" or "<" in path or ">" in path:
                raise Problem(f"{option} {path}: name a member of the message, such as $.body or $.body.id")

    @property
    def source(self) -> Source:
        return Source(self.queue, "AWS::SQS::Queue", "Arn", f"!GetAtt {self.queue}.Arn")

    def resources(self, operation: Operation) -> list[list[str]]:
        places = {"queue": self.queue, "queueArn": self.source.parameter, "key": self.key, "path": self.payload}
        places["onCrash"] = _member(self.on_crash)
        return parts("pipe.yaml", **operation.places, **places)

    def request(self, sample: Any) -> tuple[Any, Any]:
        message = {"body": sample}
        return at("--key", self.key, message), at("--payload", self.payload, message)

    def test(self, operation: Operation) -> str:
        return text("test_queue.py.txt", **operation.places, queue=self.queue)


@dataclass(frozen=True)
class FromHttp:
    """A route of an API of its own. Paths begin at the body, and name members: `$`, `$.order.id`."""

    route: str
    key: str
    payload: str
    on_crash: str | None = None
    sample_name = "body"
    source = None

    @classmethod
    def of(cls, route: str, key: str, payload: str | None, on_crash: str | None) -> FromHttp:
        return cls(route, key, payload or "$", on_crash)

    def __post_init__(self) -> None:
        if not _ROUTE.fullmatch(self.route):
            raise Problem(f"--http {self.route}: write a path such as /orders/paid, without parameters")
        for option, path in (("--key", self.key), ("--payload", self.payload)):
            check_path(option, path)
            if not _MEMBERS.fullmatch(path):
                raise Problem(f"{option} {path}: name members only, such as $.order.id")
        if self.key == "$":
            raise Problem("--key $: name a member of the body, such as $.id")

    def resources(self, operation: Operation) -> list[list[str]]:
        body = "$input.body" if self.payload == "$" else f"$input.json('{self.payload}')"
        leaf = self.route.rpartition("/")[2]
        return parts(
            "http.yaml",
            **operation.places,
            route=self.route,
            leaf=leaf,
            key=self.key,
            body=body,
            onCrash=self.on_crash or "",
        )

    def request(self, sample: Any) -> tuple[Any, Any]:
        return at("--key", self.key, sample), at("--payload", self.payload, sample)

    def test(self, operation: Operation) -> str:
        return text("test_http.py.txt", **operation.places, route=self.route)


def _member(on_crash: str | None) -> str:
    """The last member of a request that is made of an event."""
    return f', "onCrash": "{on_crash}"' if on_crash else ""


def _pattern(given: str) -> Mapping[str, Any]:
    if not given.startswith("{"):
        return {"detail-type": [given]}
    try:
        pattern = json.loads(given)
        check(pattern)
    except (ValueError, PatternError) as error:
        raise Problem(f"--from-rule: {given} is not an event pattern: {error}") from error
    assert isinstance(pattern, dict)
    return pattern


def check_path(option: str, path: str) -> None:
    """Raises Problem for a path that neither a rule nor a pipe takes."""
    try:
        find(path, {})
    except PathError as error:
        raise Problem(f"{option}: {error}") from error
    if "'" in path or '"' in path:
        raise Problem(f"{option} {path}: write names without quotes, such as $.detail.orderId")


def at(option: str, path: str, sample: Any) -> Any:
    """The value at a path in a sample. Raises Problem when there is none."""
    value = find(path, sample)
    if value is MISSING:
        raise Problem(f"{option} {path}: the example has nothing there")
    return value
