"""What the code of a function says about it: the module of its handler, and those of its folder that it imports.

It is read, never run. Code in another language, or in no folder, says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

from oncekit.adoption.application_template import ApplicationTemplate
from oncekit.adoption.library_layer import known
from oncekit.adoption.shapes import Node, shapes
from oncekit.local.lambda_runtime.languages import PYTHON, why_not
from oncekit.local.templates.sam import IN_A_BUCKET, reader_of_places

LIBRARY = "once"


@dataclass(frozen=True)
class Code:
    """The code of a function."""

    folder: Path
    imported: frozenset[str]
    """The names of the modules that it imports from elsewhere."""
    modules: tuple[Node, ...]
    """Its own, each with its file."""
    handler: str
    """The name of the function that Lambda calls."""

    @classmethod
    def of(cls, template: ApplicationTemplate, logical_id: str) -> Code:
        """That of a function of the application."""
        handler, folder = template.function(logical_id).get("Handler"), code_folder(template, logical_id)
        if folder is None or not isinstance(handler, str) or not is_python(template, logical_id):
            return cls(template.path.parent, frozenset(), (), "")
        layers = (path for each in template.layer_folders(logical_id) for path in (each, each / "python"))
        path = [str(each) for each in (folder, *layers) if each == folder or not (each / LIBRARY).is_dir()]
        finder = _Finder(path, excludes=[LIBRARY])
        module_of, _, function = handler.replace("/", ".").rpartition(".")
        for module in _modules(folder, module_of, template.path.parent):
            try:
                finder.import_hook(module)
            except (ImportError, SyntaxError, ValueError):  # it says nothing here; Lambda will say why
                continue
        files = filter(None, (getattr(each, "__file__", None) for each in finder.modules.values()))
        modules = ((Path(each), ast.parse(Path(each).read_bytes())) for each in files)
        return cls(folder, frozenset(finder.badmodules), tuple(modules), function)

    @property
    def knows_once(self) -> bool:
        """Whether it imports the library."""
        return any(f"{name}.".startswith(f"{LIBRARY}.") for name in self.imported)

    def shapes(self) -> Mapping[str, tuple[Path, int]]:
        """The shapes of AWS's own triggers that it expects or returns, each with its file and line."""
        return shapes(self.modules, self.handler)


def code_folder(template: ApplicationTemplate, logical_id: str) -> Path | None:
    """Where the code of a function is; None where it is in no folder, or which one a deployment decides."""
    properties, root = template.function(logical_id), template.path.parent
    if is_image(properties) or "InlineCode" in properties:
        return None
    values = {name: value for name in template.at("Parameters") or {} if (value := known(template, {"Ref": name}))}
    place = reader_of_places(template.value, values, root.resolve())
    written = place(properties.get("CodeUri", properties.get("Code", ".")))
    return root / written if isinstance(written, str) and not written.startswith(IN_A_BUCKET) else None


def is_image(properties: Mapping[str, Any]) -> bool:
    """Whether a function is made of an image, which has its language and its handler in it."""
    return properties.get("PackageType") == "Image" or "ImageUri" in properties


def is_python(template: ApplicationTemplate, logical_id: str) -> bool:
    """Whether a function is in Python, as far as the template says."""
    properties = template.function(logical_id)
    runtime = known(template, properties.get("Runtime"))
    return not is_image(properties) and (runtime is None or runtime.startswith("python"))


def may_run_here(template: ApplicationTemplate, logical_id: str) -> bool:
    """Whether the local cloud runs functions of this kind, once they are built."""
    properties = template.function(logical_id)
    return not is_image(properties) and why_not(known(template, properties.get("Runtime")) or PYTHON) is None


class _Finder(ModuleFinder):
    """Follows imports into folders without `__init__.py`, too: ModuleFinder fails on them (python/cpython#84530).

    But the library is never one of them: its package, from the layer, comes before the folder `once/` of `once init`.
    """

    def import_module(self, partname: str, fqname: str, parent: Any) -> Any:
        path = parent.__path__ if parent else self.path
        PathFinder.invalidate_caches()
        spec = PathFinder.find_spec(partname, path) if path else None
        if spec is None or spec.origin or fqname == LIBRARY:
            return super().import_module(partname, fqname, parent)
        module: Any = self.add_module(fqname)
        module.__path__ = list(spec.submodule_search_locations or ())
        return module


def _modules(folder: Path, handler: str, root: Path) -> Iterator[str]:
    """That of the handler; where it is not in the folder, as a layer may have it, all that are.

    But not of a folder outside of the application, which may be any.
    """
    of_handler = handler.replace(".", "/")
    if handler and any((folder / each).is_file() for each in (f"{of_handler}.py", f"{of_handler}/__init__.py")):
        yield handler
        return
    is_inside = folder.resolve().is_relative_to(root.resolve())
    for file in folder.rglob("*.py") if is_inside and folder.is_dir() else ():
        yield ".".join(file.relative_to(folder).with_suffix("").parts)
