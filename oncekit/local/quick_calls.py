"""Makes each call of moto faster: what it works out again for each call is the same for each.

Five things: where the descriptions of services are, at which addresses a service answers (S3's it reads from its file),
the methods of a service's class, Python's name of an action, and the names under which a member of an answer may be
found, which depend on the member and on the type of what it is looked for in. And one of DynamoDB: values are compared
by what they are, which for a text is the text; a table that is looked through is put in order by its keys, each asked
once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from oncekit.local.engine.patching import replaced


@contextmanager
def quick_calls() -> Iterator[None]:
    """Open while moto is used, and after everything that adds a method to a service's class."""
    from moto.core import responses, utils
    from moto.core.base_backend import BaseBackend
    from moto.core.serialize import ResponseSerializer
    from moto.dynamodb.models.dynamo_type import DynamoType
    from moto.dynamodb.models.table import Table

    with replaced(
        (utils, "create_loader", functools.cache(utils.create_loader)),
        (responses, "method_names_from_class", functools.cache(responses.method_names_from_class)),
        (responses, "camelcase_to_underscores", functools.cache(responses.camelcase_to_underscores)),
        (BaseBackend, "urls", property(functools.cache(BaseBackend.urls.fget))),
        (ResponseSerializer, "get_value", _member()),
        (DynamoType, "cast_value", property(_cast(DynamoType.cast_value.fget))),
        (Table, "all_items", _all_items),
    ):
        yield


def _member() -> Callable[[Any, Any, str, Any], Any]:
    """The same names in the same order, each once. What a model says itself about its members, its class says."""
    from moto.core.serialize import AttributePickerContext
    from moto.core.utils import MISSING, get_value

    kept: dict[tuple[Any, str, type], tuple[str, ...]] = {}

    def member(self: Any, value: Any, key: str, shape: Any) -> Any:
        about = (shape, key, value.__class__)
        if about not in kept:
            context = AttributePickerContext(value, key, shape)
            kept[about] = tuple(dict.fromkeys(self._value_picker.get_possible_keys(context)))
        for name in kept[about]:
            found = value.get(name, MISSING) if value.__class__ is dict else get_value(value, name)
            if found is not MISSING:
                break
        else:
            found = None
        if self._value_picker.response_transformers:
            path = ".".join((*self.path, key))
            for ending, transform in self._value_picker.response_transformers.items():
                if path.endswith(ending):
                    return transform(found)
        return found

    return member


def _cast(cast_value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Most values are texts, and moto asks whether they are anything else first."""

    def cast(self: Any) -> Any:
        return self.value if self.type == "S" else cast_value(self)

    return cast


def _all_items(self: Any) -> list[Any]:
    """In the order of their keys; moto compares the keys as DynamoDB's types, each again in every comparison."""
    found = self.items.values()
    items = [item for each in found for item in each.values()] if self.range_key_attr else list(found)
    return sorted(items, key=_keys)


def _keys(item: Any) -> Any:
    return (item.hash_key.cast_value, item.range_key.cast_value) if item.range_key else item.hash_key.cast_value
