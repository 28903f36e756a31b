"""`once init`: Once beside the SAM application in this folder, or a small application where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oncekit.cli.options import Template
from oncekit.cli.template import clear_errors
from oncekit.cli.terminal import say, tell
from oncekit.contract.own_stack import ONCE
from oncekit.problem import Problem

Upgrade = Annotated[
    bool, typer.Option("--upgrade", help="Update once/ to the installed version, and name what changes.")
]
CONFLICT = 3


def init(upgrade: Upgrade = False, template: Template = None) -> int:
    """Add Once to your SAM application.

    Copies Once into the folder once/, adds one resource to the template, adds the capabilities to samconfig.toml, and
    what is made here and not committed to .gitignore; what exists already is not changed. In an empty folder, it
    creates a small application. With --upgrade, it names the files of once/ that are new, changed or gone; if you have
    changed one yourself, nothing is updated, and the exit code is 3.
    """
    with clear_errors():
        return (_upgrade if upgrade else _start)(template)


def _start(template: Path | None) -> int:
    from oncekit.adoption import folder
    from oncekit.adoption.application_template import WHY_PROD, ApplicationTemplate, find_template
    from oncekit.adoption.library_layer import unlike
    from oncekit.adoption.regions import SWITCHED_OFF, without_pipes
    from oncekit.adoption.start import start

    new = start(Path.cwd(), template)
    for name in new:
        say(name)
    if (application := find_template(Path.cwd(), template)) is not None:
        for _, told in unlike(ApplicationTemplate(application)):
            tell(told)
    if new:
        tell(
            f"Once {folder.version_of(_folder(template))} is in {folder.NAME}/. Next: `once new OPERATION --function "
            "LOGICAL_ID`, or `once new OPERATION`."
        )
        tell(f"Its Stage is dev; {WHY_PROD}. It is set at the resource {ONCE} of the template.")
        tell(f"EventBridge Pipes is missing in {without_pipes()}: to deploy there, {SWITCHED_OFF}.")
        return 0
    there = _folder(template)
    if folder.changes(there):
        tell(
            f"{there} differs from the Once that is installed (version {folder.version_of(there)} was copied); "
            "`once init --upgrade` updates it."
        )
    else:
        tell(f"Once {folder.version_of(there)} is there; nothing to do.")
    return 0


def _upgrade(template: Path | None) -> int:
    from oncekit.adoption import folder
    from oncekit.adoption.inside import check_inside
    from oncekit.adoption.operations_template import OperationsTemplate
    from oncekit.adoption.yaml_file import YamlFile
    from oncekit.application import TEMPLATE

    there = _folder(template)
    if not folder.is_ours(there):
        raise Problem(f"{there} has no Once to upgrade: run `once init` first")
    check_inside(there.parent, there / folder.OPERATIONS)
    changes = folder.changes(there)
    if mine := folder.changed_here(there):
        tell(
            f"{there} was changed here, and is left as it is: {', '.join(mine)}. To upgrade, delete these, run this "
            "again, and put your change into the new ones."
        )
        return CONFLICT
    before = folder.version_of(there)
    folder.upgrade(there)
    for name in changes:
        say(f"{folder.NAME}/{name}")
    tell(_upgraded(before, folder.version_of(there), len(changes)))
    for each in OperationsTemplate(there / folder.OPERATIONS).not_in(YamlFile(there / TEMPLATE).value):
        tell(f"{there / folder.OPERATIONS} is yours, and names {each}, which this Once does not have: change it")
    return 0


def _upgraded(before: str, now: str, changes: int) -> str:
    if changes:
        files = "1 file is" if changes == 1 else f"{changes} files are"
        return f"From Once {before} to {now}: {files} new, changed or gone."
    same = f"Once {now} is the same as {before}" if before != now else f"once/ is Once {now}"
    return f"Nothing to upgrade: {same}."


def _folder(template: Path | None) -> Path:
    from oncekit.adoption import folder

    return (Path.cwd() if template is None else template.parent) / folder.NAME
