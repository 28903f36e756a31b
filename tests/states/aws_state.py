"""One state as AWS answers it: by TestState, which creates nothing and, with a mock or without a call, needs no role.

Only a Task or a Map takes a mock, and a context only beside one (so the model of the API, and what was recorded on
AWS). In other states the context is a variable, and the clock, which nobody can set, is written into all expressions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from one_state import State, Way

from oncekit.asl.definition import is_expression
from oncekit.asl.errors import StateError
from oncekit.asl.history import iso
from oncekit.problem import Problem
from oncekit.stack.aws_errors import clear_aws_errors
from oncekit.stack.session import Place, local_endpoint, session_at


def client(profile: str | None, region: str | None) -> Any:
    """A client for TestState. Raises Problem where there is no way to AWS."""
    from botocore.config import Config
    from botocore.exceptions import NoCredentialsError

    if local_endpoint() is not None:
        raise Problem("AWS_ENDPOINT_URL points to the local cloud, which has no TestState: unset it")
    with clear_aws_errors("TestState"):
        session = session_at(Place("", profile, region))
        if session.get_credentials() is None:
            raise NoCredentialsError
        # How many calls a second AWS takes is on no page that was found: it slows down when it is told to.
        return session.client("stepfunctions", config=Config(retries={"mode": "adaptive", "total_max_attempts": 10}))


@dataclass(frozen=True)
class OnAws(State):
    client: Any = field(kw_only=True)

    def chooses(self, variables: Mapping[str, Any], given: Any = None) -> Way:
        return self._way(self._answer(self.raw, variables, given))

    def calls(self, variables: Mapping[str, Any]) -> Any:
        """With an error for its answer, which every call may have: another one would have to suit the state."""
        catch = [{"ErrorEquals": ["Asked"], "Next": self.name}, *self.raw.get("Catch", ())]
        mock = {"errorOutput": {"error": "Asked", "cause": ""}}
        answer = self._answer({**self.raw, "Catch": catch}, variables, mock=mock)
        told = answer["inspectionData"].get("afterArguments")
        if told is None:
            raise StateError(answer.get("error"), answer.get("cause"))
        return json.loads(told)

    def takes(self, result: Any, variables: Mapping[str, Any], given: Any = None) -> Way:
        """Tests leave out what they do not need of an answer, which AWS would refuse."""
        return self._after({"result": text(result), "fieldValidationMode": "NONE"}, variables, given)

    def maps(self, given: Any) -> Way:
        """What the branches gave is a mock, too: what they get is asked first, of a state that has no more than it."""
        items = {"Type": "Pass", "Output": self.raw["Items"], "End": True}
        try:
            gave = replace(self, machine={"StartAt": self.name, "States": {self.name: items}}).chooses({}, given).output
        except StateError:
            gave = []
        return self.takes(gave, {}, given)

    def selects(self, given: Any) -> list[Any]:
        answer = self._answer(self.raw, {}, given, {"result": "[]"})
        selected: list[Any] = json.loads(answer["inspectionData"]["afterItemSelector"])
        return selected

    def fails(self, error: str, variables: Mapping[str, Any], cause: str = "", given: Any = None) -> Way:
        return self._after({"errorOutput": {"error": error, "cause": cause}}, variables, given)

    def _after(self, mock: Any, variables: Mapping[str, Any], given: Any) -> Way:
        """The way on after a call, of which tests know nothing that only its arguments read."""
        raw = {**self.raw, "Arguments": unread(self.raw["Arguments"])} if "Arguments" in self.raw else self.raw
        return self._way(self._answer(raw, variables, given, mock))

    def _answer(
        self, raw: Mapping[str, Any], variables: Mapping[str, Any], given: Any = None, mock: Any = None
    ) -> dict[str, Any]:
        """What AWS answers; the state in its machine and without its Retry, since no error is to be tried again."""
        context = self.lane.context(given)
        known = {**self.lane.begun, **variables}
        asked: dict[str, Any] = {"input": text(given), "inspectionLevel": "DEBUG", "stateName": self.name}
        written = json.dumps({name: value for name, value in raw.items() if name != "Retry"})
        written = written.replace("$millis()", str(round(self.at * 1000))).replace("$now()", f"'{iso(self.at)}'")
        if mock is None:
            written = written.replace("$states.context", "$contextOfState")
            known["contextOfState"] = context
        else:
            asked |= {"mock": mock, "context": text(context)}
        machine = {
            "QueryLanguage": "JSONata",  # which the machine inside of a Map has of the one around it
            "StartAt": self.machine["StartAt"],
            "States": {**self.machine["States"], self.name: json.loads(written)},
        }
        answer: dict[str, Any] = self.client.test_state(definition=json.dumps(machine), variables=text(known), **asked)
        return answer

    def _way(self, answer: Mapping[str, Any]) -> Way:
        if answer["status"] == "FAILED":
            raise StateError(answer.get("error"), answer.get("cause"))
        to = answer.get("nextState")
        known = json.loads(answer["inspectionData"].get("variables", "{}"))
        return Way(
            to, json.loads(answer["output"]), {name: known[name] for name in self._assigned(to) if name in known}
        )

    def _assigned(self, to: str | None) -> set[str]:
        """The variables that the ways there assign. AWS tells all that there are, those that were given included."""
        own = {**self.raw, "Next": self.raw.get("Next", self.raw.get("Default"))}
        ways = (own, *self.raw.get("Choices", ()), *self.raw.get("Catch", ()))
        return {name for way in ways if way.get("Next") == to for name in way.get("Assign", {})}


def unread(arguments: Any, one: str = "{% {} %}") -> Any:
    """The fields of a call with values that read nothing; of a call that is one expression, no fields."""
    if isinstance(arguments, dict):
        return {name: unread(value, "x") for name, value in arguments.items()}
    return one if isinstance(arguments, str) and is_expression(arguments) else arguments


def text(value: Any) -> str:
    """As JSON. A number that no double holds is one in its text, which Python reads as infinity."""
    return json.dumps(value).replace("Infinity", "1e400")
