"""Mapping templates in Velocity, run by airspeed; where airspeed is laxer than Velocity, this is as strict.

Velocity calls a method of the object, and never takes a member of a map for it: a header that is called `get` must not
stand in the way of `$headers.get("x")`. Of Java's methods only those are known that templates here call.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airspeed import operators

from oncekit.local.gateway.variables import Claims


class TemplateFault(ValueError):
    """A mapping template cannot be read, or refers to what is not there: on AWS the reference would stand in the output
    as it is."""


@functools.lru_cache(maxsize=100)
def _compiled(text: str) -> Any:
    template = operators.Template(text)
    template.ensure_compiled()
    return template


def render(text: str, variables: Mapping[str, object]) -> str:
    """The output of a template. Raises TemplateFault."""
    try:
        rendered: str = _compiled(text).merge(dict(variables))
    except operators.TemplateError as error:
        raise TemplateFault(str(error)) from error
    return rendered


def _value_of(self: Any, of: Any, loader: Any, namespace: Any) -> Any:
    """In place of NameOrCall.calculate, which takes a member of a map for the method of this name."""
    if of is namespace:
        try:
            value = of[self.name]
        except KeyError:
            raise TemplateFault(f"${self.name} is not set") from None
    elif self.parameters is not None:
        return _call(of, self.name, self.parameters.calculate(namespace, loader))
    else:
        value = _member(of, self.name)
    return value if self.index is None else _member(value, self.index.calculate(namespace, loader))


def _is_true(value: object) -> bool:
    """Only what is a Boolean in Velocity, too: what counts as true beside that is not the same in all its versions."""
    if not isinstance(value, bool):
        raise TemplateFault(f"a condition is a {type(value).__name__}: compare it with something")
    return value


def _holds(self: Any, namespace: Any, loader: Any) -> bool:
    return _is_true(self.expression.calculate(namespace, loader))


def _call(of: object, name: str, arguments: Sequence[object]) -> Any:
    """The value of `of.name(arguments)`. Raises TemplateFault."""
    known = _METHODS.get(type(of))
    method: Callable[..., Any] | None
    if known is None:
        method = None if name.startswith("_") or of is None else getattr(of, name, None)
        if method is None:
            raise TemplateFault(f"{type(of).__name__} has no method {name}")
        return method(*arguments)
    if name not in known:
        raise TemplateFault(f"{type(of).__name__} has no method {name} here")
    return known[name](of, *arguments)


def _member(of: object, name: str) -> Any:
    """The value of `of.name`: of a map, the member of this name; None when there is none."""
    if isinstance(of, Mapping):
        return of.get(name)
    if of is None or name.startswith("_"):
        return None
    return getattr(of, name, None)


def _replace_all(text: str, pattern: str, replacement: str) -> str:
    """As String.replaceAll, for replacements in which nothing is special to Java or to Python."""
    if set(replacement) & set("$\\"):
        raise TemplateFault(f"a replacement with $ or a backslash is not supported: {replacement}")
    return re.sub(pattern, replacement, text)


def _put(of: dict[str, object], key: str, value: object) -> object:
    """As Map.put, which gives what was there before."""
    before = of.get(key)
    of[key] = value
    return before


_METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    str: {
        "replaceAll": _replace_all,
        "matches": lambda text, pattern: re.fullmatch(pattern, text) is not None,
        "equalsIgnoreCase": lambda text, other: text.lower() == str(other).lower(),
        "contains": lambda text, part: part in text,
        "startsWith": lambda text, part: text.startswith(part),
        "toLowerCase": str.lower,
    },
    dict: {
        "get": lambda of, key: of.get(key),
        "put": _put,
        "keySet": list,
    },
    Claims: {},
    list: {
        "get": lambda of, index: of[index],
        "contains": lambda of, value: value in of,
    },
}


# Nothing else in this process uses airspeed, so it stays like that.
operators.NameOrCall.calculate = _value_of
operators.Condition.calculate = _holds
operators.boolean_value = _is_true
