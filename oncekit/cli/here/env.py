"""`once env`: what leads a shell to what is up, or a client to the HTTP API.

The endpoint and the access key of `once up` are kept while it runs, for its user alone: in the user's own cache folder,
not beside the template, for a stranger's repository could bring such a file along.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated
from urllib.parse import urlsplit

import typer

from oncekit.cli.options import Template
from oncekit.cli.template import clear_errors, find_template
from oncekit.cli.terminal import say, tell
from oncekit.local.kept_files import folder_of_the_user
from oncekit.problem import Problem
from oncekit.stack.session import LED_ELSEWHERE

FILE = "up.json"
WAIT_S = 2
"""How long an endpoint may take to accept a connection."""

OpenApi = Annotated[
    bool, typer.Option("--openapi", help="Write the OpenAPI document of the HTTP API, with your operations, as YAML.")
]


def env(
    openapi: OpenApi = False,
    template: Template = None,
) -> int:
    """Print what leads a shell here.

    In a shell, run `eval "$(once env)"`. The lines unset the settings of real accounts, and set the endpoint and the
    access key of the `once up` that was started last with the same template.

    With --openapi, each operation has its own paths, with the schema of its payload if its function has a schema.json.
    """
    if openapi:
        from oncekit.cli.here.openapi import as_yaml, document

        with clear_errors():
            say(*as_yaml(document(find_template(template))).splitlines())
    else:
        say(*lines(environment_of(find_template(template))))
    return 0


def lines(environment: Mapping[str, str]) -> list[str]:
    """The variables of an environment as lines for a shell."""
    return [
        f"unset {' '.join(LED_ELSEWHERE)}",
        *(f"export {name}={quote(value)}" for name, value in environment.items()),
    ]


@contextmanager
def kept_while_up(template: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Let `environment_of` find this environment, unless a later one takes its place."""
    file = _file(template)
    try:
        write(template, environment)
    except OSError as error:
        tell(f"`once env` will not find what is up: {file}: {error.strerror}. Use these lines:", *lines(environment))
    try:
        yield
    finally:
        if file.is_file() and json.loads(file.read_text()) == environment:
            file.unlink()


def environment_of(template: Path) -> Mapping[str, str]:
    """The environment of the `once up` of a template. Raises Problem where none is up."""
    try:
        found: dict[str, str] = json.loads(_file(template).read_text())
        at = urlsplit(found["AWS_ENDPOINT_URL"])
        socket.create_connection((at.hostname, at.port), WAIT_S).close()
    except (OSError, ValueError, KeyError) as error:
        raise Problem(
            f"no `once up` runs for {template}: start it in another terminal, or name its template with --template; "
            "for a deployed stack set AWS_PROFILE, AWS_REGION and ONCE_STACK"
        ) from error
    return found


def write(template: Path, environment: Mapping[str, str]) -> None:
    write_private(_file(template), json.dumps(environment))


def write_private(file: Path, text: str) -> None:
    """At once, and for its user alone: a new file takes the place of what is there, and no link is followed."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink()
        raise


def _file(template: Path) -> Path:
    return folder_of_the_user(template.resolve()) / f"{template.resolve().name}.{FILE}"
