"""`once up`: the local cloud stays up, tells what happens in it, and follows the files."""

from __future__ import annotations

import json
import queue
import re
import signal
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oncekit.cli.here.files import Watch
from oncekit.cli.here.opening import local_cloud
from oncekit.cli.here.own_triggers import own_triggers
from oncekit.cli.options import Parameters, Template, values_of
from oncekit.cli.output import is_of_lambda, lines_of
from oncekit.cli.template import clear_errors, find_event, find_template
from oncekit.cli.terminal import say, tell
from oncekit.contract.lanes import FAST, FULL, MACHINES
from oncekit.contract.requests import id_in
from oncekit.problem import Problem

if TYPE_CHECKING:
    from oncekit.local import Execution
    from oncekit.local.lambda_runtime import LogLine
    from oncekit.local.once_cloud import LocalCloud
    from oncekit.local.permissions import Denial

EXAMPLE = "charge-payment.json"
LOOK_S = 0.2
"""How long an interrupt may wait."""
_OPERATION = re.compile(r'operation\\*": *\\*"([\w-]+)')
"""In what makes a request of a message; what Once itself has takes the operation from the request."""

Port = Annotated[
    int,
    typer.Option("--port", metavar="PORT", min=0, max=65535, help="The port of AWS_ENDPOINT_URL; 0 takes a free one."),
]
HttpPort = Annotated[
    int,
    typer.Option("--http-port", metavar="PORT", min=0, max=65535, help="The port of the HTTP API; 0 takes a free one."),
]
ConsolePort = Annotated[
    int,
    typer.Option("--console-port", metavar="PORT", min=0, max=65535, help="The port of the page; 0 takes a free one."),
]

Data = Annotated[
    Path | None,
    typer.Option(metavar="DIR", file_okay=False, help="Keep tables, buckets and the keys here over a restart."),
]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]


def up(
    port: Port = 4599,
    http_port: HttpPort = 4601,
    console_port: ConsolePort = 4600,
    data: Data = None,
    open_page: Open = False,
    parameter: Parameters = None,
    template: Template = None,
) -> int:
    """Keep the local cloud running, in real time. Deploys again when files change; Ctrl-C ends it.

    It follows what is deployed: the template and those inside it, code and layers of functions, and definitions; in
    these, not what is hidden, nor build, node_modules, __pycache__ and virtual environments.

    Prints the address of the console, a page that shows each request, run and record while it happens. In another
    terminal, `eval "$(once env)"` unsets the settings of real accounts, and sets the endpoint and an access key. The
    key is random in each run; calls without it, from a program or a web page, are refused.
    It listens on 127.0.0.1 only.

    With --data, what tables and buckets contain when it ends is there again at the next start, under the same access
    key, and the page has the same key in its address. Executions and messages are not: the page lists the records, and
    recovery continues the operations that were in progress.
    """
    path, parameters = find_template(template).resolve(), values_of(parameter)
    stopping, is_up = threading.Event(), threading.Event()

    def stop(*_: object) -> None:
        stopping.set()
        if not is_up.is_set():  # nobody looks at the other event yet, and a start can take long
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the last: the terminal is closed
        signal.signal(number, stop)
    from oncekit.cli.here.console import console_of
    from oncekit.cli.here.ends import watching
    from oncekit.cli.here.env import kept_while_up
    from oncekit.cli.here.kept_data import keeping, kept_in
    from oncekit.local.clock import RealClock
    from oncekit.local.endpoint.access_keys import AccessKey
    from oncekit.local.templates.elsewhere import FILE as VALUES

    news, kept = News(), kept_in(data)
    key = AccessKey(**kept["accessKey"])
    with local_cloud(path, RealClock(), port, news.printed, parameters, http_port, key) as cloud:
        news.follow(cloud)
        with (
            keeping(cloud, data, kept),
            console_of(cloud, path.parent, console_port, kept["pageKey"]) as console,
            watching(news.ended),
            kept_while_up(path, cloud.environment),
        ):
            Watch(lambda: {path, path.parent / VALUES, *cloud.sources}, stopping, news.changed).start()
            is_up.set()
            _tell(cloud, console, path)
            news.look()
            if open_page:
                webbrowser.open(console)
            while not stopping.is_set():
                news.tell()
            news.tell_rest()
    tell("The local cloud is down.")
    return 0


class News:
    """What happened in the cloud and to its files, from any thread; one thread tells it, one after the other."""

    def __init__(self) -> None:
        from oncekit.cli.here.ends import Ends
        from oncekit.cli.paper import Paper

        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._paper = Paper(error=True)
        self._ends = Ends(self._paper)
        self._denied: set[Denial] = set()
        self._dead_letters: Mapping[str, int] = {}
        self._not_loaded: dict[str, set[str]] = {}
        """By function, what its attempts to load have said."""

    def follow(self, cloud: LocalCloud) -> None:
        """Before anything is told: the cloud that it is about."""
        from oncekit.cli.here.kept_logs import KeptLogs

        self._cloud, self._kept = cloud, KeptLogs(cloud)

    def printed(self, line: LogLine) -> None:
        self._waiting.put(lambda: self._tell_line(line))

    def ended(self, machine: str, execution: Execution) -> None:
        self._waiting.put(lambda: self._tell_end(machine, execution))

    def changed(self, files: set[Path]) -> None:
        self._waiting.put(lambda: self._deploy_again(files))

    def look(self) -> None:
        """Which operations have a function that cannot be loaded: told as soon as it is known."""
        threading.Thread(target=self._load, daemon=True).start()

    def _load(self) -> None:
        from oncekit.local.cloud import NotLoadedError

        for operation, named in self._cloud.operations.named.items():
            if isinstance(why := self._cloud.why_not_started(operation), NotLoadedError):
                self._not_loaded.setdefault(named.name, set())
                self._waiting.put(partial(tell, f"✗ {why}"))
            else:
                self._not_loaded.pop(named.name, None)

    def tell(self) -> None:
        """The news, where there are some soon, what was denied, and dead letters."""
        from oncekit.cli.here.report import tell_denials

        with suppress(queue.Empty):
            self._waiting.get(timeout=LOOK_S)()
            for _ in range(self._waiting.qsize()):  # each line that a function prints is a piece of news
                self._waiting.get_nowait()()
        self._ends.look()
        tell_denials(new := [denial for denial in self._cloud.denials() if denial not in self._denied])
        self._denied.update(new)
        self._tell_dead_letters()

    def tell_rest(self) -> None:
        """When it ends: what waited for more of its kind."""
        self._ends.look(is_last=True)

    def _tell_line(self, line: LogLine) -> None:
        self._kept.put(line)
        if not line.is_mark and not is_of_lambda(line.text):
            function = ", ".join(self._cloud.operations.operations_of(line.function)) or line.function
            lines = lines_of(line.text)
            if line.is_of_init and (said := self._not_loaded.get(line.function)) is not None:  # each attempt says it
                lines = [each for each in lines if each not in said]
                said.update(lines)
            tell(*(f"{function} | {each}" for each in lines))

    def _tell_end(self, machine: str, execution: Execution) -> None:
        from oncekit.cli.here import ends

        own = self._cloud.once.outputs
        if machine in {own.get(output) for output in MACHINES.values()}:
            self._ends.tell(execution)
        elif machine == own.get("RecoveryStateMachineArn"):
            ends.tell_failure("recovery", execution, self._paper)
        else:
            ends.tell_failure(machine.rpartition(":")[2], execution, self._paper)

    def _deploy_again(self, files: set[Path]) -> None:
        """Deploy what is on disk now."""
        try:
            with clear_errors():
                self._cloud.redeploy()
            tell(f"✓ Deployed again: {', '.join(sorted({file.name for file in files}))} changed.")
            self.look()
        except Problem as problem:
            tell(f"✗ Not deployed, the earlier version stays: {problem}")

    def _tell_dead_letters(self) -> None:
        before, self._dead_letters = self._dead_letters, self._cloud.dead_letters()
        for name, count in self._dead_letters.items():
            if count > before.get(name, 0):
                tell(f"✗ {name} has {count} message{'s' * (count > 1)} that started nothing: see `once doctor`")


def _tell(cloud: LocalCloud, console: str, template: Path) -> None:
    """How to use it, the address of the page last."""
    outputs = cloud.once.outputs
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
        *(f"  {way:<11}{where}  ({operation})" for way, where, operation in (*_own_ways(cloud), *own_triggers(cloud))),
        'In another terminal, eval "$(once env)" leads once, aws and boto3 here. Then, for example:',
        f"  once send {_example(template)} --wait",
        "  once doctor",
        f"Watch it in a browser: {console}",
    )


def _example(template: Path) -> str:
    """A request file of the application, the examples' if it is there; beside requests there may be other events."""
    files = sorted((template.parent / "events").glob("*.json"), key=lambda each: (each.name != EXAMPLE, each.name))
    requests = (each for each in files if each.is_file() and id_in(each.read_text("utf-8", "replace")))
    found = next(requests, None)
    return "EVENT" if found is None else quote(find_event(str(found.relative_to(template.parent)), template))


def _own_ways(cloud: LocalCloud) -> Iterator[tuple[str, str, str]]:
    """Of what `once new` made to start operations: its kind, where to send to, and the operation."""
    resources = [each for each in cloud.deployed.resources.values() if each.ref]
    queues = {each.attributes("Arn"): each.ref for each in resources if each.type == "AWS::SQS::Queue"}
    for each in resources:
        if each.type == "AWS::Pipes::Pipe" and (operation := _operation(each.properties)):
            source = str(each.properties["Source"])
            yield "queue", queues.get(source, source), operation
        if each.type == "AWS::Events::Rule" and (operation := _operation(each.properties)):
            yield "bus", str(each.properties.get("EventBusName", "default")).rpartition("/")[2], operation


def _operation(made_of: Mapping[str, Any]) -> str | None:
    found = _OPERATION.search(json.dumps(made_of))
    return found[1] if found else None
