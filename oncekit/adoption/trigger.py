"""What makes requests out of events that are there: a rule on a bus, or a pipe on a queue."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from oncekit.adoption.names import Operation
from oncekit.adoption.texts import parts, text
from oncekit.contract.picked_request import lasting
from oncekit.local.events.patterns import NotJudged, PatternError, check, matches
from oncekit.local.events.templates import MISSING, PathError, find
from oncekit.problem import Problem

DEFAULT_BUS = "default"
BUS, QUEUE = "AWS::Events::EventBus", "AWS::SQS::Queue"
_NAMES = re.compile(r"""\$(\.[^.\[\]*<>'"\\]+)*""")
"""A placeholder of a template begins with <."""


@dataclass(frozen=True)
class Source:
    """A resource of the template that events come from, and how the folder's template learns of it."""

    logical_id: str
    type: str
    suffix: str
    value: str

    @property
    def parameter(self) -> str:
        parts = re.split(r"[^A-Za-z0-9]+", self.logical_id)  # what another stack exports has such a name
        of = "".join(part[:1].upper() + part[1:] for part in parts) if parts[1:] else self.logical_id
        return of if of.endswith(self.suffix) else f"{of}{self.suffix}"


@dataclass(frozen=True)
class Trigger:
    """What makes requests out of what comes to a place. Raises Problem for what AWS would refuse."""

    given: str
    """What its option was given: where events come from."""
    key: str
    payload: str
    on_crash: str | None
    """What its requests say, retry or quarantine; None for what is usual."""
    elsewhere: str | None = None
    """What stands for the place in the template where that is no resource of it: a reference to a parameter, say."""

    example_name: ClassVar[str]
    """What an example is called, as a part of its file's name."""
    usual_payload: ClassVar[str]

    def __post_init__(self) -> None:
        for option, path in (("--key", self.key), ("--payload", self.payload)):
            self.check_path(option, path)

    def check_path(self, option: str, path: str) -> None:
        """Raises Problem for a path that is none of names."""
        try:
            find(path, {})
        except PathError as error:
            raise Problem(f"{option}: {error}") from error
        if not _NAMES.fullmatch(path):
            raise Problem(f"{option} {path}: name members only, such as $.order.id")

    @property
    def source(self) -> Source | None:
        """The resource in the application's template; None where there is none to name."""
        return None

    def resources(self, operation: Operation) -> list[list[str]]:
        """The lines of each resource."""
        raise NotImplementedError

    def places(self, begin: str) -> dict[str, str]:
        """What its template says: where in what came key and payload are, by names from there on, and what it asks."""
        key, payload = (path.removeprefix(begin).split(".")[1:] for path in (self.key, self.payload))
        return {"key": _names(key), "payload": _names(payload), "onCrash": self.on_crash or "retry"}

    def request(self, example: Any) -> tuple[Any, Any]:
        """Key and payload of the request that is made of an example. Raises Problem."""
        return at("--key", self.key, example), at("--payload", self.payload, example)

    def test(self, operation: Operation, more: str) -> str:
        """One that sends the example; `more` is what it says, too, where it is red."""
        raise NotImplementedError


class FromRule(Trigger):
    """A rule: `BUS/PATTERN`, of the logical id of a bus or `default`, and JSON or the detail type of its events."""

    example_name, usual_payload = "event", "$.detail"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bus or not self.pattern:
            raise Problem(f"--from-rule {self.given}: write BUS/PATTERN, such as ShopBus/OrderPaid")

    @property
    def bus(self) -> str:
        return self.given.partition("/")[0]

    @property
    def pattern(self) -> Mapping[str, Any]:
        given = self.given.partition("/")[2]
        if not given.startswith("{"):
            return {"detail-type": [given]} if given else {}
        try:
            pattern = json.loads(given)
            check(pattern)
        except NotJudged as error:
            raise Problem(f"--from-rule: the local cloud does not judge {given}: {error}") from error
        except (ValueError, PatternError) as error:
            raise Problem(f"--from-rule: {given} is not an event pattern: {error}") from error
        assert isinstance(pattern, dict)
        return pattern

    @property
    def source(self) -> Source | None:
        if self.bus == DEFAULT_BUS:
            return None
        return Source(self.bus, BUS, "Name", self.elsewhere or f"!Ref {self.bus}")

    def resources(self, operation: Operation) -> list[list[str]]:
        places = {
            "bus": f"the bus {self.bus}",
            "busName": f"!Ref {self.source.parameter}" if self.source else DEFAULT_BUS,
            "pattern": json.dumps(self.pattern),
        }
        return parts("rule.yaml", **operation.places, **places, **self.places("$"))

    def request(self, example: Any) -> tuple[Any, Any]:
        if not isinstance(example, dict) or not {"source", "detail-type", "detail"} <= example.keys():
            raise Problem("--example: an event has the members source, detail-type and detail")
        key, payload = super().request(example)
        payload = lasting(payload) if self.payload == "$" else payload
        if not matches(self.pattern, example):
            raise Problem(f"--example: the rule does not take this event; its pattern is {json.dumps(self.pattern)}")
        return key, payload

    def test(self, operation: Operation, more: str) -> str:
        bus = _of_test(self.source, self.elsewhere) if self.source and self.elsewhere else f'"{self.bus}"'
        return text("test_rule.py.txt", **operation.places, busOf=bus, why=_why(more), more=more)


class FromQueue(Trigger):
    """A pipe on a queue, by its logical id. Paths begin at the message, as the pipe sees it, and lead into `$.body`."""

    example_name, usual_payload = "message", "$.body"

    def check_path(self, option: str, path: str) -> None:
        super().check_path(option, path)
        if not f"{path}.".startswith("$.body."):
            raise Problem(f"{option} {path}: name the body of the message, or a member of it, such as $.body.id")

    @property
    def source(self) -> Source:
        return Source(self.given, QUEUE, "Arn", self.elsewhere or f"!GetAtt {self.given}.Arn")

    def resources(self, operation: Operation) -> list[list[str]]:
        places = {"queue": self.given, "queueArn": self.source.parameter}
        return parts("pipe.yaml", **operation.places, **places, **self.places("$.body"))

    def request(self, example: Any) -> tuple[Any, Any]:
        return super().request({"body": example})

    def test(self, operation: Operation, more: str) -> str:
        queue = _of_test(self.source, self.elsewhere)
        return text("test_queue.py.txt", **operation.places, queueOf=queue, why=_why(more), more=more)


TRIGGERS: Mapping[str, type[Trigger]] = {"--from-rule": FromRule, "--from-queue": FromQueue}
"""By option."""


def _why(more: str) -> str:
    return f'f"{{answer.why}}{more}"' if more else "answer.why"


def _of_test(source: Source, elsewhere: str | None) -> str:
    """What a test sends to: a resource, or what the parameter has that Once is told the place by."""
    if elsewhere is None:
        return f'once_cloud.resources["{source.logical_id}"]'
    value = f'once_cloud.parameters["{source.parameter}"]'
    return value if source.type == BUS else f'{value}.rpartition(":")[2]'


def _names(names: list[str]) -> str:
    return json.dumps(names, ensure_ascii=False)


def at(option: str, path: str, example: Any) -> Any:
    """The value at a path in an example. Raises Problem when there is none."""
    value = find(path, example)
    if value is MISSING:
        raise Problem(f"{option} {path}: the example has nothing there")
    return value
