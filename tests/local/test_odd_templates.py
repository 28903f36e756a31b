"""Templates of another form than CloudFormation's: each command says so in one sentence, and none shows a traceback."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from commands import once

from oncekit.cli.template import clear_errors
from oncekit.local.template import load
from oncekit.problem import Problem

pytestmark = pytest.mark.ours

HEAD = """Transform: AWS::Serverless-2016-10-31
Resources:
  Works: { Type: AWS::Serverless::Function, Properties: { Runtime: python3.13, Handler: app.handler } }
"""
EMPTY = "template.yaml:4: Resources.N is empty, and must be an object"
OF_EVENTS = "  N: {{ Type: AWS::Serverless::Function, Properties: {{ Handler: app.handler, Events: {} }} }}\n"
ODD = {
    "  N:\n": EMPTY,
    "  N: hello\n": EMPTY.replace("empty", "a text"),
    "  N: [a]\n": EMPTY.replace("empty", "a list"),
    "  N: { Properties: {} }\n": "template.yaml:4: Resources.N.Type is empty, and must be a text",
    "  N: { Type: [a] }\n": "template.yaml:4: Resources.N.Type is a list, and must be a text",
    "  N:\n    Type: AWS::SNS::Topic\n    Properties: [a]\n": "template.yaml:6: Resources.N.Properties is a list, and",
    "  N: { Type: AWS::SNS::Topic, Metadata: a }\n": "template.yaml:4: Resources.N.Metadata is a text, and must be",
    OF_EVENTS.format("[a]"): "template.yaml:4: Resources.N.Properties.Events is a list, and must be an object",
    OF_EVENTS.format("{ A: a }"): "template.yaml:4: Resources.N.Properties.Events.A is a text, and must be an object",
    "Globals: { Function: a }\n": "template.yaml:4: Globals.Function is a text, and must be an object",
}
"""What `once init` and `once new` say of what is appended to a template."""
ODD_SECTIONS = {
    "Parameters: [a]\n": "template.yaml:4: Parameters is a list, and must be an object",
    "Parameters:\n  P: a\n": "template.yaml:5: Parameters.P is a text, and must be an object",
    "Parameters:\n  P: { Type: [a] }\n": "template.yaml:5: Parameters.P.Type is a list, and must be a text",
    "Parameters:\n  P:\n    Type: String\n    MinLength: a\n": "template.yaml:7: Parameters.P.MinLength is a text, and",
    "Parameters: { P: { Type: Number, MaxValue: {} } }\n": "template.yaml:4: Parameters.P.MaxValue is an object, and",
    "Parameters: { P: { Type: String, AllowedValues: 5 } }\n": "template.yaml:4: Parameters.P.AllowedValues is a",
    "Mappings: a\n": "template.yaml:4: Mappings is a text, and must be an object",
    "Mappings: { M: [a] }\n": "template.yaml:4: Mappings.M is a list, and must be an object",
    "Conditions: [a]\n": "template.yaml:4: Conditions is a list, and must be an object",
    "Outputs: a\n": "template.yaml:4: Outputs is a text, and must be an object",
    "Outputs:\n  O: a\n": "template.yaml:5: Outputs.O is a text, and must be an object",
}
"""What each command says."""


def no_stack(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing of this needs a deployed stack")


@pytest.mark.parametrize(("odd", "said"), [*ODD.items(), *ODD_SECTIONS.items()])
def test_who_adopts_once_is_told_the_line_and_nothing_is_written(tmp_path: Path, odd: str, said: str) -> None:
    template = tmp_path / "template.yaml"
    (tmp_path / "app.py").write_text("def handler(event, context): ...\n")
    with contextlib.chdir(tmp_path):
        template.write_text(HEAD + odd)
        done = once(no_stack, "init")
        assert (done.code, done.out, {each.name for each in tmp_path.iterdir()}) == (2, "", {"app.py", template.name})
        assert said in done.err and done.err.count("\n") == 1
        template.write_text(HEAD)
        assert once(no_stack, "init").code == 0
        template.write_text(template.read_text() + (odd if odd.startswith(" ") else f"\n{odd}"))
        before = set(tmp_path.rglob("*"))
        done = once(no_stack, "new", "do-it", "--function", "Works")
        assert (done.code, done.out, set(tmp_path.rglob("*"))) == (2, "", before)
        assert re.sub(r":\d+:.*", "", said) in done.err and said.partition(": ")[2] in done.err


@pytest.mark.parametrize(("odd", "said"), ODD_SECTIONS.items())
def test_a_section_of_another_form_is_told_with_its_line(tmp_path: Path, odd: str, said: str) -> None:
    (tmp_path / "template.yaml").write_text(HEAD + odd)
    with pytest.raises(Problem, match=re.escape(said)), clear_errors():
        load(tmp_path / "template.yaml")
