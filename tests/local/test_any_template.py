"""Templates as strangers write them: whatever SAM accepts is deployed, or is in name only and says why."""

from __future__ import annotations

import json
from typing import Any

import pytest
from event_stand import Stand

pytestmark = pytest.mark.ours

ECHO = "def handler(event, context): return {'got': event}\n"


def answer(stand: Stand, name: str = "Echo") -> Any:
    """What a function answers to {}."""
    invoked = stand.cloud.client("lambda").invoke(FunctionName=stand.stack.resources[name].ref, Payload="{}")
    return json.loads(invoked["Payload"].read())


@pytest.mark.parametrize(
    "told", ["Handler: src/app.handler", "Handler: app.handler, CodeUri: src", "Handler: app.handler, CodeUri: ./src/"]
)
def test_a_function_has_its_code_where_the_template_says_or_is(stand: Stand, told: str) -> None:
    (stand.folder / "src").mkdir()
    (stand.folder / "src/app.py").write_text(ECHO)
    stand.deploy(f"  Echo: {{ Type: AWS::Serverless::Function, Properties: {{ Runtime: python3.13, {told} }} }}\n")
    assert answer(stand) == {"got": {}}


def test_all_functions_may_have_their_code_in_one_folder_of_globals(stand: Stand) -> None:
    (stand.folder / "src").mkdir()
    (stand.folder / "src/app.py").write_text(ECHO)
    stand.deploy(
        "  Echo: { Type: AWS::Serverless::Function, Properties: { Handler: app.handler } }\n"
        "Globals: { Function: { Runtime: python3.13, CodeUri: src/ } }\n"
    )
    assert answer(stand) == {"got": {}}


def test_a_function_may_have_its_code_in_the_template(stand: Stand) -> None:
    code = "\n          ".join(ECHO.replace("event}", "'${AWS::Region}'}").splitlines())
    stand.deploy(
        "  Echo:\n    Type: AWS::Serverless::Function\n    Properties:\n      Runtime: python3.13\n"
        f"      Handler: index.handler\n      InlineCode: !Sub |\n          {code}\n"
    )
    assert answer(stand) == {"got": "us-east-1"}
