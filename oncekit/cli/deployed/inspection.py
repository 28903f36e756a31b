"""`once show`: all that is known of one id."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from oncekit.cli.deployed import kept_request, originals, owners
from oncekit.cli.deployed.fast_owners import LEASE_OVER, MAY_RUN, is_fast, owner_status, where_its_path_is
from oncekit.cli.deployed.records import OPERATOR, RELEASED, STATUSES, Record, find, has_expired
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.terminal import Entry, short, text_of
from oncekit.console.requests import is_deeper, opened
from oncekit.local.lanes import FAST, FULL

IN_THE_RECORD, WITH_ITS_OWNER = "in the record", "by its owner's execution"
"""Where the request of an open operation is, besides in the bucket."""
IN_LANE = {FULL: "full: its owner can be asked", FAST: "fast: its owner cannot be asked"}
DEEP = 100
"""Levels of a request that is shown; a payload may have ten."""
MOST_STEPS = 100
"""That are shown to people."""


def inspect(stack: Stack, id: str) -> dict[str, Any]:
    """{id, expired, record, lane, ownerStatus, owners, started, steps, request, requestKept, requestMissing, log,
    console}.

    See `owners` for the lists. `requestKept` says where an open operation's request is, `log` how to read what an owner
    in the fast lane logged. `requestMissing` says where a quarantined operation's request was looked for in vain.
    """
    from once.step import CLOSINGS  # slow to import, and no other command needs it

    record = find(stack, id)
    owner = record["owner"]
    request, missing = _request(stack, record)
    return {
        "id": id,
        "expired": has_expired(stack, record),
        "record": record,
        "lane": stack.lane_of(owner),
        "ownerStatus": owner_status(stack, record),
        "owners": owners.owners(stack, record),
        "started": owners.started_for(stack, id),
        "steps": {name: step for name, step in record.get("steps", {}).items() if name != CLOSINGS},
        "request": request,
        "requestKept": _kept(stack, record),
        "requestMissing": missing,
        "log": _log(stack, owner),
        "console": _console(stack, owner),
    }


def _request(stack: Stack, record: Record) -> tuple[Any, str | None]:
    """What an operator decides about, out of its envelope, or why it is not there."""
    if record["status"] != "QUARANTINED":
        return None, None
    found = originals.find(stack, record)
    if found.text is None:
        return None, found.missing
    request = opened(json.loads(found.text))
    return (None, "there, but nested too deep to be shown") if is_deeper(request, DEEP) else (request, None)


def _kept(stack: Stack, record: Record) -> str | None:
    if record["status"] not in STATUSES:
        return None
    if isinstance(record.get("request"), str):
        return IN_THE_RECORD
    if "requestRef" in record and not kept_request.foreign(stack, record):
        return "s3://{bucket}/{key}".format(**record["requestRef"])
    return WITH_ITS_OWNER if stack.has_execution(record["owner"]) else None


def _log(stack: Stack, owner: str) -> str | None:
    """Of an owner in the fast lane, in place of a history."""
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


def lines(shown: dict[str, Any], now: float) -> Iterator[str | Entry]:
    """The same for people."""
    record: Record = shown["record"]
    expired = "  EXPIRED: the next request with this id starts afresh" if shown["expired"] else ""
    was_released = record.get("error", {}).get("name") == RELEASED
    yield Entry("", f"{shown['id']}  {'RELEASED' if was_released else record['status']}{expired}")
    if record["status"] == "IN_PROGRESS":
        lease = record["leaseExpiresAt"]
        yield f"  lease       {'over since ' + since(now, lease) if lease < now else f'{lease - now:.0f} s more'}"
    until = ", but has ended when its lease is over" if shown["ownerStatus"] in (MAY_RUN, LEASE_OVER) else ""
    yield _entry("lane", f"{IN_LANE[shown['lane']]}{until}")
    if shown["requestKept"] in (IN_THE_RECORD, WITH_ITS_OWNER):
        yield f"  {'request':<12}kept {shown['requestKept']}"
    for key in ("attempts", "recoveries", "fence", "onCrash", "acquiredAt", "finishedAt"):
        if key in record:
            yield f"  {key:<12}{short(record[key])}"
    if "error" in record:
        yield _entry("error", f"{short(record['error']['name'])}: {record['error']['message']}")
    for key in ("result", "resultRef", "requestRef"):
        if key in record:  # a reference is there to be copied
            yield _entry(key, text_of(record[key]), is_value=key == "result")
    if shown["request"] is not None:
        yield _entry("request", text_of(shown["request"]), is_value=True)
    if shown["requestMissing"]:
        yield _entry("request", shown["requestMissing"])
    for name, step in islice(shown["steps"].items(), MOST_STEPS):
        result = step.get("result") if isinstance(step, dict) else step
        yield _entry("step done", f"{short(name)}: {text_of(result)}", is_value=True)
    if (more := len(shown["steps"]) - MOST_STEPS) > 0:
        yield f"  {'step done':<12}and {more:,} more, with --json"
    yield "owners, the newest first"
    for each in shown["owners"]:
        error = f"  {each['error']}" if each["error"] else ""
        yield _entry(each["status"], f"{short(each['owner'].rpartition(':')[2])}{error}")
        for lock in reversed(each["locks"]):
            taken = f"{lock['state']}: fence {lock['fence']}, attempt {lock['attempts']}"
            yield _entry("", f"{lock['acquiredAt']}  {taken}")
        if each["status"] == "GONE":
            yield _entry("", "its execution is gone; who was before it, nobody can tell")
    if shown["started"]:
        yield Entry("", "started by recovery, the fast lane or `once retry`, the newest first")
    for each in shown["started"]:
        yield _entry(each["status"], f"{each['execution'].rpartition(':')[2]}  {each['startedAt']}")
    if shown["log"]:
        yield Entry("", f"the owner in the fast lane: {shown['log']}")
    for name, link in shown["console"].items():
        yield f"{name}: {link}"


def _entry(name: str, text: str, *, is_value: bool = False) -> Entry:
    return Entry(f"  {name:<12}", text, is_value)


def since(now: float, lease: float) -> str:
    """How long a lease has been over; 0 is what recovery and operators set."""
    if lease <= 0:
        return "it was ended"
    seconds = int(now - lease)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
