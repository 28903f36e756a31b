"""The commands and their options; each does its work in the module of its name."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from oncekit.cli.problem import Problem
from oncekit.cli.terminal import guard, say, tell

app = typer.Typer(
    help="Run operations effectively once: here as on AWS, with the same template and the same state machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Events = Annotated[list[str], typer.Argument(metavar="EVENT...", help="Request files (JSON); - reads standard input.")]
Template = Annotated[
    Path | None,
    typer.Option(
        "--template", help="The template to deploy locally; by default template.yaml here or in a folder above."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]


def _version(wanted: bool) -> None:
    if wanted:
        say(f"once {version('once')}")
        raise typer.Exit


@app.callback()
def once(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Exit codes: 0 done, 1 failed, 2 usage, 3 in progress or conflict, 130 interrupted."""


@app.command()
def run(
    events: Events,
    times: Annotated[int, typer.Option("--times", min=1, max=1000, help="Send each request so often.")] = 1,
    concurrently: Annotated[bool, typer.Option("--concurrently", help="Send all at once.")] = False,
    real_time: Annotated[bool, typer.Option("--real-time", help="Wait and back off in real time.")] = False,
    as_json: Json = False,
    template: Template = None,
) -> None:
    """Run requests through the local cloud. Shows what each came to."""
    from oncekit.cli.here.run import run_events

    raise typer.Exit(run_events(events, times, concurrently, real_time, as_json, template))


@app.command()
def demo(as_json: Json = False, template: Template = None) -> None:
    """Tell the story of a charge, each line a check. Duplicates, crashes, a large result, a mismatch."""
    from oncekit.cli.here.demo import tell

    raise typer.Exit(tell(as_json, template))


@app.command()
def up(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port of AWS_ENDPOINT_URL; 0 takes a free one.")
    ] = 4599,
    template: Template = None,
) -> None:
    """Keep the local cloud up, in real time. Deploys again when files change; Ctrl-C ends it.

    Prints the lines for other terminals: what to unset of real accounts, the endpoint, and an access key that is made
    at random for this run, and without which nobody is let in - no other program, and no page in a browser.
    """
    from oncekit.cli.here.up import stay_up

    raise typer.Exit(stay_up(port, template))


@app.command()
def graph(
    event: Annotated[str | None, typer.Argument(metavar="[EVENT]", help="A request whose path is shown.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file instead of standard output.")
    ] = None,
    template: Template = None,
) -> None:
    """Draw the state machine as SVG. With EVENT, also the path that its run takes."""
    from oncekit.cli.here.graph import draw

    raise typer.Exit(draw(event, output, template))


Id = Annotated[str, typer.Argument(metavar="ID", help="tenant#operation#idempotencyKey, in quotes for the shell.")]
StackName = Annotated[str, typer.Option("--stack", envvar="ONCE_STACK", help="The deployed stack.")]
Profile = Annotated[str | None, typer.Option("--profile", help="The AWS profile.")]
Region = Annotated[str | None, typer.Option("--region", help="The AWS region.")]


@app.command()
def ls(
    status: Annotated[list[str] | None, typer.Option("--status", help="IN_PROGRESS or QUARANTINED.")] = None,
    overdue: Annotated[bool, typer.Option("--overdue", help="Only those in progress whose lease is over.")] = False,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.")] = None,
    operation: Annotated[str | None, typer.Option("--operation", help="Only of this operation.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, oldest first.")] = 100,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """List open operations, the oldest lease first. JSON: {operations: [...], isComplete}."""
    from oncekit.cli import operators

    place = (stack, profile, region)
    raise typer.Exit(operators.ls(place, status or [], overdue, (tenant, operation), limit, as_json))


@app.command()
def doctor(as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None) -> None:
    """Say what is wrong with a stack, and what to do. It changes nothing.

    Looks at the stack, its table, bucket, state machines, functions, triggers, queues, alarms and open operations.
    Exit code 1 when something is wrong; a warning, or what cannot be looked at, is not wrong.

    JSON: {stack, checks: [{name, outcome, resource, message, advice}], wrong, warnings};
    outcome is ok, wrong, warning or skipped.
    """
    from oncekit.cli import operators

    raise typer.Exit(operators.doctor((stack, profile, region), as_json))


@app.command()
def show(
    id: Id, as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None
) -> None:
    """Show all that is known of an id. JSON: {id, expired, record, ownerStatus, owners, started, steps, request...}."""
    from oncekit.cli import operators

    raise typer.Exit(operators.show((stack, profile, region), id, as_json))


@app.command()
def retry(
    id: Id, as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None
) -> None:
    """Start a quarantined operation again. With its request, unchanged; attempts begin anew, finished steps are kept.

    Also one IN_PROGRESS under an operator, when a retry was cut off. JSON: {id, executionArn, fence, requestDeleted}.
    `requestLeft`, there and in others, names what the record gave as its request and is not: it was left alone.
    """
    from oncekit.cli import operators

    raise typer.Exit(operators.retry((stack, profile, region), id, as_json))


@app.command()
def resolve(
    id: Id,
    result: Annotated[
        str | None,
        typer.Option(
            "--result", metavar="FILE", help="It completed; FILE has the result (JSON), - reads standard input."
        ),
    ] = None,
    failed: Annotated[
        str | None, typer.Option("--failed", metavar="MESSAGE", help="It failed; MESSAGE says why.")
    ] = None,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Say how a quarantined operation ended. Every duplicate gets that answer."""
    from oncekit.cli import operators

    raise typer.Exit(operators.resolve((stack, profile, region), id, result, failed, as_json))


@app.command()
def release(
    id: Id,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Free a lock for the next request. What the effect was is forgotten: it may then happen twice."""
    from oncekit.cli import operators

    raise typer.Exit(operators.release((stack, profile, region), id, yes, as_json))


@app.command()
def redrive(
    id: Id, as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None
) -> None:
    """Let a dead owner finish what it decided. Business logic is not started.

    JSON: {id, executionArn, from, requestDeleted}.
    """
    from oncekit.cli import operators

    raise typer.Exit(operators.redrive((stack, profile, region), id, as_json))


@app.command("replay-rejected")
def replay_rejected(
    error: Annotated[
        str | None, typer.Option("--error", metavar="NAME", help="Only with this error, e.g. Unavailable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be done.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 100,
    discard: Annotated[
        bool, typer.Option("--discard", help="Delete them instead; wants --error. What is deleted is lost.")
    ] = False,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Start refused requests again, or discard them. Each leaves the queue once its start is accepted.

    JSON: {messages: [{messageId, id, error, message, refused, outcome, executionArn, reason}]}.
    """
    from oncekit.cli import operators

    raise typer.Exit(operators.replay_rejected((stack, profile, region), error, dry_run, limit, discard, as_json))


@app.command()
def send(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="A request file (JSON); - reads standard input.")],
    via: Annotated[str, typer.Option("--via", help="eventbridge, sqs or direct.")] = "direct",
    duplicates: Annotated[int, typer.Option("--duplicates", min=0, max=1000, help="Send so many more of it.")] = 0,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Send a request to a deployed stack. Prints what was sent by its id. JSON: {via, to, sent: [...]}."""
    from oncekit.cli import operators

    raise typer.Exit(operators.send((stack, profile, region), event, via, duplicates, as_json))


def main() -> None:
    """Entry point: problems become one line on standard error and exit code 2."""
    guard()
    try:
        app()
    except Problem as problem:
        tell(f"once: {problem}")
        sys.exit(2)
    except KeyboardInterrupt:
        tell("once: interrupted")
        sys.exit(130)
