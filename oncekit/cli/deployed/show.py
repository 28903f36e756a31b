"""`once show`: all that is known of one id, and what to do next."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Annotated, Any

import typer

from oncekit.cli.deployed import rejected_lines
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.options import Json, Profile, Region, StackName
from oncekit.cli.outcomes import message_in
from oncekit.cli.output import Attempts
from oncekit.cli.terminal import Entry
from oncekit.console.decided import was_run_again
from oncekit.console.visible import short, text_of
from oncekit.console.words import iso
from oncekit.contract.lanes import DIRECT, FAST, FULL, Invoked, name_of
from oncekit.contract.words import RELEASED
from oncekit.problem import Problem
from oncekit.stack import rejected as refused
from oncekit.stack.executions import LEASE_OVER, MAY_RUN, NO_EXECUTION
from oncekit.stack.facts import inspect, last_refused
from oncekit.stack.listing import since
from oncekit.stack.records import Missing, Record, is_pending
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack

IN_LANE = {
    FULL: "full: its owner can be asked",
    FAST: "fast: its owner cannot be asked",
    DIRECT: "direct: its owner, an invocation of its function, cannot be asked",
}
GOES_ON = {"RUNNING": "goes on", MAY_RUN: "may go on"}
"""By the status of its owner, the last attempt."""
MOST_LINES = 40
"""Of an attempt, the last ones, that are shown to people."""
MOST_FAILURES = 10

About = Annotated[
    str,
    typer.Argument(
        metavar="ID|ARN|KEY",
        help="An id, tenant#operation#idempotencyKey, the ARN of an execution, or the key rejected/... of a refused "
        "request.",
    ),
]


def show(
    about: About,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> int:
    """Show all that is known about an id, and what to do next.

    That is what happened, and when: the total first, then owners, crashes, waits, and who decided what (times in UTC);
    its record, its request and until when this is kept, the last request that was refused under its key (if it is among
    the newest refused ones), its owner with the path that it took, and what business logic printed and logged in each
    attempt; --json has the input and output of each state. For the ARN of an execution, the same about the id of its
    request, with the path of that execution.

    An owner in the fast lane, or in the direct one, where it is an invocation of the function, cannot be looked up. Its
    status comes from the record: MAY_RUN until its lease is over, LEASE_OVER after that, or ENDED if it holds no lock
    any more. It has no path. In any lane, the owner of a pending operation is PENDING: it has started work elsewhere,
    and has ended. TICKET is no execution, but work elsewhere, which has ended the operation, OPERATOR none, but a
    person.

    For a key that `once ls --rejected` lists: why that request was refused, what can be done, and the request.

    An attempt is found by the request id of its invocation. Where nothing has kept that, the command that shows
    everything which was logged at that time is printed.

    JSON: {id, summary, timeline: {total, askedAt, endedAt, moments: [{at, until, kind, sign, what, lasted,
    executions}]}, expired, record, lane, ownerStatus, steps, request, requestKept,
    refused: {key, error, message, refusedAt}, log, console,
    execution: {execution, status, startedAt, endedAt, error, cause, states}, logGroup, attempts: [{attempt, requestId,
    stream, lines: [{at, text}]}], notFound, notBegun, logCommand}; `states` are {state, enteredAt, exitedAt, input,
    output, errors}, `at` is in epoch ms. Of a refused request {key, id, operation, error, message, refusedAt,
    refusedBy, outcome, executionArn, reason, input}.
    """
    with on_stack(Place(stack, profile, region), about) as there:
        if about.startswith(refused.PREFIX):
            found = refused.shown(there, about)
            return answered(found, as_json, *rejected_lines.lines(found))
        try:
            known = inspect(there, about)
        except Missing as missing:
            raise Problem(f"{missing}{_refused(there, about)}") from missing
        return answered(known, as_json, *lines(known, there.now()))


def _refused(stack: Stack, id: str) -> str:
    """Where a request without a record is, if it was refused."""
    found = last_refused(stack, id)
    return f". A request with this id was refused, and is kept: `once show {found.key}`" if found else ""


def lines(shown: dict[str, Any], now: float) -> Iterator[str | Entry]:
    """The same for people."""
    if shown["record"] is None:
        yield Entry("", f"{shown['id'] or 'a request without an id'}  there is no record")
        yield from _timeline(shown["timeline"])
    else:
        yield from _about_the_record(shown, now)
        yield from _about_the_owner(shown)
    if shown["execution"]:
        yield from _path(shown["execution"])
    if shown["record"] is not None:
        yield from _logs(shown)
        yield from _next(shown)


def _about_the_record(shown: dict[str, Any], now: float) -> Iterator[str | Entry]:
    record: Record = shown["record"]
    expired = "  EXPIRED: the next request with this id starts afresh" if shown["expired"] else ""
    was_released = record.get("error", {}).get("name") == RELEASED
    yield Entry("", f"{shown['id']}  {'RELEASED' if was_released else record['status']}{expired}")
    yield from _timeline(shown["timeline"])
    if record["status"] == "IN_PROGRESS":
        lease = record["leaseExpiresAt"]
        yield f"  lease       {'over since ' + since(now, lease) if lease < now else f'{lease - now:.0f} s more'}"
    if is_pending(record):
        until = iso(datetime.datetime.fromtimestamp(record["leaseExpiresAt"], datetime.UTC))
        told = f"since {short(record['pendingSince'])}, until {until}: work elsewhere ends it with its ticket"
        yield _entry("pending", told)
    until = ", but has ended when its lease is over" if shown["ownerStatus"] in (MAY_RUN, LEASE_OVER) else ""
    if shown["lane"] is not None:
        yield _entry("lane", f"{IN_LANE[shown['lane']]}{until}")
    for key in ("attempts", "fence", "onCrash"):
        if key in record:
            again = " since it was run again" if key == "attempts" and was_run_again(record) else ""
            to_begin = ", the last of which is still to begin" if key == "attempts" and shown["notBegun"] else ""
            yield f"  {key:<12}{short(record[key])}{again}{to_begin}"
    if "error" in record:
        yield _entry("error", f"{short(record['error']['name'])}: {record['error']['message']}")
    if last := shown["refused"]:
        at = f", at {last['refusedAt']}" if last["refusedAt"] else ""
        yield _entry("refused", f"{short(last['error'])}{at}, kept: `once show {last['key']}`")
    for key in ("result", "resultRef"):
        if key in record:  # a reference is there to be copied
            yield _entry(key, text_of(record[key]), is_value=key == "result")
    if shown["request"] is not None:
        yield _entry("request", text_of(shown["request"]), is_value=True)
    if shown["requestKept"]:
        yield _entry("kept", shown["requestKept"])
    for name, step in shown["steps"].items():
        result = step.get("result") if isinstance(step, dict) else step
        yield _entry("step done", f"{short(name)}: {text_of(result)}", is_value=True)


def _timeline(told: dict[str, Any]) -> Iterator[str | Entry]:
    """The total first; a day where it is another one than before."""
    if told["total"]:
        yield Entry("", f"{told['total']} (UTC)")
    day = (told["askedAt"] or "")[:10]
    for each in told["moments"]:
        at = each["at"] or ""
        if at and at[:10] != day:
            day = at[:10]
            yield f"  {day}"
        lasted = f"  {each['lasted']}" if each["lasted"] else ""
        yield Entry(f"  {at[11:19] or '?':<8}  {each['sign']} ", f"{each['what']}{lasted}")


def _about_the_owner(shown: dict[str, Any]) -> Iterator[str | Entry]:
    owner = shown["record"]["owner"]
    yield _entry("owner", f"{shown['ownerStatus']}  {short(name_of(owner))}")
    if shown["log"]:
        yield Entry("", f"the owner in the {shown['lane']} lane: {shown['log']}")
    if shown["console"]:
        yield f"console: {shown['console']}"


def _path(execution: dict[str, Any]) -> Iterator[str | Entry]:
    states = execution["states"]
    ended = f" to {execution['endedAt']}" if execution["endedAt"] else ""
    about = f"{name_of(execution['execution'])}  {execution['status']}  {execution['startedAt']}{ended}"
    yield Entry("path of ", about)
    yield Entry("  ", " → ".join(each["state"] for each in states))
    failures = [(each["state"], failure) for each in states for failure in each["errors"]]
    if (left_out := len(failures) - MOST_FAILURES) > 0:
        yield f"  … {left_out:,} earlier errors, with --json"
    for state, failure in failures[-MOST_FAILURES:]:
        message = message_in(failure["cause"])
        yield Entry(
            f"  {state}  ", short(failure["error"] or "unknown") + (f": {short(message, 1000)}" if message else "")
        )


def _logs(shown: dict[str, Any]) -> Iterator[str | Entry]:
    """Of each attempt when it began and in which stream it is, then its lines with their times."""
    for each in shown["attempts"]:
        request = "" if each["attempt"] else f"request {each['requestId']}  "
        began = _time(each["lines"][0]["at"], "seconds") + "  " if each["lines"] else ""
        yield Entry(f"attempt {each['attempt'] or '?'}  ", f"{request}{began}{each['stream']}")
        printed = list(_printed(each["lines"]))
        if (left_out := len(printed) - MOST_LINES) > 0:
            yield f"  … {left_out:,} earlier lines, with --json"
        yield from (f"  {line}" for line in printed[-MOST_LINES:] or ["it printed nothing of its own"])
    if shown["notFound"] and shown["logCommand"]:
        yield Entry("", f"{'; '.join(_missing(shown))}. This shows everything that was logged at that time:")
        yield shown["logCommand"]


def _missing(shown: dict[str, Any]) -> Iterator[str]:
    """Of the last attempt, while it goes on, that it has logged nothing yet; of the others that they were not found."""
    missing, begun = shown["notFound"], shown["record"]["attempts"] - shown["notBegun"]
    only = "Its only attempt" if begun == 1 else ""
    if (goes_on := GOES_ON.get(shown["ownerStatus"])) and not shown["notBegun"] and not _is_last_found(shown):
        yield f"{only or f'Attempt {begun}'} {goes_on}, and nothing that names it is logged yet"
        missing -= 1
    if missing:
        was = "was" if missing == 1 else "were"
        of = only or f"{missing} of its {begun} attempts"
        yield f"{of} {was} not found in {shown['logGroup']}: {_why_not_found(shown, begun)}"


def _is_last_found(shown: dict[str, Any]) -> bool:
    """By its number, or as the owner in the direct lane."""
    record, invoked = shown["record"], Invoked.of(shown["record"]["owner"])
    found = [(each["attempt"], each["requestId"]) for each in shown["attempts"]]
    return any(number == record["attempts"] or (invoked and request == invoked.request) for number, request in found)


def _why_not_found(shown: dict[str, Any], begun: int) -> str:
    """The last attempt did not crash where it has answered."""
    record: Record = shown["record"]
    if shown["notFound"] == begun and is_pending(record):
        return "what it logged is not there yet, or not any more"
    has_answered = record["status"] in ("COMPLETED", "FAILED") and shown["ownerStatus"] not in NO_EXECUTION
    if shown["notFound"] == begun == 1 and has_answered:
        return "a function that does not use the library logs no id"
    return "an attempt that crashed, or whose function does not use the library, logs no id"


def _printed(told: Sequence[dict[str, Any]]) -> Iterator[str]:
    attempts = Attempts()
    for line in told:
        at = _time(line["at"], "milliseconds")[11:]
        yield from (f"{at} | {each}" for each in attempts.lines_of(line["text"]))


def _time(milliseconds: int, precision: str) -> str:
    at = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return at.isoformat(timespec=precision).replace("+00:00", "Z")


def _next(shown: dict[str, Any]) -> Iterator[str | Entry]:
    if shown["record"]["status"] == "QUARANTINED":
        id = quote(shown["id"])
        yield Entry("", "next: find out whether its effect has happened, and fix the cause; then")
        yield f"  once resolve {id} --result FILE  # if it has happened; or --failed MESSAGE"
        yield f"  once retry {id}  # if it has not"
    elif is_pending(shown["record"]):
        id = quote(shown["id"])
        yield Entry("", "next: nothing, if the work elsewhere goes on, for its ticket ends it; else a person does")
        yield f"  once resolve {id} --result FILE  # if the work is done; or --failed MESSAGE"
        yield f"  once retry {id}  # if it is lost: business logic starts again, with the same ticket"


def _entry(name: str, text: str, *, is_value: bool = False) -> Entry:
    return Entry(f"  {name:<12}", text, is_value)
