"""Reads YAML, each text only once: a copy of the result takes a tenth of the time of reading again."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import yaml

FastLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C takes 10 ms for the operation machine where the other takes 70."""


def read_yaml(text: str, loader: Any = FastLoader) -> Any:
    """The value of a text; nobody else's. `loader` is a SafeLoader or made of one. Raises yaml.YAMLError."""
    return pickle.loads(_read(text, loader))  # noqa: S301 what this process pickled


@functools.lru_cache(maxsize=64)
def _read(text: str, loader: Any) -> bytes:
    return pickle.dumps(yaml.load(text, Loader=loader))  # noqa: S506 a SafeLoader, as the docstring asks
