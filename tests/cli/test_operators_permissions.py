"""What docs/threats.md says operators need: the actions of the calls that the commands make."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from logged import logged, own
from operating import ID, Operator

from oncekit.local.permissions.needs import needed
from oncekit.stack.stack import Stack, connect

PAGE = Path(__file__).parents[2] / "docs" / "threats.md"
SERVICES = ("cloudformation", "dynamodb", "stepfunctions", "s3", "sqs", "events", "lambda", "logs")
Needs = set[str]
"""Actions."""


def on_the_page() -> dict[str, Needs]:
    """By command."""
    chapter = PAGE.read_text().partition("## What an operator needs")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?:`once ([a-z-]+)`[^|]*|(all of them)) \| (.+) \|$", chapter, re.MULTILINE)
    found: dict[str, Needs] = {}
    for command, everyone, text in rows:
        found.setdefault(command or everyone, set()).update(re.findall(r"`([a-z0-9-]+:\w+)`", text))
    return found


class Watched(Operator):
    """Remembers what each command needs."""

    needs: dict[str, Needs]

    def watch(self, command: str, *arguments: str, code: int = 0) -> Any:
        self._command = command
        try:
            done = self.once(command, *arguments)
        finally:
            self._command = ""
        assert done.code == code, done.err
        return done

    def _connect(self, *place: Any, **given: Any) -> Stack:
        stack = replace(connect(*place, **given, open_session=self.open_session), now=self.cloud.clock.now)
        self._remember("cloudformation", "DescribeStacks", {"StackName": "once"})
        sync = "provide-client-params.stepfunctions.StartSyncExecution", self._note  # by a client of its own
        stack.session.events.register(*sync)
        self._heard.callback(stack.session.events.unregister, *sync)
        for service in SERVICES:
            self.hear(stack.client(service), "provide-client-params", self._note)
            self.hear(stack.client(service), "before-call", lambda model, **_: self._pop(self._before, model.name))
        return stack

    def _note(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        metadata = model.service_model.metadata
        self._remember(metadata.get("signingName") or metadata["endpointPrefix"], model.name, params)

    def _remember(self, service: str, operation: str, params: Mapping[str, Any]) -> None:
        needs = needed(service, operation, params)
        self.needs.setdefault(self._command, set()).update(need.action for need in needs)


LARGE = {"a": "x" * 5000}
"""A payload that is kept in the bucket."""


def _quarantined(operator: Watched, payload: dict[str, Any] | None = None) -> None:
    operator.script({"step": "first", "raise": "NeedsAttention"}, {"return": 8})
    operator.cloud.run(operator.request() | {"payload": payload or {"a": 1}})
    assert operator.record["status"] == "QUARANTINED"


def lists(operator: Watched) -> None:
    _quarantined(operator)
    operator.watch("ls")
    _refused(operator)
    operator.watch("ls", "--rejected")


def _forget(operator: Watched) -> None:
    operator.cloud.client("dynamodb").delete_item(TableName=operator.cloud.outputs["TableName"], Key={"id": {"S": ID}})


def shows(operator: Watched) -> None:
    _quarantined(operator, LARGE)
    with logged(operator, [(0, own("printed"))]):
        operator.watch("show", ID)
    operator.keep_refused("x", "Unavailable", input=operator.request())
    operator.watch("show", "default#told#none", code=2)


def retries(operator: Watched) -> None:
    _quarantined(operator, LARGE)
    operator.execution(operator.watch("retry", ID, "--json"))
    _forget(operator)
    operator.died_in("Finalize")
    operator.lease_over()
    operator.execution(operator.watch("retry", ID, "--json"))
    _refused(operator)
    operator.watch("retry", "--rejected", code=1)
    operator.cloud.settle()


def resolves(operator: Watched) -> None:
    _quarantined(operator)
    large = operator.file(json.dumps("x" * 9000))
    operator.before("PutObject", _is_there)
    operator.watch("resolve", ID, "--result", large, code=2)  # for it is not there
    operator.watch("resolve", ID, "--result", large)


def _is_there() -> None:
    """What a repeated call is told whose first answer was lost; then the object is read."""
    raise ClientError({"Error": {"Code": "PreconditionFailed"}, "ResponseMetadata": _with(412)}, "PutObject")


def _with(status: int) -> Any:
    return {"HTTPStatusCode": status}


def releases(operator: Watched) -> None:
    _quarantined(operator)
    operator.watch("release", ID, "--yes")
    _refused(operator)
    operator.watch("release", "--rejected", "--error", "InvalidRequest", "--yes")
    operator.keep_refused("y", "Unavailable", input=operator.request())
    operator.watch("release", ID, "--forget", "--yes")


def _refused(operator: Watched) -> None:
    """One that is no request, one of another payload, and one that can be started."""
    operator.refuse_requests("a")
    operator.cloud.run(operator.request())
    operator.cloud.run(operator.request() | {"payload": {"b": 1}})
    operator.keep_refused("x", "Unavailable", input=operator.request())


def sends(operator: Watched) -> None:
    event = operator.file(json.dumps(operator.request()), "event.json")
    for options in (["--via", "direct"], ["--via", "sqs"], ["--via", "eventbridge"], ["--lane", "fast"]):
        operator.watch("send", event, *options)
    operator.cloud.settle()
    for way in (["--via", "direct"], ["--lane", "fast"]):
        operator.watch("send", event, *way, "--wait")
    with operator.holding("ExecuteBusinessLogic"):
        busy = operator.file(json.dumps(operator.request() | {"idempotencyKey": "busy"}), "busy.json")
        operator.cloud.start(operator.request() | {"idempotencyKey": "busy"})
        operator.watch("send", busy, "--lane", "fast", "--wait", "--timeout", "1", code=3)
        operator.watch("send", busy, "--wait", code=3)


PATHS: dict[str, Callable[[Watched], None]] = {
    "ls": lists,
    "show": shows,
    "retry": retries,
    "resolve": resolves,
    "release": releases,
    "send": sends,
}


@pytest.mark.parametrize("command", PATHS)
def test_page_says_what_the_command_needs_and_nothing_else(
    operator: Operator, command: str, latches_folder: Path
) -> None:
    watched = Watched(operator.cloud, latches_folder)
    watched.needs = {}
    PATHS[command](watched)
    page = on_the_page()
    assert watched.needs[command] | page["all of them"] == page["all of them"] | page[command]


def test_page_has_a_row_for_each_command_that_works_on_a_stack() -> None:
    assert set(on_the_page()) == {"all of them", *PATHS}
