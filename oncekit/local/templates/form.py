"""Whether a template has the form that CloudFormation takes, as far as it is read here.

It refuses the whole template otherwise, so who edits it is told the line here already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from oncekit.local.templates.elsewhere import line_of
from oncekit.local.templates.intrinsics import TemplateError, what_is

_ANY = "*"
_LOOP = "Fn::ForEach::"
_OBJECT, _LIST, _TEXT, _NUMBER = "an object", "a list", "a text", "a number"
Forms = Mapping[tuple[str, ...], str]
SECTIONS: Forms = {
    **dict.fromkeys((("Parameters",), ("Mappings",), ("Conditions",), ("Outputs",), ("Globals",)), _OBJECT),
    **dict.fromkeys((("Parameters", _ANY), ("Outputs", _ANY), ("Mappings", _ANY)), _OBJECT),
    **{("Parameters", _ANY, each): _NUMBER for each in ("MinLength", "MaxLength", "MinValue", "MaxValue")},
    **{("Parameters", _ANY, each): _TEXT for each in ("Type", "AllowedPattern", "ConstraintDescription")},
    ("Parameters", _ANY, "AllowedValues"): _LIST,
}
RESOURCES: Forms = {
    ("Globals", "Function"): _OBJECT,
    ("Globals", "Function", "Layers"): _LIST,
    ("Resources", _ANY): _OBJECT,
    ("Resources", _ANY, "Type"): _TEXT,
    ("Resources", _ANY, "Properties"): _OBJECT,
    ("Resources", _ANY, "Metadata"): _OBJECT,
}
_OF_FUNCTIONS: Forms = {
    ("Layers",): _LIST,
    ("Events",): _OBJECT,
    ("Events", _ANY): _OBJECT,
    ("Environment",): _OBJECT,
    ("Environment", "Variables"): _OBJECT,
}
_NEEDED = (_ANY, "Type")
"""What must be there: anything else may be empty."""


def forms_of_functions(template: Mapping[str, Any], types: Sequence[str]) -> Forms:
    """What is read of the functions of a template, whose types these are."""
    resources = template["Resources"].items()
    names = [name for name, each in resources if isinstance(each, dict) and each.get("Type") in types]
    return {("Resources", name, "Properties", *keys): kind for name in names for keys, kind in _OF_FUNCTIONS.items()}


def check_form(path: Path, template: Mapping[str, Any], *forms: Forms) -> None:
    """Raises TemplateError, with the line, for the first place that has another one.

    A transform may be anywhere "except in the template parameters section or the template version":
    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-aws-include.html
    """
    declared = template.get("Parameters")
    for name, each in declared.items() if isinstance(declared, dict) else ():
        for key in (name, *(each if isinstance(each, dict) else ())):
            if str(key).startswith("Fn::"):
                raise TemplateError(f"{path}:{line_of(path, 'Parameters', name)}: {key}: AWS takes none in Parameters")
    for section, members in template.items():
        for name in members if isinstance(members, dict) else ():
            if str(name).startswith(_LOOP):
                place = f"{path}:{line_of(path, section, name)}: {section}"
                raise TemplateError(f"{place}: {name}: a loop of AWS::LanguageExtensions is run on AWS only")
    for pattern, wanted in (each for some in forms for each in some.items()):
        for keys, value in _at(template, pattern):
            if not _IS[wanted](value) and (value is not None or pattern[-1] in _NEEDED):
                what = f"{'.'.join(keys)} is {what_is(value)}, and must be {wanted}"
                raise TemplateError(f"{path}:{line_of(path, *keys)}: {what}")


def _is_number(value: Any) -> bool:
    with suppress(TypeError, ValueError):
        return not isinstance(value, bool) and float(value) == float(value)
    return False


_IS: Mapping[str, Callable[[Any], bool]] = {
    _OBJECT: lambda value: isinstance(value, dict),
    _LIST: lambda value: isinstance(value, list | dict),  # a function may give one
    _TEXT: lambda value: isinstance(value, str),
    _NUMBER: _is_number,
}


def _at(value: Any, pattern: Sequence[str], keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What is at these keys, with each name where any may be; what functions such as Fn::Transform give is unknown."""
    if not pattern:
        yield keys, value
    elif isinstance(value, dict):
        names = [each for each in value if not str(each).startswith("Fn::")] if pattern[0] == _ANY else pattern[:1]
        for name in names:
            if name in value or name == "Type":
                yield from _at(value.get(name), pattern[1:], (*keys, str(name)))
