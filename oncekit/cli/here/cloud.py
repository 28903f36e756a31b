"""Opens the local cloud for a command. What a user can fix comes as a Problem, never as a traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oncekit import application
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import tell
from oncekit.local.without_collections import rare_collections, without_collections

if TYPE_CHECKING:
    from oncekit.local import Clock
    from oncekit.local.lambda_runtime import LogLine
    from oncekit.local.once_cloud import LocalCloud

NEEDED_OUTPUTS = ("StateMachineArn", "TableName")


def find_template(given: Path | None) -> Path:
    """The template to use; that of the sample application if there is none. Raises Problem if `given` is missing."""
    if given is not None:
        if not given.is_file():
            raise Problem(f"there is no template at {given}")
        return given
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "template.yaml").is_file():
            return folder / "template.yaml"
    tell("No template.yaml in this folder or a parent folder: this is the sample application that comes with once.")
    return application.folder() / application.TEMPLATE


def find_event(name: str, template: Path) -> str:
    """The file of a request: with the sample application also one of its own, such as events/charge-payment.json."""
    sample = template.parent / name
    is_sample = template.parent == application.folder() and name != "-"
    return str(sample) if is_sample and not Path(name).exists() and sample.is_file() else name


@contextmanager
def local_cloud(
    template: Path,
    clock: Clock | None = None,
    port: int = 0,
    on_output: Callable[[LogLine], None] | None = None,
    names: Iterable[str] = (),
    parameters: Mapping[str, str] | None = None,
    http_port: int = 0,
) -> Iterator[LocalCloud]:
    """The local cloud with an operation state machine in it, in virtual time unless a clock is given.

    `parameters` are those of the template that are not to have their defaults.
    """
    with ExitStack() as start, clear_errors():
        start.enter_context(without_collections())
        from oncekit.local.cloud import LocalCloudError
        from oncekit.local.events.left_out import left_out
        from oncekit.local.once_cloud import LocalCloud

        try:
            with (
                LocalCloud(
                    template, parameters, clock=clock, port=port, on_output=on_output, names=names, http_port=http_port
                ) as cloud,
                rare_collections(),
            ):
                start.close()
                if missing := [name for name in NEEDED_OUTPUTS if name not in cloud.outputs]:
                    raise Problem(
                        f"{template} is a template without Once: it has no output {', '.join(missing)}; "
                        "go to the folder of the application, or give --template"
                    )
                if others := ", ".join(left_out(cloud.deployed.resources)):
                    tell(f"Not run here, but can be referred to: {others}.")
                yield cloud
        except LocalCloudError as error:
            raise Problem(str(error)) from error


@contextmanager
def clear_errors() -> Iterator[None]:
    """Errors of the template, the definition, the port and the engine as problems."""
    from oncekit.local.definition import DefinitionError
    from oncekit.local.start_errors import EngineReplaced, PortInUseError
    from oncekit.local.template import TemplateError

    try:
        yield
    except (TemplateError, DefinitionError, EngineReplaced, PortInUseError) as error:
        raise Problem(" ".join(str(error).split())) from error  # an error of YAML has lines
    except UnicodeDecodeError as error:
        raise Problem(f"a file of the template is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except OSError as error:
        if error.filename is None:
            raise
        raise Problem(f"{error.filename}: {error.strerror}") from error
