"""`once up`: the local cloud stays up and follows the files."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oncekit.cli.deployed.surroundings import LED_ELSEWHERE
from oncekit.cli.here.cloud import clear_errors, find_template, local_cloud
from oncekit.cli.options import Template
from oncekit.cli.output import lines_of
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import say, tell

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud
    from oncekit.local.permissions import Denial

FOLDERS = ("functions", "shared", "statemachine")


Port = Annotated[
    int,
    typer.Option("--port", metavar="PORT", min=0, max=65535, help="The port of AWS_ENDPOINT_URL; 0 takes a free one."),
]


def up(port: Port = 4599, template: Template = None) -> None:
    """Keep the local cloud up, in real time. Deploys again when files change; Ctrl-C ends it.

    Prints the lines to paste in other terminals: which settings of real accounts to unset, the endpoint, and an access
    key. The key is made at random for each run; without it, no other program and no page in a browser is let in.
    """
    raise typer.Exit(stay_up(port, template))


def stay_up(port: int, template: Path | None) -> int:
    path = find_template(template).resolve()
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    from oncekit.cli.here import report
    from oncekit.local import RealClock

    with local_cloud(path, RealClock(), port, _print_output) as cloud:
        changes = _watch(path, stopping)
        _tell(cloud)
        told: set[Denial] = set()
        while not stopping.is_set():
            with suppress(queue.Empty):
                _deploy_again(cloud, changes.get(timeout=0.2))
            new = [denial for denial in cloud.denials() if denial not in told]
            report.tell_denials(new)
            told.update(new)
    tell("The local cloud is down.")
    return 0


def _watch(template: Path, stopping: threading.Event) -> queue.Queue[set[str]]:
    """The names of files that change, in a queue.

    The template is watched by its folder: an editor that saves by renaming puts another file in its place, and a watch
    of the file would go away with the first one.
    """
    from watchfiles import watch

    changes: queue.Queue[set[str]] = queue.Queue()

    def follow(*paths: Path, recursive: bool, wanted: Callable[[Path], bool]) -> None:
        seen = watch(*paths, recursive=recursive, stop_event=stopping, raise_interrupt=False)
        for each in seen:
            if names := {Path(name).name for _, name in each if wanted(Path(name))}:
                changes.put(names)

    folders = [template.parent / name for name in FOLDERS if (template.parent / name).is_dir()]
    watches = [((template.parent,), False, lambda name: name == template), (folders, True, lambda _: True)]
    for paths, recursive, wanted in watches:
        if paths:
            options = {"recursive": recursive, "wanted": wanted}
            threading.Thread(target=follow, args=tuple(paths), kwargs=options, daemon=True).start()
    return changes


def _print_output(function: str, line: str) -> None:
    tell(*lines_of(function, line))


def _tell(cloud: LocalCloud) -> None:
    say(
        f"unset {' '.join(LED_ELSEWHERE)}",
        *(f"export {name}={value}" for name, value in cloud.environment.items()),
        "",
        "# for example, in another terminal, after the lines above:",
        f"aws stepfunctions start-execution --state-machine-arn {cloud.outputs['StateMachineArn']} "
        "--input file://events/charge-payment.json",
    )
    tell("The local cloud is up; it deploys again when files change. Ctrl-C ends it.")


def _deploy_again(cloud: LocalCloud, names: set[str]) -> None:
    try:
        with clear_errors():
            cloud.redeploy()
        tell(f"✓ Deployed again: {', '.join(sorted(names))} changed.")
    except Problem as problem:
        tell(f"✗ Not deployed, what was there stays: {problem}")
