"""Puts Once beside an application, or makes a small application where there is none; and brings a newer Once."""

from __future__ import annotations

import re
from pathlib import Path

from oncekit.adoption import folder, sam_config
from oncekit.adoption.application_template import ApplicationTemplate, find_template
from oncekit.adoption.inside import check_inside
from oncekit.adoption.names import Operation
from oncekit.adoption.operation import Additions, Wanted
from oncekit.adoption.texts import text
from oncekit.own_template import NAMES, NOTED
from oncekit.problem import Problem

GIT_IGNORE = ".gitignore"
FIRST = "place-order"
"""The operation of an application that begins here."""
_OTHERS = {
    "cdk.json": "CDK",
    "*.tf": "Terraform",
    "serverless.*": "the Serverless Framework",
    "Pulumi.y*ml": "Pulumi",
    "sst.config.*": "SST",
}
"""What lies in a folder that is deployed by another tool than SAM."""


def start(root: Path, given: Path | None) -> list[str]:
    """Give the names of the files that are new or changed; none when Once is there. Raises Problem."""
    template = find_template(root, given)
    there = root if template is None else template.parent
    operations = there / folder.NAME / folder.OPERATIONS
    check_inside(there, template or there, there / sam_config.NAME, there / GIT_IGNORE, operations)
    if template is None:
        return _new_application(root)
    return _beside(template)


def _beside(template: Path) -> list[str]:
    application = ApplicationTemplate(template)
    application.check()
    root, new = template.parent, []
    changed = {
        sam_config.NAME: sam_config.with_capabilities(root / sam_config.NAME),
        GIT_IGNORE: _with_entries(root / GIT_IGNORE),
    }
    if not application.has_once:
        application.add_once()
    if not folder.is_ours(root / folder.NAME):
        folder.create(root / folder.NAME)
        new.append(f"{folder.NAME}/")
    if folder.note_template(root / folder.NAME, template.name) and f"{folder.NAME}/" not in new:
        new.append(NOTED)
    operations = root / folder.NAME / folder.OPERATIONS
    if not operations.exists():
        operations.write_text(text("operations.yaml"))
        new.append(operations.relative_to(root).as_posix())
    if application.save():
        new.append(template.name)
    for name, content in changed.items():
        if content is not None:
            (root / name).write_bytes(content.encode(errors="surrogateescape"))
            new.append(name)
    return new


def _with_entries(path: Path) -> str | None:
    """The text of the file, with the entries that it has not; None when it has all."""
    there = path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""
    known = {line.strip().strip("/") for line in there.splitlines()}
    lacking = [each for each in text("gitignore.txt").splitlines() if each.strip("/") not in known]
    if not lacking:
        return None
    end = "\r\n" if "\r\n" in there else "\n"
    between = end if there and not there.endswith("\n") else ""
    return there + between + "".join(f"{each}{end}" for each in lacking)


def _stack_of(root: Path) -> str:
    """The name of a folder as CloudFormation takes it for a stack, without the stage: a letter, letters, digits, -."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", root.resolve().name).strip("-")[:100]
    return name if name[:1].isalpha() else f"once-{name}".strip("-")


def _check_that_sam_deploys(root: Path) -> None:
    """Raises Problem for an application of another tool, for which no template is to be written."""
    for pattern, tool in _OTHERS.items():
        for path in sorted(root.glob(pattern)):
            raise Problem(
                f"{root} is deployed by {tool} ({path.name}), and `once init` writes templates of SAM: deploy Once as "
                "a stack of its own beside it. Once's docs/other-tools.md shows what to type"
            )


def _new_application(root: Path) -> list[str]:
    _check_that_sam_deploys(root)
    if there := sorted(path.name for path in root.iterdir() if not path.name.startswith(".")):
        raise Problem(
            f"{root} has no template, but {', '.join(there[:3])}{'...' if there[3:] else ''}: give --template, or "
            "start in an empty folder"
        )
    template = root / NAMES[0]
    architecture = _indented(text("architecture.yaml"))
    template.write_text(
        text("template.yaml", architecture=architecture) + _indented(text("once.yaml", stage="!Ref Stage"))
    )
    (root / sam_config.NAME).write_text(text("samconfig.toml.txt", name=_stack_of(root)))
    new = _beside(template)
    additions = Additions.to(template)
    additions.add(Wanted(Operation(FIRST), step=True))
    return list(dict.fromkeys([template.name, sam_config.NAME, *new, *additions.save()]))


def _indented(lines: str) -> str:
    return "".join(f"  {line}\n" if line else "\n" for line in lines.splitlines())
