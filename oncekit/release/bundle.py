"""The template as `sam build` makes it, with its layer, functions and definitions: `sam deploy` deploys it as it is."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from oncekit.local.templates.template import parse

ARCHITECTURES = {"arm64": "aarch64", "x86_64": "x86_64"}
"""As Lambda calls them, and as the compiled parts of a package do."""
TEMPLATE = "template.yaml"
MACHINES = "statemachine"
_BESIDE = ("samconfig.toml", "LICENSE", "CHANGELOG.md")
_PLACES = ("CodeUri", "ContentUri", "DefinitionUri", "DefinitionS3Location", "Location")
_DEFAULT = re.compile(r"(?<=^  Architecture:\n)((?:    .*\n)*?    Default: )\w+$", re.MULTILINE)
_TO_BUILD = re.compile(r"^ +Build(?:Method|Architecture): .*\n", re.MULTILINE)
"""Says that a layer is source; this one is built, and would be built again."""
_FIRST = (1980, 1, 1, 0, 0, 0)
"""The time of every file, so that the same build is the same bundle."""


def name(version: str, architecture: str) -> str:
    return f"once-{version}-{architecture}"


def make(built: Path, root: Path, to: Path, version: str, architecture: str) -> Path:
    """Writes the bundle into `to`: one folder with what `sam build` made, and the definitions, which it leaves out."""
    files = {path.relative_to(built).as_posix(): path.read_bytes() for path in _files(built)}
    template = files[TEMPLATE].decode().replace(f"{os.path.relpath(root / MACHINES, built)}/", f"{MACHINES}/")
    files[TEMPLATE] = _DEFAULT.sub(rf"\g<1>{architecture}", template).encode()
    for each in [each for each in files if Path(each).name == TEMPLATE]:
        files[each] = _TO_BUILD.sub("", files[each].decode()).encode()
    beside = [*(root / each for each in _BESIDE), *_files(root / MACHINES)]
    files |= {path.relative_to(root).as_posix(): path.read_bytes() for path in beside}
    bundle = to / f"{name(version, architecture)}.zip"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as packed:
        for each, content in sorted(files.items()):
            member = zipfile.ZipInfo(f"{bundle.stem}/{each}", _FIRST)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(member, content)
    return bundle


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def missing(folder: Path, packages: list[str], architecture: str) -> list[str]:
    """What an unpacked bundle lacks for a deployment, in sentences; nothing outside of it is looked at.

    `packages` are those that a layer has, besides the library.
    """
    return [*_lacking(folder / TEMPLATE, folder.resolve(), packages, architecture)]


def _lacking(template: Path, root: Path, packages: list[str], architecture: str) -> Iterator[str]:
    here = template.relative_to(root) if template.is_absolute() else template
    for logical_id, resource in parse(template.read_text(encoding="utf-8"), template)["Resources"].items():
        properties = resource.get("Properties", {})
        for property_ in _PLACES:
            given = properties.get(property_)
            if not isinstance(given, str) or "://" in given:
                continue
            place = (template.parent / given).resolve()
            if not place.is_relative_to(root) or not place.exists():
                yield f"{here}: {property_} of {logical_id} is {given}, which is not in the bundle"
            elif property_ == "Location":
                yield from _lacking(place, root, packages, architecture)
            elif property_ == "ContentUri":
                yield from _lacking_in_layer(place / "python", logical_id, packages, architecture)


def _lacking_in_layer(layer: Path, logical_id: str, packages: list[str], architecture: str) -> Iterator[str]:
    known = {path.name.split("-")[0].lower() for path in layer.glob("*.dist-info")}
    if not (layer / "once" / "__init__.py").is_file():
        yield f"{logical_id} has no library"
    for package in packages:
        if package.replace("-", "_").lower() not in known:
            yield f"{logical_id} has no {package}"
    for compiled in layer.rglob("*.so"):
        if ARCHITECTURES[architecture] not in compiled.name:
            yield f"{logical_id}: {compiled.name} is not for {architecture}"
