"""Parsed definitions: one program for all executions of a definition.

A program is only read by what runs it: what an execution remembers lies in its environment. Parsing the operation
machine takes 0.15 s.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

from oncekit.local.engine.patching import replaced


@contextmanager
def mend() -> Iterator[None]:
    parse_anew = AmazonStateLanguageParser.parse

    @functools.lru_cache(maxsize=32)
    def program_of(definition: str) -> Any:
        return parse_anew(definition)[0]

    def parse(definition: str) -> tuple[Any, None]:
        return program_of(definition), None

    with replaced((AmazonStateLanguageParser, "parse", staticmethod(parse))):
        yield
