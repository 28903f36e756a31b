"""The project in another folder, where a test may change it."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copy_project(folder: Path, *, changed: tuple[str, ...] = ("examples", "functions")) -> Path:
    """A copy of the template and of what a test changes, and links to the rest."""
    for name in ("api", "operations", "announcements", "examples", "functions", "shared", "statemachine"):
        if name in changed:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "template.yaml", folder)
    share_what_is_kept(folder)
    return folder


def share_what_is_kept(folder: Path) -> None:
    """Translated templates and parsed definitions, found by their contents: each new folder would make them again."""
    (ROOT / "build" / "local").mkdir(parents=True, exist_ok=True)
    (folder / "build").mkdir()
    (folder / "build" / "local").symlink_to(ROOT / "build" / "local")
