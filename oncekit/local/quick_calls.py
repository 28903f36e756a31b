"""Makes each call of moto faster: what it works out again for each call is the same for each.

Four things: where the descriptions of services are, the methods of a service's class, Python's name of an action, and
the names under which a member of an answer may be found, which depend on the member and on the type of what it is
looked for in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from oncekit.local.engine.patching import replaced


@contextmanager
def quick_calls() -> Iterator[None]:
    """Open while moto is used, and after everything that adds a method to a service's class."""
    from moto.core import responses, utils
    from moto.core.serialize import XFormedAttributePicker

    with replaced(
        (utils, "create_loader", functools.cache(utils.create_loader)),
        (responses, "method_names_from_class", functools.cache(responses.method_names_from_class)),
        (responses, "camelcase_to_underscores", functools.cache(responses.camelcase_to_underscores)),
        (XFormedAttributePicker, "get_possible_keys", _kept(XFormedAttributePicker.get_possible_keys)),
    ):
        yield


def _kept(possible_keys: Callable[[Any, Any], Iterator[str]]) -> Callable[[Any, Any], Iterable[str]]:
    """The same names in the same order, each once. What a model says itself about its members, its class says."""
    kept: dict[tuple[Any, str, type], tuple[str, ...]] = {}

    def get_possible_keys(self: Any, context: Any) -> Iterable[str]:
        about = (context.shape, context.key, context.obj.__class__)
        if about not in kept:
            kept[about] = tuple(dict.fromkeys(possible_keys(self, context)))
        return kept[about]

    return get_possible_keys
