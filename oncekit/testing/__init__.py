"""The test kit: a pytest plugin that is on when it is installed. docs/testing.md tells how to use it.

plugin.py       the fixtures
kit_cloud.py    the local cloud of a test
faults.py       faults by name
matrix.py       strikes a function at each of its calls, and at the boundaries of states
strikes.py      what is struck, and how
effects.py      what a run has left in the world, and how two runs differ
report.py       what a matrix found
watch.py        the calls of functions; in_function.py is the side that is in their processes
outside.py      other systems, reached by HTTP
connections.py  the connections to them, with certificates.py; in_sockets.py leads them here from functions' processes
in_node.cjs     what in_function.py and in_sockets.py are for functions in Node.js
in_bootstrap.py what they are for a bootstrap
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncekit.testing.faults import answer_lost, function_crashes, owner_dies, runs_twice

__all__ = ["answer_lost", "function_crashes", "owner_dies", "runs_twice"]


def __getattr__(name: str) -> Any:
    """A fault on first use: pytest loads the plugin in every run, also where the local cloud is not installed."""
    if name in __all__:
        from oncekit.testing import faults

        return getattr(faults, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
