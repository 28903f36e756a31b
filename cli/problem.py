"""What a user can mend: the message says what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Problem(Exception):
    """Something is wrong with what the command was given; exit code 2."""


def find_template(given: Path | None) -> Path:
    """The template to use. Raises Problem where there is none."""
    if given is not None:
        if not given.is_file():
            raise Problem(f"there is no template at {given}")
        return given
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "template.yaml").is_file():
            return folder / "template.yaml"
    raise Problem("no template.yaml here or in a folder above: go to the folder of the application, or give --template")


@contextmanager
def clear_errors() -> Iterator[None]:
    """Errors of the template, definition and engine as problems."""
    from local.definition import DefinitionError
    from local.engine import EngineReplaced
    from local.template import TemplateError

    try:
        yield
    except (TemplateError, DefinitionError, EngineReplaced) as error:
        raise Problem(str(error)) from error
