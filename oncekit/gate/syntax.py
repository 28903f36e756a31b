"""Parses JSONata as AWS does: version 2.0.6, whose regular expressions are JavaScript's."""

from __future__ import annotations

import re
from typing import Any

from jsonata.jexception import JException
from jsonata.parser import Parser
from jsonata.regex_engine import RegexFlags

from oncekit.local.engine.expression import strict_syntax
from oncekit.local.engine.javascript import Pattern

_ONLY_PYTHON = re.compile(r"\(\?(?![:=!]|<[=!a-zA-Z])[^)]?|(?<!\\)[*+?}]\+|(?<!\\)\\[AZz]")
"""Groups that JavaScript does not have, possessive repetitions, and the letters that it takes for themselves."""


class NotJsonata(ValueError):
    """An expression that does not parse; the message says why, and what to write."""


def parsed(source: str) -> Any:
    """The syntax tree, as jsonata-python makes it. Raises NotJsonata."""
    try:
        with strict_syntax():
            return Parser().parse(source, _Pattern)
    except JException as error:
        raise NotJsonata(_reason(error)) from error
    except (IndexError, AttributeError, TypeError) as error:  # the parser at the end of an unfinished text
        raise NotJsonata("it ends too early; finish the expression") from error


class _Pattern(Pattern):
    """A regular expression as JavaScript parses it; what only Python understands is refused."""

    def __init__(self, source: str, flags: RegexFlags) -> None:
        if found := _ONLY_PYTHON.search(source):
            raise JException("S0301", 0, f"/{source}/: {found[0]} means nothing in JavaScript")
        super().__init__(source, flags)


def _reason(error: JException) -> str:
    if error.error == "S0201" and error.current in ("??", "?:"):
        return f"{error.current} came after JSONata 2.0.6, which AWS has; write $exists($x) ? $x : ..."
    if error.error == "S0301" and str(error.current).startswith("/"):
        return f"a regular expression that AWS cannot parse, {error.current}; correct it"
    if error.error == "S0302":
        return "a regular expression that AWS finds no end of; a ] right after \\\\ closes no class, so put it first"
    return f"{error}; correct the expression"
