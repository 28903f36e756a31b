"""What the operator commands print, and the codes they end with."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import typer

from cli import interventions, records, rejected
from cli.problem import Problem
from cli.run import read_event
from cli.stack import Stack, clear_aws_errors, connect

MEANS_RETRY = "Its kept request starts again under a higher fence; finished steps are kept."
RISK = (
    "Releasing forgets that business logic was started: the next request with this id runs it again, "
    "and an effect that has happened happens twice. If you know how it ended, use `once resolve`."
)


def _on_stack(place: tuple[str, str | None, str | None], about: str, work: Callable[[Stack], int]) -> int:
    with clear_aws_errors(about):
        try:
            return work(connect(*place))
        except records.Changed as changed:
            typer.echo(f"once: {changed}", err=True)
            return 3


def _print(answer: Any, as_json: bool, text: str) -> int:
    typer.echo(json.dumps(answer, indent=2) if as_json else text)
    return 0


def ls(
    place: Any, statuses: list[str], overdue: bool, prefix: tuple[str | None, str | None], limit: int, as_json: bool
) -> int:
    if unknown := [each for each in statuses if each not in records.STATUSES]:
        raise Problem(f"--status {unknown[0]}: there are {' and '.join(records.STATUSES)}")
    tenant, operation = prefix

    def wanted(id: str) -> bool:
        its_tenant, its_operation, _ = id.split("#", 2)
        return tenant in (None, its_tenant) and operation in (None, its_operation)

    def work(stack: Stack) -> int:
        found = []
        ids = list(filter(wanted, records.open_ids(stack, statuses or records.STATUSES)))
        for record in records.read_all(stack, ids):
            late = record["status"] == "IN_PROGRESS" and record["leaseExpiresAt"] < stack.now()
            if record["status"] not in (statuses or records.STATUSES) or (overdue and not late):
                continue  # the index lags behind
            keys = ("id", "status", "fence", "attempts", "acquiredAt", "owner")
            found.append({**{key: record[key] for key in keys}, "overdue": late, "error": record.get("error")})
        found = sorted(found, key=lambda each: (each["acquiredAt"], each["id"]))[:limit]
        lines = [
            f"{each['status']:<12}{'overdue ' if each['overdue'] else ''}{each['id']}  fence {each['fence']}, "
            f"since {each['acquiredAt']}" + (f"  {each['error']['name']}" if each["error"] else "")
            for each in found
        ]
        return _print({"operations": found}, as_json, "\n".join(lines) or "Nothing is open.")

    return _on_stack(place, "", work)


def show(place: Any, id: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        record = records.read(stack, id)
        region = stack.client("stepfunctions").meta.region_name
        link = f"https://{region}.console.aws.amazon.com/states/home?region={region}#/v2/executions/details/{record['owner']}"
        answer = {"record": record, "ownerStatus": interventions.owner_status(stack, record["owner"]), "console": link}
        lines = [
            f"{key}: {value if isinstance(value, str | int) else json.dumps(value)}" for key, value in record.items()
        ]
        lines += [f"owner's execution: {answer['ownerStatus']}", f"console: {link}"]
        return _print(answer, as_json, "\n".join(lines))

    return _on_stack(place, id, work)


def retry(place: Any, id: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        done = interventions.retry(stack, id)
        return _print(done, as_json, f"✓ {id}: started again. {MEANS_RETRY}\n{done['executionArn']}")

    return _on_stack(place, id, work)


def resolve(place: Any, id: str, result: str | None, failed: str | None, as_json: bool) -> int:
    if (result is None) == (failed is None):
        raise Problem(f"{id}: give one of --result FILE and --failed MESSAGE")
    text = None if result is None else read_event(result).strip()

    def work(stack: Stack) -> int:
        done = interventions.resolve(stack, id, text, failed)
        return _print(done, as_json, f"✓ {id}: {done['status']}; every duplicate gets this answer from now on.")

    return _on_stack(place, id, work)


def release(place: Any, id: str, yes: bool, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        shown = records.read(stack, id)
        if shown["status"] not in records.STATUSES:
            raise records.Changed(f"{id}: it is {shown['status']}: it holds no lock; nothing was changed")
        if not yes:
            status = interventions.owner_status(stack, shown["owner"])
            typer.echo(f"{id}: {shown['status']}, fence {shown['fence']}, its owner is {status}.\n{RISK}", err=True)
            if not sys.stdin.isatty():
                raise Problem(f"{id}: not released; a script says so with --yes")
            if not typer.confirm("Release it?", err=True):
                typer.echo(f"{id}: not released", err=True)
                return 1
        done = interventions.release(stack, shown)
        return _print(done, as_json, f"✓ {id}: released; the next request with this id runs business logic.")

    return _on_stack(place, id, work)


def redrive(place: Any, id: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        done = interventions.redrive(stack, id)
        return _print(done, as_json, f"✓ {id}: its owner goes on from {done['from']}; business logic is not started.")

    return _on_stack(place, id, work)


def replay_rejected(place: Any, reason: str | None, dry_run: bool, limit: int, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        done = rejected.replay(stack, reason, dry_run, limit)
        lines = [f"{each['outcome']:<12}{each['error']}  {each['executionArn'] or each['messageId']}" for each in done]
        return _print({"messages": done}, as_json, "\n".join(lines) or "No such message is in the queue.")

    return _on_stack(place, "", work)
