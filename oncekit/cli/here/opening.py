"""Opens the local cloud for a command. What a user can fix comes as a Problem, never as a traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oncekit.cli.template import clear_errors
from oncekit.cli.terminal import tell
from oncekit.local.quick_start import rare_collections, without_collections
from oncekit.problem import Failed, Problem

if TYPE_CHECKING:
    from oncekit.local import Clock
    from oncekit.local.endpoint.access_keys import AccessKey
    from oncekit.local.lambda_runtime import LogLine
    from oncekit.local.once_cloud import LocalCloud


@contextmanager
def local_cloud(
    template: Path,
    clock: Clock | None = None,
    port: int = 0,
    on_output: Callable[[LogLine], None] | None = None,
    parameters: Mapping[str, str] | None = None,
    http_port: int = 0,
    access_key: AccessKey | None = None,
) -> Iterator[LocalCloud]:
    """The local cloud with an operation state machine in it, in virtual time unless a clock is given.

    `parameters` are those of the template that are not to have their defaults.
    """
    with ExitStack() as start, clear_errors():
        start.enter_context(without_collections())
        from oncekit.local.cloud import LocalCloudError, NotLoadedError
        from oncekit.local.events.exchange import left_out
        from oncekit.local.once_cloud import LocalCloud

        try:
            with (
                LocalCloud(
                    template,
                    parameters,
                    clock=clock,
                    port=port,
                    on_output=on_output,
                    http_port=http_port,
                    access_key=access_key,
                ) as cloud,
                rare_collections(),
            ):
                start.close()
                if not cloud.once.outputs:
                    raise Problem(
                        f"{template} is a template without Once: go to the folder of the application, or give "
                        "--template"
                    )
                if others := ", ".join(left_out(cloud.deployed.resources, cloud.deployed.unread)):
                    tell(f"Not run here, but can be referred to: {others}.")
                yield cloud
        except NotLoadedError as error:
            raise Failed(str(error)) from error
        except LocalCloudError as error:
            raise Problem(str(error)) from error
