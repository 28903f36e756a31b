"""Parsed definitions: one program for all executions of a definition, cached for the next process.

An execution only reads its program; its own data is in its environment. Parsing the operation machine takes a third of
a second, reading the cached program a hundredth of that. It is parsed state by state: a definition that another value
of a parameter or an edit made shares most states with the one before it, and the two lanes share some.
"""

from __future__ import annotations

import functools
import json
import pickle
from pathlib import Path
from typing import Any

from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser, ASLParserException

from oncekit.local.kept_files import KeptFiles, makers
from oncekit.local.patching import Change

WORTH_KEEPING = 10_000
"""Characters of a definition. A shorter one is parsed as quickly as its file is found, and many of them would take the
places of the few that matter.
"""


def changes(kept_in: Path | None) -> list[Change]:
    """`kept_in` is the folder of the files: who can write there can change the functions, too."""
    parse_anew = AmazonStateLanguageParser.parse
    files = None if kept_in is None else KeptFiles(kept_in, "program", 100)

    @functools.lru_cache(maxsize=1024)
    def state_of(name: str, state: str, language: str | None) -> Any:
        around = {"StartAt": name, **({} if language is None else {"QueryLanguage": language})}
        return parse_anew(json.dumps({**around, "States": {name: json.loads(state)}}))[0].states.states[name]

    def state_by_state(definition: str) -> Any:
        around = json.loads(definition)
        states = around.pop("States")
        program = parse_anew(json.dumps({**around, "States": {"Any": {"Type": "Succeed"}}}))[0]
        language = around.get("QueryLanguage")
        program.states.states = {name: state_of(name, json.dumps(each), language) for name, each in states.items()}
        return program

    def parsed(definition: str) -> Any:
        try:
            return state_by_state(definition)
        except (ASLParserException, AttributeError, KeyError, TypeError, ValueError):
            return parse_anew(definition)[0]  # which says what is wrong with it

    @functools.lru_cache(maxsize=32)
    def program_of(definition: str) -> Any:
        if files is None or len(definition) < WORTH_KEEPING:
            return parsed(definition)
        key = makers("moto") + definition
        if (kept := files.get(key)) is not None:
            return pickle.loads(kept)  # noqa: S301 our own file
        program = parsed(definition)
        files.keep(key, pickle.dumps(program))
        return program

    def parse(definition: str) -> tuple[Any, None]:
        return program_of(definition), None

    return [(AmazonStateLanguageParser, "parse", staticmethod(parse))]
