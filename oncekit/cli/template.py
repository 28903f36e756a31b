"""The template that a command works on, and the requests beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oncekit import application
from oncekit.cli.terminal import tell
from oncekit.own_template import template_above
from oncekit.problem import Problem


def find_template(given: Path | None) -> Path:
    """The template to use; in an empty folder that of the example application. Raises Problem if there is none."""
    if given is not None:
        if not given.is_file():
            raise Problem(f"there is no template at {given}")
        return given
    if (found := template_above(Path.cwd())) is not None:
        return found
    if there := sorted(each.name for each in Path.cwd().iterdir() if not each.name.startswith(".")):
        raise Problem(
            f"no application with Once is in {Path.cwd()} or above it, but {', '.join(there[:3])}"
            f"{'...' if there[3:] else ''}: name its template with --template, or run `once init` first"
        )
    tell("Nothing is in this folder: this is the example application that comes with once.")
    return application.folder() / application.TEMPLATE


def find_event(name: str, template: Path) -> str:
    """The file of a request: with the example application also one of its own, such as events/charge-payment.json."""
    example = template.parent / name
    is_ours = template.parent == application.folder() and name != "-"
    return str(example) if is_ours and not Path(name).exists() and example.is_file() else name


@contextmanager
def clear_errors() -> Iterator[None]:
    """Errors of the template, the definition, the port and the engine as problems."""
    from oncekit.local.endpoint.loopback import PortInUseError
    from oncekit.local.templates.definition import DefinitionError
    from oncekit.local.templates.template import TemplateError

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
