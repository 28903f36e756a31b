"""`once up`: the local cloud stays up and follows the files."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import typer

from cli.problem import Problem, clear_errors, find_template

WATCHED = ("functions", "shared", "statemachine", "template.yaml")


def stay_up(port: int, template: Path | None) -> int:
    path = find_template(template).resolve()
    from watchfiles import watch

    from local import RealClock
    from local.cloud import LocalCloud

    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    try:
        with clear_errors(), LocalCloud(path, clock=RealClock(), port=port) as cloud:
            for name, value in cloud.environment.items():
                typer.echo(f"export {name}={value}")
            typer.echo("\n# for example, in another terminal, after the lines above:")
            typer.echo(
                f"aws stepfunctions start-execution --state-machine-arn {cloud.outputs['StateMachineArn']} "
                "--input file://events/charge-payment.json"
            )
            typer.echo("The local cloud is up; it deploys again when files change. Ctrl-C ends it.", err=True)
            watched = [path.parent / name for name in WATCHED if (path.parent / name).exists()]
            for changes in watch(*watched, stop_event=stopping, raise_interrupt=False):
                _deploy_again(cloud, sorted(Path(name).name for _, name in changes))
    except OSError as error:
        raise Problem(
            f"port {port}: {error.strerror or error}; choose another with --port, or 0 for any free one"
        ) from error
    typer.echo("The local cloud is down.", err=True)
    return 0


def _deploy_again(cloud: object, names: list[str]) -> None:
    from local.cloud import LocalCloud

    assert isinstance(cloud, LocalCloud)
    try:
        with clear_errors():
            cloud.redeploy()
        typer.echo(f"Deployed again: {', '.join(names)} changed.", err=True)
    except Problem as problem:
        typer.echo(f"Not deployed, what was there stays: {problem}", err=True)
