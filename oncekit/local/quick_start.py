"""Makes the start of moto faster, by leaving out what is slow and not needed.

One small module is needed of each of two packages of moto, but importing it imports the whole package: AWS Batch
imports EC2 with its tables of instance types, CloudFormation imports every service. Together they are slower than all
the rest.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import botocore.session
from botocore.loaders import Loader

from oncekit.local.account import REGION
from oncekit.local.engine.patching import replaced


def import_interpreter() -> None:
    """Import moto's Step Functions interpreter and its models of resources. What is left out stays importable."""
    with ExitStack() as bare, _grammars_are_read_later():
        for package in ("moto.batch", "moto.cloudformation"):
            bare.enter_context(_bare(package))
        for module in ("moto.batch.utils", "moto.cloudformation.exceptions", "moto.stepfunctions.parser.models"):
            importlib.import_module(module)


@contextmanager
def _grammars_are_read_later() -> Iterator[None]:
    """The tables of the parsers that are imported meanwhile, 40 ms: no parsed definition that was kept needs them."""
    from antlr4.atn.ATNDeserializer import ATNDeserializer

    with replaced((ATNDeserializer, "deserialize", lambda _, tables: _Grammar(tables))):
        yield


class _Grammar:
    """The attribute `atn` of a class of parsers, until the first of them is made."""

    decisionToState = ()  # noqa: N815 antlr's name; of these the class makes its `decisionsToDFA`

    def __init__(self, tables: list[int]) -> None:
        self._tables = tables

    def __get__(self, _: object, parsers: Any) -> Any:
        from antlr4.atn.ATNDeserializer import ATNDeserializer
        from antlr4.dfa.DFA import DFA

        read = ATNDeserializer().deserialize(self._tables)
        parsers.decisionsToDFA = [DFA(state, number) for number, state in enumerate(read.decisionToState)]
        parsers.atn = read
        return read


@contextmanager
def models_are_read_once() -> Iterator[None]:
    """The descriptions of services, megabytes of JSON: botocore reads them again for each session that is made.

    And it looks into the folders of all services before it reads of one: 0.1 s.
    """
    with replaced(
        (botocore.session, "create_loader", functools.cache(botocore.session.create_loader)),
        (Loader, "list_available_services", _folders_of_services),
    ):
        yield


def _folders_of_services(loader: Loader, type_name: str) -> list[str]:
    folders = [folder for folder in loader.search_paths if Path(folder).is_dir()]
    return sorted({entry.name for folder in folders for entry in os.scandir(folder) if entry.is_dir()})


@contextmanager
def quick_backends() -> Iterator[None]:
    """Open while moto is used: what it makes for each service and each table, and nobody here looks at.

    It asks botocore for the regions of each service, 0.1 s in all: here every region can be called, and only ours is
    known in advance. For tables it makes a key of AWS's own in KMS, which is symmetric, with an RSA pair: 0.1 s.
    """
    from moto.core import base_backend
    from moto.dynamodb.models.table import Table

    key_of_tables = Table._get_default_encryption_key

    def without_a_pair(table: Any, account: str, region: str) -> str:
        from moto.kms import models

        with replaced((models, "generate_private_key", lambda _: None)):
            return str(key_of_tables(table, account, region))

    with replaced(
        (base_backend.AccountSpecificBackend, "_generate_regions", lambda *_: [REGION]),
        (base_backend, "allow_unknown_region", lambda: True),
        (Table, "_get_default_encryption_key", without_a_pair),
    ):
        yield


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
