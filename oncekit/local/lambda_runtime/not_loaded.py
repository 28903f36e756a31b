"""Why the code of a function could not be loaded, for people: the cause, and what to do."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from oncekit.local.lambda_runtime.spec import FunctionSpec

REQUIREMENTS = "requirements.txt"
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_OF_THE_CLIENT = re.compile(r"RequestId: \S* Error: |Unable to import module '[^']*': |Error: (?=Cannot find )")
"""What stands before the cause."""
_PLACE = re.compile(r'File "([^"]+)", line (\d+)|(/[^():]+):(\d+)(?::\d+)?\)?$')
"""A line of a trace, of Python or Node.js."""
_WRONG_HANDLER = ("Runtime.HandlerNotFound", "Runtime.MalformedHandlerName")
_OF_NO_USE = ("Runtime.", "Sandbox.", "Error")
"""How types of errors begin that say nothing beside the message."""


def told(spec: FunctionSpec, error: bytes) -> str:
    """As a sentence without its stop. `error` is what the function's runtime client has told, or Lambda of its end."""
    said = json.loads(error)
    kind = str(said.get("errorType"))
    cause = _OF_THE_CLIENT.sub("", next(iter(str(said.get("errorMessage")).splitlines()), ""), count=1)
    if (missing := _NO_MODULE.fullmatch(cause)) is not None:
        return f"{cause}: {_how_to_get(spec, missing[1])}"
    if kind in _WRONG_HANDLER:
        return f"{cause}: the Handler is {spec.handler}; correct it in the template, or the name in the code"
    return (cause if kind.startswith(_OF_NO_USE) else f"{kind}: {cause}") + _place(spec, said)


def _place(spec: FunctionSpec, said: Mapping[str, Any]) -> str:
    """The innermost line of the function's own code; empty where the trace has none."""
    of_python, of_node = said.get("stackTrace") or [], said.get("trace") or []
    for line in (*reversed(of_python), *of_node):
        if (found := _PLACE.search(str(line).strip())) and "node_modules" not in str(line):
            file, number = Path(found[1] or found[3]), found[2] or found[4]
            if file.is_relative_to(spec.code.resolve()):
                return f" ({_short(file)}:{number})"
    return ""


def _how_to_get(spec: FunctionSpec, name: str) -> str:
    """A module of Python that is not there."""
    module = spec.handler.rpartition(".")[0].replace("/", ".")
    folders = list(dict.fromkeys((spec.code, *spec.python_path, *spec.layers)))
    own = name.partition(".")[0]
    if f"{module}.".startswith(f"{name}."):
        return f"the Handler is {spec.handler}, and {_short(spec.code)} has no {module.replace('.', '/')}.py"
    if any((each / own).is_dir() for each in folders):
        return f"{own} is in the function's own code, and has no {name.replace('.', '/')}.py"
    is_listed = any(_lists(each / REQUIREMENTS, own) for each in folders)
    if not is_listed and (around := _of_the_project(spec.code.resolve(), own)) is not None:
        return _how_to_import(spec.code.resolve(), around)
    if files := [each / REQUIREMENTS for each in folders if _may_bring(each / REQUIREMENTS, own, spec.code)]:
        return f"install what {' and '.join(map(_short, files))} names, with `{_install(files)}`"
    wanted = spec.code / REQUIREMENTS
    return (
        f"it is neither in the function's code nor in its layers; if it is a package, name it in {_short(wanted)}, and "
        f"install it with `{_install([wanted])}`"
    )


def _may_bring(requirements: Path, module: str, code: Path) -> bool:
    """Not what a layer lists under other names: that may be Once's own. A package may have another than its module."""
    return (requirements.parent == code and requirements.is_file()) or _lists(requirements, module)


def _lists(requirements: Path, module: str) -> bool:
    if not requirements.is_file():
        return False
    return module.lower() in requirements.read_text("utf-8", "replace").lower().replace("-", "_")


def _of_the_project(code: Path, name: str) -> Path | None:
    """A folder of this name that the code is in, or beside: an import finds it from there, and on Lambda never."""
    around = (each for each in code.parents if each == code.parent or each.is_relative_to(Path.cwd()))
    return next((each / name for each in around if (each / name).is_dir()), None)


def _how_to_import(code: Path, folder: Path) -> str:
    """What is in a folder that is not on the path."""
    if code.is_relative_to(folder):
        written = ".".join(code.relative_to(folder.parent).parts)
        return f"import what is in {_short(code)} without `{written}.`: that folder is what Lambda has as its root"
    return (
        f"{folder.name} is not in {_short(code)}, which is the folder that Lambda has as its root: move what is "
        "imported in there, or into a layer"
    )


def _install(files: Iterable[Path]) -> str:
    """Into the environment in which functions run here."""
    has_pip = importlib.util.find_spec("pip") is not None
    pip = [sys.executable, "-m", "pip", "install"] if has_pip else ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*pip, *(word for file in files for word in ("-r", _short(file)))])


def _short(path: Path) -> str:
    """From where the command was given."""
    here, there = Path.cwd(), path.resolve()
    return str(there.relative_to(here)) if there.is_relative_to(here) else str(there)
