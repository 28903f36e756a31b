"""`once run`: requests through the local cloud."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cli.problem import Problem, clear_errors, find_template


def read_event(name: str) -> str:
    """The text of a request. Raises Problem when it cannot be read or is not JSON."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
    except OSError as error:
        raise Problem(
            f"{name}: {error.strerror}; give the path of a request, such as events/charge-payment.json"
        ) from error
    except UnicodeDecodeError as error:
        raise Problem(f"{name}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    try:
        json.loads(text)
    except ValueError as error:
        raise Problem(f"{name}: not JSON: {error}") from error
    return text


def run_events(
    events: Sequence[str], times: int, concurrently: bool, real_time: bool, as_json: bool, template: Path | None
) -> int:
    requests = [text for text in map(read_event, events) for _ in range(times)]
    path = find_template(template)
    from cli import report
    from cli.effects import Effects
    from local import RealClock, VirtualClock
    from local.cloud import LocalCloud

    progress = report.stderr()
    with clear_errors(), LocalCloud(path, clock=RealClock() if real_time else VirtualClock()) as cloud:
        effects = Effects(cloud)
        executions = []
        if concurrently:
            executions = cloud.run_all(requests)
        else:
            for request in requests:
                executions.append(cloud.run(request))
                if not as_json:
                    report.print_path(progress, executions[-1])
        if concurrently and not as_json:
            for path_taken, count in Counter(e.states for e in executions).items():
                progress.print(f"{count:4} ×  {' → '.join(path_taken)}", style="dim")
        happened = effects.since()
    if as_json:
        report.print_json(executions, happened)
    else:
        progress.print()
        report.print_table(executions, happened)
    return report.exit_code(executions)
