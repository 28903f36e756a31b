"""What functions of a stack printed, for its console: read in CloudWatch Logs when somebody asks for it.

Of an attempt the history tells which function was invoked, from when until when, and by which request id: Lambda's, in
the answer of the call (docs/verify-on-aws.md, V85) or in its error. Where it tells none, such as of an attempt that
timed out, or no line has it, lines that name the id of the request are looked for, which the library writes. Of an
owner in the fast lane there is no history: its lines are looked for by the id alone, as `once logs` does.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from shlex import quote

from oncekit.cli.deployed import crashed_attempts, log_lines, logs, records
from oncekit.cli.deployed.log_lines import TooMuchToRead, Window
from oncekit.cli.deployed.stack import Stack, clear_aws_errors
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import Entry
from oncekit.console.json_text import members_of
from oncekit.console.requests import id_in
from oncekit.console.run import Attempt, Run
from oncekit.console.source import Printed, Unknown

MARGIN_MS = 5_000
"""How much earlier or later than its history says an attempt may have printed: other clocks, and its last words."""
MOST_PAGES = 20
"""That one search asks for."""
LATE = "lines arrive some seconds late: close this and open it again to look for more"
_ID = crashed_attempts.REQUEST_ID.pattern
_TOLD_BY_LAMBDA = re.compile(f"RequestId: ({_ID})|({_ID}) Task timed out")
"""How Lambda names the request id in the error of an attempt that ended without an answer."""


class StackLog:
    """Implements `LogReader`."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def of_attempt(self, run: Run, visit: int, attempt: int) -> Printed:
        call = _call(run, visit, attempt)
        id, request_id = id_in(run.input or "") or "", request_id_of(call)
        window = _window(call.began_at, call.ended_at or self._now())
        with self._clearly(id):
            group = log_lines.group_of(self._stack, _function(call), "there is")
            found = log_lines.by_request(self._stack, group, id, window, [request_id] if request_id else [])
            found = found or log_lines.attempts(self._stack, group, id, window)
        lines = _texts(logs.lines_for_people(found))
        named = f"{id} or the request id {request_id}" if request_id else f"{id}, and the history tells no request id"
        none = (
            f"No line of that time in {group} names {named}. What was printed without it cannot be told apart; {LATE}"
        )
        return Printed(lines, "" if lines else none)

    def of_id(self, id: str) -> Printed:
        with self._clearly(id):
            record = records.find(self._stack, id)
            group = log_lines.log_group(self._stack, id)
            window = self._window_of(record)
            found = logs.attempts_of(self._stack, group, id, window, record)
        return Printed(_texts(logs.lines_for_people(found)), " ".join(_texts(logs.not_found(found, record, group))))

    def _window_of(self, record: records.Record) -> Window:
        """From its first lock that the record may show until it was finished, or now."""
        begin = datetime.timedelta(seconds=crashed_attempts.RECOVERED_SECONDS if record.get("recoveries") else 0)
        try:
            acquired = datetime.datetime.fromisoformat(record["acquiredAt"])
            finished = datetime.datetime.fromisoformat(record["finishedAt"]) if "finishedAt" in record else self._now()
        except ValueError as error:  # a function may have written any text
            raise Problem("its record tells no time that can be read") from error
        return _window(acquired - begin, finished)

    def _now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self._stack.now(), datetime.UTC)

    @contextmanager
    def _clearly(self, id: str) -> Iterator[None]:
        """What goes wrong, as one line."""
        try:
            with clear_aws_errors():
                yield
        except Problem as problem:
            raise Unknown(str(problem)) from problem
        except TooMuchToRead as error:
            far = f"The log of that time is too large to be searched here; `once logs {quote(id)}` searches all of it"
            raise Unknown(far) from error


def _texts(lines: Iterable[str | Entry]) -> list[str]:
    return [each.head + each.text if isinstance(each, Entry) else each for each in lines]


def request_id_of(call: Attempt) -> str:
    """Lambda's id of the invocation, where its answer or its error tells it; else nothing."""
    cause = call.failure.cause if call.failure else None
    told = [crashed_attempts.of_answer(call.answer), members_of(cause).get("requestId")]
    if found := _TOLD_BY_LAMBDA.search(cause or ""):
        told += found.groups()
    return next((each for each in told if isinstance(each, str) and crashed_attempts.REQUEST_ID.fullmatch(each)), "")


def _call(run: Run, visit: int, attempt: int) -> Attempt:
    calls: Sequence[Attempt] = next((each.attempts for each in run.visits if each.number == visit), ())
    if attempt >= len(calls) or not calls[attempt].invokes:
        raise Unknown("the execution invoked no function there")
    return calls[attempt]


def _function(call: Attempt) -> str:
    """The name of the function, without its alias: its log group is the same."""
    name = members_of(call.parameters).get("FunctionName")
    if not isinstance(name, str):
        raise Problem("the history does not tell which function was invoked")
    return name.rpartition(":function:")[2].partition(":")[0]


def _window(begin: datetime.datetime, end: datetime.datetime) -> Window:
    return Window(_ms(begin) - MARGIN_MS, _ms(end) + MARGIN_MS, MOST_PAGES)


def _ms(at: datetime.datetime) -> int:
    return int((at if at.tzinfo else at.replace(tzinfo=datetime.UTC)).timestamp() * 1000)
