"""`once up`: the local cloud stays up, tells what happens in it, and follows the files."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from oncekit.cli.here.cloud import local_cloud
from oncekit.cli.here.files import Watch
from oncekit.cli.here.output_lock import alone, tell_alone
from oncekit.cli.options import Parameters, Template, values_of
from oncekit.cli.output import lines_of
from oncekit.cli.template import clear_errors, find_event, find_template
from oncekit.cli.terminal import say, tell
from oncekit.console.requests import id_in
from oncekit.local.lanes import FAST, FULL, MACHINES
from oncekit.problem import Problem

if TYPE_CHECKING:
    from oncekit.local import Execution
    from oncekit.local.lambda_runtime import LogLine
    from oncekit.local.once_cloud import LocalCloud
    from oncekit.local.permissions import Denial

SAMPLE = "charge-payment.json"
LOOK_S = 0.2
"""How long an interrupt may wait."""

Port = Annotated[
    int,
    typer.Option("--port", metavar="PORT", min=0, max=65535, help="The port of AWS_ENDPOINT_URL; 0 takes a free one."),
]
ConsolePort = Annotated[
    int | None,
    typer.Option(
        "--console-port",
        metavar="PORT",
        min=0,
        max=65535,
        help="The port of the console; by default 4600, or a free one if that is taken.",
    ),
]
HttpPort = Annotated[
    int,
    typer.Option("--http-port", metavar="PORT", min=0, max=65535, help="The port of the HTTP API; 0 takes a free one."),
]
FromContainers = Annotated[
    bool,
    typer.Option(
        "--from-containers", help="Also accept calls of functions that `sam local invoke` runs in a container."
    ),
]


def up(
    port: Port = 4599,
    http_port: HttpPort = 4601,
    console_port: ConsolePort = None,
    from_containers: FromContainers = False,
    parameter: Parameters = None,
    template: Template = None,
) -> int:
    """Keep the local cloud running, in real time. Deploys again when files change; Ctrl-C ends it.

    It follows what is deployed: the template and those inside it, code and layers of functions, and definitions; in
    these, not what is hidden, nor build, node_modules, __pycache__ and virtual environments.

    Prints the address of the console, a page that shows each request, run and record while it happens. In another
    terminal, `eval "$(once env)"` unsets the settings of real accounts, and sets the endpoint and an access key. The
    key is random in each run; calls without it, from a program or a web page, are refused.
    It listens on 127.0.0.1 only, also with --from-containers: docs/sam-local.md says how a container reaches it.
    """
    return stay_up(Ports(port, http_port, console_port), from_containers, values_of(parameter), template)


class Ports(NamedTuple):
    """Where what is kept up listens; 0 is any free port, and None the console's own or else a free one."""

    cloud: int
    http: int
    console: int | None


def stay_up(ports: Ports, from_containers: bool, parameters: Mapping[str, str], template: Path | None) -> int:
    path = find_template(template).resolve()
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    from oncekit.cli.here.console import console_of
    from oncekit.cli.here.ends import watching
    from oncekit.cli.here.kept_logs import KeptLogs
    from oncekit.cli.here.up_environment import kept_while_up
    from oncekit.local.clock import RealClock
    from oncekit.local.request_rules import HOST_OF_CONTAINERS

    opened: list[LocalCloud] = []
    kept: list[KeptLogs] = []

    def on_output(line: LogLine) -> None:
        if not line.is_mark:
            operations = (each.operations.operation_of(line.function) for each in opened)
            tell_alone(*lines_of(next(operations, None) or line.function, line.text))
        for each in kept:
            each.put(line)

    names = [HOST_OF_CONTAINERS] if from_containers else []
    with local_cloud(path, RealClock(), ports.cloud, on_output, names, parameters, ports.http) as cloud:
        news = News(cloud)
        opened.append(cloud)
        kept.append(KeptLogs(cloud))
        with (
            console_of(cloud, path.parent, ports.console) as console,
            watching(lambda machine, ended: news.put(lambda: news.tell_end(machine, ended))),
            kept_while_up(path, cloud.environment),
        ):
            watch = Watch(
                lambda: {path, *cloud.sources}, stopping, lambda files: news.put(lambda: news.deploy_again(files))
            )
            watch.start()
            _tell(cloud, console, path)
            while not stopping.is_set():
                news.tell()
        kept.clear()  # what functions print while the cloud goes down has no place any more
    tell("The local cloud is down.")
    return 0


class News:
    """What happened in the cloud and to its files, told one after the other by the thread that calls `tell`."""

    def __init__(self, cloud: LocalCloud) -> None:
        from oncekit.cli.paper import Paper

        self._cloud = cloud
        self._paper = Paper(error=True)
        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._told: set[Denial] = set()

    def put(self, work: Callable[[], None]) -> None:
        self._waiting.put(work)

    def tell(self) -> None:
        """The next piece of news, where there is one soon, and what was denied."""
        from oncekit.cli.here.report import tell_denials

        with suppress(queue.Empty):
            self._waiting.get(timeout=LOOK_S)()
        new = [denial for denial in self._cloud.denials() if denial not in self._told]
        tell_denials(new)
        self._told.update(new)

    def tell_end(self, machine: str, execution: Execution) -> None:
        from oncekit.cli.here import ends

        is_operation = machine in {self._cloud.outputs.get(output) for output in MACHINES.values()}
        with alone():
            (ends.tell_end if is_operation else ends.tell_failed_recovery)(execution, self._paper)

    def deploy_again(self, files: set[Path]) -> None:
        """Deploy what is on disk now."""
        try:
            with clear_errors():
                self._cloud.redeploy()
            tell(f"✓ Deployed again: {', '.join(sorted({file.name for file in files}))} changed.")
        except Problem as problem:
            tell(f"✗ Not deployed, the earlier version stays: {problem}")


def _tell(cloud: LocalCloud, console: str, template: Path) -> None:
    """How to use it, the address of the page last."""
    outputs = cloud.outputs
    ways = {
        "HTTP": "RequestApiUrl",
        "queue": "RequestQueueUrl",
        "bus": "EventBusName",
        "full lane": MACHINES[FULL],
        "fast lane": MACHINES[FAST],
    }
    tell("The local cloud is up; it deploys again when a file changes that it was deployed from. Ctrl-C ends it.")
    say(
        *(f"  {way:<11}{outputs[output]}" for way, output in ways.items() if output in outputs),
        'In another terminal, eval "$(once env)" leads once, aws and boto3 here. Then, for example:',
        f"  once send {_example(template)} --wait",
        "  once doctor",
        f"Watch it in a browser: {console}",
    )


def _example(template: Path) -> str:
    """A request file of the application, the sample's if it is there; beside requests there may be other events."""
    files = sorted((template.parent / "events").glob("*.json"), key=lambda each: (each.name != SAMPLE, each.name))
    requests = (each for each in files if each.is_file() and id_in(each.read_text("utf-8", "replace")))
    found = next(requests, None)
    return "EVENT" if found is None else quote(find_event(str(found.relative_to(template.parent)), template))
