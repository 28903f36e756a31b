"""The application that people install with the command: the template, its definitions, functions and example requests.

In a checkout these are the folders beside the package; in a wheel, setup.py has put a copy into the package.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGED = Path(__file__).with_name("application")
TEMPLATE = "template.yaml"


def is_installed() -> bool:
    """Whether this is an installed package, and not a checkout."""
    return (_PACKAGED / TEMPLATE).is_file()


def folder() -> Path:
    """The folder of the application."""
    return _PACKAGED if is_installed() else Path(__file__).parents[1]


def how_to_install() -> str:
    """What installs all of the package, as a part of a message: it is on no package index."""
    from importlib.metadata import version  # slow to import

    wheel = f"build/wheel/oncekit-{version('oncekit')}-py3-none-any.whl"
    return f"run `make wheel && pip install '{wheel}[local]'` in Once's repository"
