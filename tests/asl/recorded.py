"""What AWS answered, as it was recorded: executions that are played again on the interpreter, with the tasks' answers.

The recordings are beside the project and not in it; a value in them that differs from run to run is a placeholder.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oncekit.asl.errors import StateError
from oncekit.asl.expression import Evaluator, strict_syntax
from oncekit.asl.history import History, details_name
from oncekit.asl.running import WHOLE, run
from oncekit.asl.sizes import text_of
from oncekit.asl.states import Call, Frame, Machine, Way

FILE = Path(__file__).parents[2].parent / "shared" / "recorded" / "recorded.json"
ABSENT = f"there are no recordings at {FILE}"
START = 1_700_000_000.0

Event = tuple[str, int, Any]
"""Type, the event that it follows, and details."""


@functools.cache
def recorded() -> Mapping[str, Any]:
    """All recordings; empty where they are not."""
    found: Mapping[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


class Player:
    """What an execution is handed: the answers that AWS's services gave, and time that passes at once."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.now = START
        self.history = History(lambda: self.now)
        self._answers = {state: iter(given) for state, given in answers.items()}

    def call(self, frame: Frame, _call: Call) -> Any:
        kind, given = next(self._answers[frame.state])
        if kind == "ok":
            return given
        cause = given.get("cause")
        raise StateError(given.get("error"), cause if cause is None or isinstance(cause, str) else json.dumps(cause))

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def record(
        self, kind: str, details: Mapping[str, Any], *, after: int | None = None, is_followed: bool = True
    ) -> int:
        return self.history.add(kind, details, after=after, is_followed=is_followed)

    def entered(self, _frame: Frame) -> None:
        """Nothing to do."""

    def left(self, _frame: Frame, _way: Way, kind: str, details: Mapping[str, Any]) -> None:
        self.record(kind, details)


def played(case: Mapping[str, Any]) -> list[Event]:
    """The history of a recorded execution on the interpreter."""
    player = Player(case["answers"])
    dice = random.Random(0)
    machine = Machine(case["definition"], Evaluator(lambda: player.now, dice), dice)
    role = case["events"][0][2]["roleArn"]
    told = {"input": text_of(case["input"]), "inputDetails": WHOLE, "roleArn": role}
    player.record("ExecutionStarted", told, is_followed=False)
    arn = f"arn:aws:states:us-east-1:123456789012:execution:m:{case['name']}"
    execution = {
        "Id": arn,
        "Name": case["name"],
        "Input": case["input"],
        "StartTime": "date",
        "RoleArn": role,
        "RedriveCount": 0,
    }
    about = {"Execution": execution, "StateMachine": {"Id": arn.replace("execution", "stateMachine"), "Name": "m"}}
    with strict_syntax():
        try:
            output = run(machine, Frame(machine.start_at, case["input"], {}, about), player)
        except StateError as error:
            player.record("ExecutionFailed", error.details)
        else:
            player.record("ExecutionSucceeded", {"output": text_of(output), "outputDetails": WHOLE})
    return [
        (each["type"], each["previousEventId"], each.get(details_name(each["type"]), {}))
        for each in player.history.events
    ]


def differences(ours: list[Event], case: Mapping[str, Any]) -> Iterator[str]:
    """Each event that is not as AWS recorded it."""
    theirs = [tuple(each) for each in case["events"]]
    for number in range(max(len(ours), len(theirs))):
        one = list(ours[number]) if number < len(ours) else None
        other = list(theirs[number]) if number < len(theirs) else None
        if not _is_same(one, other, case["transformers"]):
            yield f"#{number + 1}: {text_of(one)[:500]}\n   AWS: {text_of(other)[:500]}"


def _is_same(ours: Any, theirs: Any, names: list[list[str]]) -> bool:
    ours, theirs = _read(ours), _read(theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_is_same(ours[name], theirs[name], names) for name in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_is_same, ours, theirs, [names] * len(ours)))
    if isinstance(ours, str) and isinstance(theirs, str):
        return _is_same_text(ours, theirs, names)
    return type(ours) is type(theirs) and bool(ours == theirs)


_PLACES = re.compile(
    r"<[^<>]*>|\b(?:date|timestamp|start-date)\b|\b1{12}\b|snf_role_arn|[a-z]+_function_name|bucket-name|file-key"
)


def _is_same_text(ours: str, theirs: str, names: list[list[str]]) -> bool:
    """Where a recording has a placeholder, anything may stand."""
    for name, placeholder in names:
        ours = ours.replace(name, placeholder)
    pattern = "".join(re.escape(part) + ".*" for part in _PLACES.split(theirs)).removesuffix(".*")
    return ours == theirs or re.fullmatch(pattern, ours, re.DOTALL) is not None


def _read(value: Any) -> Any:
    """JSON text as what it stands for: recordings have some values as text and some not."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
