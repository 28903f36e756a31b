"""The names of an operation in files and templates: `place-order`, `PlaceOrder`, `place_order`, `PLACE_ORDER`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from oncekit.problem import Problem

_OPERATION = re.compile(r"(?=.{1,40}$)[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Operation:
    """Raises Problem for a name that no request can have, or that makes no name of a resource."""

    name: str

    def __post_init__(self) -> None:
        if not _OPERATION.fullmatch(self.name):
            raise Problem(
                f"{self.name!r} is not a name for an operation: it begins with a small letter and has at most 40 small "
                "letters, digits and single hyphens, such as place-order"
            )

    @property
    def camel(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("-"))

    @property
    def folder(self) -> str:
        return self.name.replace("-", "_")

    @property
    def places(self) -> dict[str, str]:
        """The names, for the places in a text."""
        return {
            "operation": self.name,
            "Operation": self.camel,
            "folder": self.folder,
            "OPERATION": self.folder.upper(),
        }
