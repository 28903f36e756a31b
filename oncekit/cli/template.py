"""The template that a command works on, and the requests beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oncekit import application
from oncekit.cli.terminal import tell
from oncekit.problem import Problem


def find_template(given: Path | None) -> Path:
    """The template to use; that of the example application if there is none. Raises Problem if `given` is missing."""
    if given is not None:
        if not given.is_file():
            raise Problem(f"there is no template at {given}")
        return given
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "template.yaml").is_file():
            return folder / "template.yaml"
    tell("No template.yaml in this folder or a parent folder: this is the example application that comes with once.")
    return application.folder() / application.TEMPLATE


def find_event(name: str, template: Path) -> str:
    """The file of a request: with the example application also one of its own, such as events/charge-payment.json."""
    example = template.parent / name
    is_ours = template.parent == application.folder() and name != "-"
    return str(example) if is_ours and not Path(name).exists() and example.is_file() else name


@contextmanager
def clear_errors() -> Iterator[None]:
    """Errors of the template, the definition, the port and the engine as problems."""
    from oncekit.local.definition import DefinitionError
    from oncekit.local.loopback import PortInUseError
    from oncekit.local.template import TemplateError

    try:
        yield
    except (TemplateError, DefinitionError, PortInUseError) as error:
        raise Problem(" ".join(str(error).split())) from error  # an error of YAML has lines
    except UnicodeDecodeError as error:
        raise Problem(f"a file of the template is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except OSError as error:
        if error.filename is None:
            raise
        raise Problem(f"{error.filename}: {error.strerror}") from error
