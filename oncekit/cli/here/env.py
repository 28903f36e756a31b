"""`once env`: what leads a shell, `sam local invoke` or a client of the HTTP API to what is up or deployed."""

from __future__ import annotations

from typing import Annotated

import typer

from oncekit.cli.deployed.session import Place
from oncekit.cli.options import Output, Profile, Region, StackName, Template
from oncekit.cli.template import find_template
from oncekit.cli.terminal import say
from oncekit.problem import Problem

Sam = Annotated[
    bool,
    typer.Option("--sam", help="Write the file for `sam local invoke --env-vars`: the variables of each function."),
]
Event = Annotated[
    str | None,
    typer.Option(
        "--event",
        metavar="EVENT",
        help="Write what the function gets for this request file (JSON; - reads standard input), for its container.",
    ),
]
OpenApi = Annotated[
    bool, typer.Option("--openapi", help="Write the OpenAPI document of the HTTP API, with your operations, as YAML.")
]


def env(
    sam: Sam = False,
    event: Event = None,
    openapi: OpenApi = False,
    output: Output = None,
    template: Template = None,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> int:
    """Print what leads a shell or a container here.

    In a shell, run `eval "$(once env)"`. The lines unset the settings of real accounts, and set the endpoint and the
    access key of the `once up` that was started last with the same template.

    With --sam, the environment variables of each deployed function: the names of the tables and the bucket of a stack,
    or those of `once up` with its endpoint as a container reaches it. Values are written as they are, also secrets.

    With --event, what a function gets for a request. The key gets a prefix, so that no other request is affected, and
    its lock is written into the table, so that the function's steps work for a day.

    With --openapi, each operation has its own paths, with the schema of its payload if its function has a schema.json.
    """
    wanted = [name for name, given in (("--sam", sam), ("--event", event), ("--openapi", openapi)) if given]
    if len(wanted) > 1:
        raise Problem(f"{' and '.join(wanted)}: one at a time; each writes something else")
    if sam or event is not None:
        from oncekit.cli.deployed.sam_local import write_event, write_variables

        place = Place(stack, profile, region)
        return write_variables(place, output) if event is None else write_event(place, event, output)
    if openapi:
        from oncekit.cli.here.openapi import write_document

        write_document(output, template)
        return 0
    if output is not None:
        raise Problem('-o is for --sam, --event and --openapi; a shell reads the lines by eval "$(once env)"')
    from oncekit.cli.here.up_environment import environment_of, lines

    say(*lines(environment_of(find_template(template))))
    return 0
