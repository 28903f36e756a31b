"""`once new`: an operation in this application."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from oncekit.cli.options import Template
from oncekit.cli.template import clear_errors
from oncekit.cli.terminal import say, tell
from oncekit.cli.user_files import read_json
from oncekit.problem import Problem

if TYPE_CHECKING:
    from oncekit.adoption.operation import Additions, Wanted
    from oncekit.adoption.trigger import Trigger
    from oncekit.local.templates.elsewhere import Missing

Name = Annotated[str, typer.Argument(metavar="OPERATION", help="The name of the operation, such as place-order.")]
IsStep = Annotated[
    bool, typer.Option("--step", help="Give the new function a table, and a fenced step that writes to it.")
]
Function = Annotated[
    str | None, typer.Option("--function", metavar="LOGICAL_ID", help="Use a function that is already in the template.")
]
Rule = Annotated[
    str | None,
    typer.Option(
        "--from-rule",
        metavar="BUS/PATTERN",
        help="Turn events into requests: logical id of the bus or default, and detail type or event pattern (JSON).",
    ),
]
Queue = Annotated[
    str | None, typer.Option("--from-queue", metavar="LOGICAL_ID", help="Turn the messages of a queue into requests.")
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="JSONPATH", help="Where the idempotency key is, such as $.detail.id or $.body.id."),
]
Payload = Annotated[
    str | None,
    typer.Option("--payload", metavar="JSONPATH", help="Where the payload is; by default $.detail or $.body."),
]
Example = Annotated[
    str | None,
    typer.Option("--example", metavar="FILE", help="An event, the body of a message, or a payload; the test sends it."),
]
Gets = Annotated[
    Literal["request", "payload"] | None,
    typer.Option(
        "--gets",
        metavar="request|payload",
        help="What the function gets as its event; by default the payload if its code does not import once.",
    ),
]
OnCrash = Annotated[
    Literal["retry", "quarantine"] | None,
    typer.Option("--on-crash", metavar="retry|quarantine", help="What its events ask for when the function crashes."),
]
Direct = Annotated[
    bool,
    typer.Option("--direct", help="Let the function take the lock itself: it keeps its trigger and its event."),
]
Http = Annotated[str | None, typer.Option("--http", metavar="PATH", hidden=True)]
Replace = Annotated[
    bool,
    typer.Option("--replace", help="Write an operation that is there anew: what starts it, its example, its test."),
]


def new(
    operation: Name,
    step: IsStep = False,
    function: Function = None,
    from_rule: Rule = None,
    from_queue: Queue = None,
    key: Key = None,
    payload: Payload = None,
    on_crash: OnCrash = None,
    example: Example = None,
    gets: Gets = None,
    direct: Direct = False,
    replace: Replace = False,
    template: Template = None,
    http: Http = None,
) -> int:
    """Add an operation to your application.

    With a new function or an existing one, alarms, an event and a test. Run it again, with --function only, when the
    function imports once by now: its role gets what steps and large answers need.

    --from-rule and --from-queue add resources that turn existing events and messages into its requests. With --replace,
    an operation gets other ones, or none; its function, with its permissions, and its alarms stay.
    """
    if http is not None:
        raise Problem(
            f"--http is gone: leave --http {http}, --key and --payload out, and give --direct: so the function keeps "
            "its API, with path, query and claims, and takes the lock itself (Once's docs/direct-lane.md)"
        )
    if step and (function is not None or replace):
        raise Problem(
            f"--step is for a new function; the one of {'--replace' if replace else '--function'} has its own code"
        )
    if direct:
        _check_direct(function, replace, gets, {"--from-rule": from_rule, "--from-queue": from_queue})
    with clear_errors():
        from oncekit.adoption.advice import warnings
        from oncekit.adoption.application_template import find_template
        from oncekit.adoption.names import Operation
        from oncekit.adoption.operation import Additions, Wanted
        from oncekit.adoption.values import told_of_queue, with_missing

        named = Operation(operation)
        given = {"--from-rule": from_rule, "--from-queue": from_queue}
        trigger = _trigger(given, key, payload, on_crash)
        if (path := find_template(Path.cwd(), template)) is None:
            raise Problem(f"there is no template.yaml in {Path.cwd()}: run `once init` first, or give --template")
        additions = Additions.to(path)
        additions.warn = warnings
        if trigger is not None and trigger.source is not None:
            trigger = dataclasses.replace(
                trigger, elsewhere=additions.template.from_elsewhere(trigger.source.logical_id)
            )
        function = additions.function_of(named, function) if replace else function
        only = _payload_only(additions, function, gets, direct)
        wanted = Wanted(
            named,
            function,
            step,
            trigger,
            example and read_json(example, "give an event, a message or a payload")[1],
            only,
            replace,
            direct,
        )
        additions.add(wanted)
        values = with_missing(path, from_queue or "")
        written = additions.save()
        say(*written)
        written += _add_values(path, *values)
        tell(*told_of_queue(path, from_queue or ""))
        _advise(additions, wanted)
    test = f"tests/test_{named.folder}{'_direct' if direct else ''}.py"
    tell(f"Try it: pytest {test}" if written else "Once has all that it needs; nothing to do.")
    return 0


def _trigger(
    given: Mapping[str, str | None], key: str | None, payload: str | None, on_crash: str | None
) -> Trigger | None:
    from oncekit.adoption.trigger import TRIGGERS

    sources = [(option, value) for option, value in given.items() if value is not None]
    if len(sources) > 1:
        raise Problem(f"{sources[0][0]} or {sources[1][0]}, not both; the same function can run two operations")
    if not sources:
        if key is not None or payload is not None:
            raise Problem(f"--key and --payload say what is in an event: give {' or '.join(given)}, too")
        if on_crash is not None:
            raise Problem(
                f"--on-crash is for events, who sends a request says it there: give {' or '.join(given)}, too"
            )
        return None
    if key is None:
        raise Problem("--key is needed: two events with the same key are one request, such as --key $.detail.orderId")
    [(option, source)] = sources
    kind = TRIGGERS[option]
    return kind(source, key, payload or kind.usual_payload, on_crash)


def _check_direct(function: str | None, replace: bool, gets: str | None, triggers: Mapping[str, str | None]) -> None:
    if function is None and not replace:
        raise Problem("--direct is for a function that has a trigger of its own: give --function, too")
    if gets == "payload":
        raise Problem("--direct: recovery calls the function with the request, and its lock; leave --gets payload out")
    if other := next((option for option, value in triggers.items() if value is not None), None):
        raise Problem(f"--direct leaves the function its own trigger: leave {other} out")


def _payload_only(additions: Additions, function: str | None, gets: str | None, direct: bool) -> bool:
    from oncekit.adoption.code import Code

    if gets is not None or function is None or direct:
        return gets == "payload"
    return not Code.of(additions.template, function).knows_once


def _add_values(template: Path, missing: Sequence[Missing], text: str) -> list[str]:
    """Placeholders for what the template takes from elsewhere. Gives the file, where it is new or changed."""
    from oncekit.local.templates.elsewhere import FILE

    if not missing:
        return []
    (template.parent / FILE).write_bytes(text.encode())
    say(FILE)
    tell(
        f"{FILE} has a placeholder for each value that comes from elsewhere; change those that your code looks at: "
        + ", ".join(str(each) for each in missing)
    )
    return [FILE]


def _advise(additions: Additions, wanted: Wanted) -> None:
    from oncekit.adoption.advice import advice, warnings

    for line in (*warnings(additions.template, wanted), *advice(additions.template, wanted)):
        tell(line)
    if wanted.lacks_payload and additions.files:
        what = (
            f"an event as Lambda gives it to {wanted.function}"
            if wanted.direct
            else f"a payload that {wanted.function} takes"
        )
        file = f"events/{wanted.operation.name}{'-own-event' if wanted.direct else ''}.json"
        tell(
            f"Write {what} into {file}, where it is empty: until then its test is skipped. "
            "Next time, --example FILE gives one."
        )
