"""`once run`: requests through the local cloud."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from cli.cloud import find_template, local_cloud
from cli.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local import Clock

MOST_BYTES = 262_144
"""What StartExecution takes as input."""


def read_event(name: str) -> str:
    """The text of a request. Raises Problem when it cannot be read, is not JSON, or is too large to be started with."""
    where = "standard input" if name == "-" else name
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise Problem(
            f"{where}: {error.strerror}; give the path of a request, such as events/charge-payment.json"
        ) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(f"{where}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise Problem(f"{where}: not JSON: {error}" if text.strip() else f"{where}: empty; give a request") from error
    except RecursionError as error:
        raise Problem(f"{where}: nested too deep to be read") from error
    if (size := len(text.encode())) > MOST_BYTES:
        raise Problem(
            f"{where}: {size:,} bytes, but Step Functions takes at most {MOST_BYTES:,}; "
            "put the data in S3 and send a reference in the payload"
        )
    return text


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number there; leave the member out, or send null")


def run_events(
    events: Sequence[str], times: int, concurrently: bool, real_time: bool, as_json: bool, template: Path | None
) -> int:
    requests = [text for text in map(read_event, events) for _ in range(times)]
    path = find_template(template)
    from cli import report
    from cli.effects import Effects
    from cli.progress import follow, follow_all
    from local import RealClock, VirtualClock

    progress = report.stderr()
    progress.quiet = as_json
    with local_cloud(path, RealClock() if real_time else VirtualClock()) as cloud:
        effects = Effects(cloud)
        if concurrently:
            with standing_still(cloud.clock):
                arns = [cloud.start(request) for request in requests]
            executions = follow_all(cloud, arns, progress)
        else:
            executions = [follow(cloud, cloud.start(request), progress) for request in requests]
        happened = effects.since()
    if as_json:
        report.print_json(executions, happened)
    else:
        progress.print()
        report.print_table(executions, happened)
    return report.exit_code(executions)


@contextmanager
def standing_still(clock: Clock) -> Iterator[None]:
    """Virtual time stands still meanwhile: what is started inside starts at once."""
    clock.enter()
    try:
        yield
    finally:
        clock.leave()
