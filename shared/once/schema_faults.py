"""All faults of a payload, as sentences that begin with a JSON pointer. Imported only when needed: it is slow."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError, relevance

FAULTS_NAMED: Final = 20
"""More faults than this are counted, not named."""

_SENTENCES: Final[Mapping[str, Callable[[Any], str]]] = {
    "type": lambda rule: f"must be {_kinds(rule)}",
    "enum": lambda rule: f"must be one of {', '.join(map(_short, rule))}",
    "const": lambda rule: f"must be {_short(rule)}",
    "pattern": lambda rule: f"must match {_short(rule)}",
    "minLength": lambda rule: f"must have at least {_count(rule, 'character')}",
    "maxLength": lambda rule: f"must have at most {_count(rule, 'character')}",
    "minimum": lambda rule: f"must be at least {rule}",
    "maximum": lambda rule: f"must be at most {rule}",
    "exclusiveMinimum": lambda rule: f"must be more than {rule}",
    "exclusiveMaximum": lambda rule: f"must be less than {rule}",
    "multipleOf": lambda rule: f"must be a multiple of {rule}",
    "minItems": lambda rule: f"must have at least {_count(rule, 'item')}",
    "maxItems": lambda rule: f"must have at most {_count(rule, 'item')}",
    "uniqueItems": lambda rule: "must not have the same item twice",
    "minProperties": lambda rule: f"must have at least {_count(rule, 'member')}",
    "maxProperties": lambda rule: f"must have at most {_count(rule, 'member')}",
}


def schema_faults(schema: Mapping[str, Any], payload: object) -> list[str]:
    """One sentence for each fault, such as `/items/0/quantity must be at least 1`, without values of the payload."""
    errors = sorted(Draft7Validator(schema).iter_errors(payload), key=lambda error: _pointer(error))
    sentences = list(dict.fromkeys(sentence for error in errors for sentence in _sentences(error)))
    if len(sentences) > FAULTS_NAMED:
        sentences[FAULTS_NAMED:] = [f"and {len(sentences) - FAULTS_NAMED} more"]
    return sentences


def _sentences(error: ValidationError) -> Iterator[str]:
    place = _pointer(error)
    instance: Any = error.instance
    rule: Any = error.validator_value
    here = place or "the payload"
    if "propertyNames" in error.absolute_schema_path:
        yield f"{here} has a member whose name breaks the rule {error.validator!r} of the schema"
    elif error.validator == "required":
        yield from (f"{place}/{_escaped(name)} is missing" for name in rule if name not in instance)
    elif error.validator == "additionalProperties" and rule is False:
        yield from (f"{place}/{_escaped(name)} is not a known field" for name in _extras(instance, error.schema))
    elif error.validator in ("anyOf", "oneOf"):
        if error.context:
            nearest = next(_sentences(min(error.context, key=relevance)), "one that is not allowed")
            yield f"{here} matches none of {len(rule)} alternatives (the nearest: {nearest})"
        else:
            yield f"{here} matches more than one of {len(rule)} alternatives"
    elif error.validator is None:
        return  # a member whose schema is `false`: jsonschema does not say which, the compiled check does
    elif error.validator in _SENTENCES:
        yield f"{here} {_SENTENCES[str(error.validator)](rule)}"
    else:
        yield f"{here} breaks the rule {error.validator!r} of the schema: {_short(rule)}"


def _pointer(error: ValidationError) -> str:
    return "".join(f"/{_escaped(str(step))}" for step in error.absolute_path)


def _escaped(name: str) -> str:
    name = name.replace("~", "~0").replace("/", "~1")
    return name if len(name) <= 80 else name[:77] + "..."


def _extras(instance: Mapping[str, Any], schema: Any) -> list[str]:
    """The members that `additionalProperties: false` refuses."""
    known = schema.get("properties", {})
    patterns = [{"pattern": pattern} for pattern in schema.get("patternProperties", {})]
    return [
        name
        for name in instance
        if name not in known and not any(Draft7Validator(pattern).is_valid(name) for pattern in patterns)
    ]


def _kinds(rule: str | list[str]) -> str:
    kinds = [rule] if isinstance(rule, str) else rule
    articles = {"null": "null", "object": "an object", "array": "an array", "integer": "an integer"}
    return " or ".join(articles.get(kind, f"a {kind}") for kind in kinds)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _short(rule: object) -> str:
    text = json.dumps(rule)
    return text if len(text) <= 120 else text[:117] + "..."
