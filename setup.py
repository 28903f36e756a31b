"""Puts the application into the package, as oncekit/application; everything else is said in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

APPLICATION = (
    "template.yaml",
    "samconfig.toml",
    "api",
    "operations",
    "announcements",
    "examples",
    "statemachine",
    "functions",
    "shared",
    "events",
)


class WithApplication(build_py):
    """Copies the application; an editable installation finds it where it is."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        to = Path(self.build_lib) / "oncekit" / "application"
        shutil.rmtree(to, ignore_errors=True)  # what an earlier build left
        to.mkdir(parents=True)
        for name in APPLICATION:
            if Path(name).is_dir():
                # A local cloud that was started here has left a build/ beside each template.
                shutil.copytree(name, to / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
            else:
                shutil.copy2(name, to / name)


setup(cmdclass={"build_py": WithApplication})
