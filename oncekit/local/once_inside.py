"""What reading and making a template has to know of Once, which may be in it; `once_cloud.py` knows everything else.

What cannot be read of an application is left out, with the reason. Of Once nothing is: without it there is nothing to
try.
"""

from __future__ import annotations

from collections.abc import Iterable

from oncekit.contract.operation_functions import LIVE
from oncekit.contract.own_stack import MACHINE, MADE, ONCE
from oncekit.own_template import noted_in

__all__ = ["LIVE", "MACHINE", "ONCE", "is_once", "noted_in"]


def is_once(resources: Iterable[str]) -> bool:
    """Whether a template with resources of these logical ids is Once's own."""
    return {*MADE.values()} <= {*resources}
