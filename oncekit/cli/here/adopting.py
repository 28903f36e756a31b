"""What can go wrong when files of an application are read and written, as problems of one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oncekit.cli.problem import Problem
from oncekit.cli.template import clear_errors


@contextmanager
def clear_problems() -> Iterator[None]:
    """Raises Problem."""
    with clear_errors():
        from oncekit.adoption import problem

        try:
            yield
        except problem.Problem as error:
            raise Problem(str(error)) from error
