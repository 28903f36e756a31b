"""Golden texts: what a picture says, without where things are in it. `ONCE_GOLDEN=write` writes them anew."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from oncekit.console.here import run_here
from oncekit.console.machine import Definition
from oncekit.console.picture import picture
from oncekit.console.run import Run
from oncekit.local import Execution, LocalCloud

FOLDER = Path(__file__).parent / "golden"
SVG = "{http://www.w3.org/2000/svg}"


def held(name: str, text: str) -> None:
    """The text is that of the file."""
    file = FOLDER / f"{name}.txt"
    if os.environ.get("ONCE_GOLDEN") == "write":
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8"), f"{file.name} is another one; if that is right, ONCE_GOLDEN=write writes it"


def drawn(definition: Definition, run: Run) -> tuple[dict[str, str], set[str]]:
    """The sign on each state, and the ways that were taken, as the picture has them."""
    root = ElementTree.fromstring(picture(definition, run, "it"))
    signs, ways = {}, set()
    for group in root.iter(f"{SVG}g"):
        title = group.findtext(f"{SVG}title") or ""
        sign = group.find(f"{SVG}g[@class='sign']/{SVG}text")
        if sign is not None:
            signs[re.split(r"[ :]", title)[0]] = sign.text or ""
        if " → " in title and "taken" in (group.get("class") or "").split():
            ways.add(title.partition(":")[0])
    return signs, ways


def told(definition: Definition, run: Run) -> str:
    """The path with the sign of each state, and the ways where they are others than those between its states.

    What is repeated at once stands there once: a wait goes round as often as it takes.
    """
    signs, ways = drawn(definition, run)
    path = [each.state for each in run.visits if each.parent is None and each.outcome != "redriven"]
    text = " → ".join(f"{state} {signs.pop(state, '·')}" for state in path)
    text = re.sub(r"((?: → \w+ ·)+?)\1+", r"\1 ...", text)
    odd = ways ^ {f"{a} → {b}" for a, b in pairwise(path)}
    return text + "".join(f"\n  also {each}" for each in sorted(odd)) + "".join(f"\n  also {each}" for each in signs)


def definition_of(cloud: LocalCloud, ended: Execution) -> Definition:
    found: Definition = json.loads(cloud.executions.find(ended.arn).state_machine.definition)
    return found


def told_of(cloud: LocalCloud, ended: Execution) -> str:
    return told(definition_of(cloud, ended), run_here(ended))


def hundred_states() -> dict[str, Any]:
    """Tasks one after the other, each with a way out on an error, and every tenth with a way back."""
    states: dict[str, Any] = {}
    for n in range(49):
        onward = f"Check{n + 1}" if n < 48 else "Done"
        states[f"Check{n}"] = {"Type": "Choice", "Choices": [{"Next": f"Work{n}"}], "Default": onward}
        states[f"Work{n}"] = {"Type": "Task", "Next": onward, "Catch": [{"ErrorEquals": ["E"], "Next": "Failed"}]}
        if n % 10 == 9:
            states[f"Work{n}"]["Next"] = f"Check{n - 5}"
    return {"StartAt": "Check0", "States": {**states, "Done": {"Type": "Succeed"}, "Failed": {"Type": "Fail"}}}
