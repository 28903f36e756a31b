"""Makes the start of moto faster, by leaving out what is slow and not needed.

One small module is needed of each of two packages of moto, but importing it imports the whole package: AWS Batch
imports EC2 with its tables of instance types, CloudFormation imports every service. Together they are slower than all
the rest.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


def import_interpreter() -> None:
    """Import moto's Step Functions interpreter and its models of resources. What is left out stays importable."""
    with ExitStack() as bare:
        for package in ("moto.batch", "moto.cloudformation"):
            bare.enter_context(_bare(package))
        for module in ("moto.batch.utils", "moto.cloudformation.exceptions", "moto.stepfunctions.parser.models"):
            importlib.import_module(module)


@contextmanager
def _bare(package: str) -> Iterator[None]:
    """While open, modules of the package can be imported without what the package itself imports."""
    parent = importlib.util.find_spec(package.partition(".")[0])
    if package in sys.modules or parent is None or parent.submodule_search_locations is None:
        yield
        return
    stand_in = types.ModuleType(package)
    stand_in.__path__ = [f"{location}/{package.rpartition('.')[2]}" for location in parent.submodule_search_locations]
    sys.modules[package] = stand_in
    try:
        yield
    finally:
        # Python finds the modules that were imported by their own names; the package is imported by whoever wants it.
        del sys.modules[package]
