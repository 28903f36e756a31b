"""What the code of a function says about it: the module of its handler, and those of its folder that it imports.

It is read, never run. Code in another language, or in no folder, says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIBRARY = "once"
BATCHES = "aws_lambda_powertools.utilities.batch"
RECORDS = "Records"


@dataclass(frozen=True)
class Code:
    """The code of a function."""

    folder: Path
    event: str
    """What its handler calls its event."""
    modules: Mapping[str, ast.Module]

    @classmethod
    def of(cls, properties: Mapping[str, Any], root: Path) -> Code:
        """By the properties of the function in the template in `root`."""
        place, handler = properties.get("CodeUri", properties.get("Code")), properties.get("Handler")
        if not isinstance(place, str) or not isinstance(handler, str):
            return cls(root, "event", {})
        module, _, function = handler.replace("/", ".").rpartition(".")
        modules = _reached(root / place, module)
        return cls(root / place, _first_parameter(modules.get(module), function), modules)

    @property
    def knows_once(self) -> bool:
        """Whether it imports the library."""
        return self._imports(LIBRARY)

    @property
    def takes_batches(self) -> bool:
        """Whether it expects the list of records that Lambda makes of the messages of a queue or a stream."""
        return self._imports(BATCHES) or any(
            self._is_records(node) for module in self.modules.values() for node in ast.walk(module)
        )

    def _imports(self, wanted: str) -> bool:
        named = (name for at, module in self.modules.items() for name in _imported(module, at))
        return any(f"{name}.".startswith(f"{wanted}.") for name in named)

    def _is_records(self, node: ast.AST) -> bool:
        """`event["Records"]` or `event.get("Records")`; the answers of services have such a member, too."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=member)):
                return (name, member) == (self.event, RECORDS)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=member), *_]
            ):
                return (name, member) == (self.event, RECORDS)
        return False


def _reached(folder: Path, first: str) -> dict[str, ast.Module]:
    """The modules of a folder that are imported, from the first one on; all, where that one is not in the folder."""
    found: dict[str, ast.Module] = {}
    ahead = [first] if _file(folder, first) else list(_all(folder))
    while ahead:
        name = ahead.pop()
        if name in found or name.partition(".")[0] == LIBRARY or (path := _file(folder, name)) is None:
            continue
        try:
            found[name] = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):  # it says nothing here; Lambda will say why
            continue
        ahead += _imported(found[name], name if path.name == "__init__.py" else name.rpartition(".")[0])
    return found


def _all(folder: Path) -> Iterator[str]:
    files = folder.rglob("*.py") if folder.is_dir() else ()
    yield from (".".join(each.relative_to(folder).with_suffix("").parts) for each in files)


def _file(folder: Path, name: str) -> Path | None:
    parts = name.split(".")
    places = (folder.joinpath(*parts, "__init__.py"), folder.joinpath(*parts).with_suffix(".py"))
    return next((each for each in places if all(parts) and each.is_file()), None)


def _imported(module: ast.Module, package: str) -> Iterator[str]:
    """The names of what a module of a package imports: of modules, and of what may be one."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*filter(None, above), *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{each.name}".lstrip(".") for each in node.names)


def _first_parameter(module: ast.Module | None, function: str) -> str:
    for node in module.body if module else ():
        if isinstance(node, ast.FunctionDef) and node.name == function and node.args.args:
            return node.args.args[0].arg
    return "event"
