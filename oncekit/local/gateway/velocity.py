"""Mapping templates in Velocity, run by airspeed; where airspeed is laxer than Velocity, this is as strict.

Velocity calls a method of the object, and never takes a member of a map for it: a header that is called `get` must not
stand in the way of `$headers.get("x")`. Of Java's methods only those are known that templates here call.

What airspeed does otherwise is replaced in a copy of its module that only this module has: the one that everybody else
imports stays as it is. The list with the reasons is at the end.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oncekit.local.gateway.variables import Claims, Input, JsonList, Once


def _copy_of(module: str) -> Any:
    """The module, executed once more and imported by nobody."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


operators = _copy_of("airspeed.operators")


class TemplateFault(ValueError):
    """A mapping template cannot be read, or refers to what is not there: on AWS the reference would stand in the output
    as it is."""


@functools.lru_cache(maxsize=100)
def _compiled(text: str) -> Any:
    template = operators.Template(text)
    template.ensure_compiled()
    return template


def render(text: str, variables: Mapping[str, object]) -> str:
    """The output of a template, for which `$null` is null. Raises TemplateFault."""
    try:
        rendered: str = _compiled(text).merge({"null": None, **variables})
    except operators.TemplateError as error:
        raise TemplateFault(str(error)) from error
    return rendered


def _value_of(self: Any, of: Any, loader: Any, namespace: Any) -> Any:
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


def _member(of: object, name: Any) -> Any:
    """The value of `of.name`: of a map, the member of this name; None when there is none. In brackets, also an element.

    Raises IndexError for an element that is not there.
    """
    if isinstance(of, Mapping):
        return of.get(name)
    if isinstance(of, list) and isinstance(name, int):
        return of[name]
    return of.body if isinstance(of, Input) and name == "body" else None


def _is_equal(one: object, other: object) -> bool:
    """Null is equal to an empty text (recorded on AWS: LocalStack, nested-null-list, 2025-06-18)."""
    return ("" if one is None else one) == ("" if other is None else other)


def _is_other(one: object, other: object) -> bool:
    return not _is_equal(one, other)


def _printed(value: object) -> str:
    """What stands for a value in the output: Java's text of it, but JSON for an array that $input.path found (recorded
    on AWS: LocalStack, dict-response and json-list, 2025-06-18). For what $util.parseJson gives this is unconfirmed."""
    if isinstance(value, JsonList):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, list):
        return f"[{', '.join(map(_printed, value))}]"
    if isinstance(value, dict) and not isinstance(value, Claims):
        return f"{{{', '.join(f'{name}={_printed(each)}' for name, each in value.items())}}}"
    if value is None or isinstance(value, bool):
        return str(json.dumps(value))
    if isinstance(value, str | int | float):
        return str(value)
    raise TemplateFault(f"how a {type(value).__name__} is printed is not known")


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


_OF_MAPS: Mapping[str, Callable[..., Any]] = {
    "get": lambda of, key: of.get(key),
    "put": _put,
    "keySet": list,
    "containsKey": lambda of, key: key in of,
    "size": len,
    "isEmpty": lambda of: not of,
    "toString": _printed,
}
_OF_LISTS: Mapping[str, Callable[..., Any]] = {
    "get": lambda of, index: of[index],
    "contains": lambda of, value: value in of,
    "size": len,
    "isEmpty": lambda of: not of,
    "toString": _printed,
}
_METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    str: {
        "replaceAll": _replace_all,
        "matches": lambda text, pattern: re.fullmatch(pattern, text) is not None,
        "equalsIgnoreCase": lambda text, other: text.lower() == str(other).lower(),
        "contains": lambda text, part: part in text,
        "startsWith": lambda text, part: text.startswith(part),
        "toLowerCase": str.lower,
        "isEmpty": lambda text: not text,
        "toString": str,
    },
    dict: _OF_MAPS,
    Once: _OF_MAPS,
    Claims: {},
    list: _OF_LISTS,
    JsonList: _OF_LISTS,
}


# It takes a member of a map for the method of this name, and prints nothing for a name that is not set.
operators.NameOrCall.calculate = _value_of
# Everything is true or false to it; these two are of conditions, and of `&&` and `||`.
operators.Condition.calculate = _holds
operators.boolean_value = _is_true
# To it an empty text is not null.
operators.BinaryOperator.OPERATORS |= {"==": _is_equal, "eq": _is_equal, "!=": _is_other, "ne": _is_other}
# It prints maps and lists as Python does.
operators.value_to_string = _printed
