"""All pages, as methods of one object."""

from __future__ import annotations

from oncekit.console.server.doing import Doing
from oncekit.console.server.lists import Lists
from oncekit.console.server.records import Records
from oncekit.console.server.runs import Runs


class Console(Lists, Runs, Records, Doing):
    """One method a page."""
