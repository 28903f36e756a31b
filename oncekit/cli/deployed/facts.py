"""All that is known of one id: what `once show --json` prints, and `once show` tells people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from oncekit.cli.deployed.executions import attempts, runs
from oncekit.cli.deployed.executions.fast_owners import is_fast, owner_status, where_its_path_is
from oncekit.cli.deployed.executions.owners import Owner, owners, started_for
from oncekit.cli.deployed.records.attributes import OPEN
from oncekit.cli.deployed.records.record import OPERATOR, Record, find, has_expired
from oncekit.cli.deployed.requests import kept, original
from oncekit.cli.deployed.stack import Stack, is_denied
from oncekit.cli.problem import Problem
from oncekit.console.requests import id_in, opened
from oncekit.console.run import Run

IN_THE_RECORD, WITH_ITS_OWNER = "in the record", "by its owner's execution"
"""Where the request of an open operation is, besides in the bucket."""


def inspect(stack: Stack, about: str) -> dict[str, Any]:
    """The object that --json prints. Without a record, as of a request that was refused, most of it is None.

    `requestKept` says where an open operation's request is, `requestMissing` where a quarantined operation's was looked
    for in vain, `log` how to read what an owner in the fast lane logged, `notFound` how many attempts are missing.
    """
    if not about.startswith("arn:"):
        record = find(stack, about)
        had = owners(stack, record)
        return _told(stack, record, had, next((each.run for each in had if each.run), None))
    run = runs.run_on(stack, about)
    try:
        record = find(stack, id_in(run.input or "") or "")
    except Problem:
        return {**dict.fromkeys(KEYS), "id": id_in(run.input or ""), "execution": runs.as_json(run)}
    return _told(stack, record, owners(stack, record), run)


KEYS = (
    *("id", "expired", "record", "lane", "ownerStatus", "owners", "started", "steps"),
    *("request", "requestKept", "requestMissing", "log", "console"),
    *("execution", "logGroup", "attempts", "notFound", "logCommand"),
)


def _told(stack: Stack, record: Record, had: Sequence[Owner], run: Run | None) -> dict[str, Any]:
    from once.step import CLOSINGS  # slow to import, and no other command needs it

    owner = record["owner"]
    request, missing = _request(stack, record)
    return {
        "id": record["id"],
        "expired": has_expired(stack, record),
        "record": record,
        "lane": stack.lane_of(owner),
        "ownerStatus": owner_status(stack, record),
        "owners": [each.as_json() for each in had],
        "started": started_for(stack, record["id"]),
        "steps": {name: step for name, step in record.get("steps", {}).items() if name != CLOSINGS},
        "request": request,
        "requestKept": _kept(stack, record),
        "requestMissing": missing,
        "log": _log(stack, owner),
        "console": _console(stack, owner),
        "execution": run and runs.as_json(run),
        **_logged(stack, record, had),
    }


def _request(stack: Stack, record: Record) -> tuple[Any, str | None]:
    """What an operator decides about, out of its envelope, or why it is not there."""
    if record["status"] != "QUARANTINED":
        return None, None
    found = original.find(stack, record)
    if found.text is None:
        return None, found.missing
    return opened(json.loads(found.text)), None


def _kept(stack: Stack, record: Record) -> str | None:
    if record["status"] not in OPEN:
        return None
    if isinstance(record.get("request"), str):
        return IN_THE_RECORD
    if "requestRef" in record and not kept.foreign(stack, record):
        return "s3://{bucket}/{key}".format(**record["requestRef"])
    return WITH_ITS_OWNER if stack.has_execution(record["owner"]) else None


def _log(stack: Stack, owner: str) -> str | None:
    """Of an owner in the fast lane, in place of a path."""
    execution = stack.fast_execution(owner)
    return execution and where_its_path_is(stack, execution)


def _console(stack: Stack, owner: str) -> dict[str, str]:
    """Links to the console of AWS; the local cloud has none."""
    if stack.endpoint_url is not None:
        return {}
    links = {"stateMachine": "StatesConsole", "table": "TableConsole"}
    if is_fast(stack, owner):
        links |= {"fastStateMachine": "FastStatesConsole", "fastLog": "FastLogsConsole"}
    found = {name: stack.outputs[output] for name, output in links.items() if output in stack.outputs}
    if "stateMachine" in found and OPERATOR not in owner and stack.has_execution(owner):
        found["owner"] = f"{found['stateMachine'].partition('#')[0]}#/v2/executions/details/{owner}"
    return found


def _logged(stack: Stack, record: Record, had: Sequence[Owner]) -> dict[str, Any]:
    from botocore.exceptions import ClientError

    nothing = {"logGroup": None, "attempts": [], "notFound": record["attempts"], "logCommand": None}
    try:
        group = attempts.log_group(stack, record["id"])
    except Problem:
        return nothing
    except ClientError as error:
        if not is_denied(error.response["Error"]["Code"]):
            raise
        return nothing
    command = attempts.everything_at_that_time(group, record, had)
    try:
        found = attempts.attempts(stack, group, record, had)
    except ClientError as error:  # who may read records need not be let into logs
        if not is_denied(error.response["Error"]["Code"]):
            raise
        found = []
    return {
        "logGroup": group,
        "attempts": [each.as_json() for each in found],
        "notFound": max(0, int(record["attempts"]) - len(found)),
        "logCommand": command,
    }
