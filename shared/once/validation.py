"""Checks payloads against JSON Schema, draft-07.

Every payload goes through code that fastjsonschema generates from the schema. Only if that refuses the payload,
jsonschema is imported to name all faults at once; importing it always would add about 90 ms to each cold start.
`format` is not checked, as draft-07 allows; use `pattern` instead. A message never contains a value of the payload.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import fastjsonschema

from once.errors import PermanentError

DRAFT_07: Final = "http://json-schema.org/draft-07/schema"


class PayloadSchema:
    """The schema of an operation's payloads, compiled on creation. Raises ValueError for one that cannot be used."""

    def __init__(self, schema: Mapping[str, Any], name: str = "the schema") -> None:
        if str(schema.get("$schema", DRAFT_07)).rstrip("#") != DRAFT_07:
            raise ValueError(f"{name}: $schema must be {DRAFT_07}#, the draft that payloads are checked with")
        self._schema, self._name = dict(schema), Path(name).name
        try:
            # Defaults are not filled in: business logic must get the payload of which the fingerprint was made.
            self._accept = fastjsonschema.compile(
                self._schema,
                handlers=dict.fromkeys(("http", "https", "ftp", "file", ""), _refuse_to_fetch),
                use_default=False,
                use_formats=False,
            )
        except fastjsonschema.JsonSchemaDefinitionException as error:
            raise ValueError(f"{name}: {error}") from error

    @classmethod
    def read(cls, path: Path) -> "PayloadSchema":
        """The schema in a JSON file."""
        return cls(json.loads(path.read_text(encoding="utf-8")), str(path))

    def check(self, payload: Mapping[str, Any]) -> None:
        """Raises PermanentError that names each faulty field and what is wrong with it."""
        try:
            self._accept(payload)
        except fastjsonschema.JsonSchemaValueException as refusal:
            from once.schema_faults import schema_faults

            faults = schema_faults(self._schema, payload) or [_first_fault(refusal)]
            raise PermanentError(f"payload refused by {self._name}: {'; '.join(faults)}") from None


def _first_fault(refusal: fastjsonschema.JsonSchemaValueException) -> str:
    """A fault that only fastjsonschema finds, e.g. a line break at the end of a string that has a pattern."""
    problem = f"breaks the rule {refusal.rule!r} of the schema" if refusal.rule else "is not allowed"
    return f"/{'/'.join(refusal.path[1:])} {problem}"


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise fastjsonschema.JsonSchemaDefinitionException(f"$ref to {uri}: a schema is one file, nothing is fetched")
