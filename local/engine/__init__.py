"""moto's Step Functions interpreter, mended so that it does what AWS does.

Each module mends one thing and says what AWS does; `install` holds them together and undoes them at the end.

    jsonata.py     expressions, with values as bindings
    door.py        the one door for every service call, with interceptors
    choices.py     what a Choice state assigns
    services.py    names and shapes of parameters, responses and errors
    timing.py      waits, retries and timestamps from a clock
    executions.py  starts, stops, redrives, histories; atomic DynamoDB; the cache of parsed definitions
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version

from local.clock import Clock
from local.engine.door import Call, Door, Interceptor

PINNED = {"moto": "5.2.5", "jsonata-python": "0.7.1"}


class EngineReplaced(RuntimeError):
    """The installed engine is not the one that was mended and tested."""


def check_pins() -> None:
    for package, wanted in PINNED.items():
        if (found := version(package)) != wanted:
            raise EngineReplaced(
                f"{package} {found} is installed, but the local cloud mends {package} {wanted}: "
                f"install the pinned requirements, or run the tests in tests/local against {found} and change PINNED"
            )


@contextmanager
def install(clock: Clock, door: Door) -> Iterator[None]:
    """Mend the interpreter while the context is open; one at a time in a process."""
    check_pins()
    from local.engine import choices, executions, jsonata, services, timing

    with ExitStack() as mended:
        for mend in (
            jsonata.mend(clock),
            choices.mend(),
            services.mend(door),
            timing.mend(clock),
            executions.mend(clock),
        ):
            mended.enter_context(mend)
        yield


__all__ = ["Call", "Door", "EngineReplaced", "Interceptor", "check_pins", "install"]
