"""What is written, and what is compared with it, is inside of the application's folder: a stranger may have made it."""

from __future__ import annotations

import os
from pathlib import Path

from oncekit.problem import Problem


def check_inside(root: Path, *places: Path) -> None:
    """Raises Problem for a place that symbolic links lead out of `root`; nothing has to be there yet."""
    for place in places:
        if not is_inside(root, place):
            raise Problem(
                f"a symbolic link leads {place} out of the application, to {os.path.realpath(place)}: nothing was "
                "changed; replace the link by a file or folder"
            )


def is_inside(root: Path, place: Path) -> bool:
    """Whether it is below a folder when all links are followed. No file has NUL in its name."""
    return "\0" not in str(place) and Path(os.path.realpath(place)).is_relative_to(os.path.realpath(root))
