"""Templates of another form than CloudFormation's: each command says so in one sentence, and none shows a traceback."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from commands import once
from event_stand import Stand

from oncekit.cli.template import clear_errors
from oncekit.local.deployment.deploy import deploy
from oncekit.local.events.exchange import left_out
from oncekit.local.templates.template import load
from oncekit.problem import Problem

pytestmark = pytest.mark.ours

HEAD = """Transform: AWS::Serverless-2016-10-31
Resources:
  Works: { Type: AWS::Serverless::Function, Properties: { Runtime: python3.13, Handler: app.handler } }
"""
INCLUDE = "{{ Fn::Transform: {{ Name: AWS::Include, Parameters: {} }} }}"
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
    "  Fn::ForEach::T: [N, [a], {}]\n": "template.yaml:4: Resources: Fn::ForEach::T: a loop of AWS::LanguageExt",
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
    f"Parameters:\n  {INCLUDE.format('{ Location: a }')[1:-1]}\n": "template.yaml:5: Fn::Transform: AWS takes",
    f"Parameters:\n  P: {INCLUDE.format('a')[:-1]}, Type: String }}\n": "template.yaml:5: Fn::Transform: AWS takes",
    "Mappings: a\n": "template.yaml:4: Mappings is a text, and must be an object",
    "Mappings: { M: [a] }\n": "template.yaml:4: Mappings.M is a list, and must be an object",
    "Conditions: [a]\n": "template.yaml:4: Conditions is a list, and must be an object",
    "Outputs:\n  Fn::ForEach::T: [N, [a], {}]\n": "template.yaml:5: Outputs: Fn::ForEach::T: a loop of AWS::Lang",
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


NO_VALUE = {
    "  N: [\n": "is not YAML: while parsing a flow node did not find expected node content in line 5, column 1",
    f"Metadata: {'[' * 600}{']' * 600}\n": "has more than 200 values, each inside of another",
    "  Works: { Type: AWS::SNS::Topic }\n": "has Works twice in one place, in lines 3 and 4",
    "Outputs: { O: { Value: a }, O: { Value: b } }\n": "has O twice in one place, in lines 4 and 4",
}


@pytest.mark.parametrize(("odd", "said"), NO_VALUE.items(), ids=["no YAML", "too deep", "twice", "twice in a line"])
def test_what_no_value_can_be_made_of_is_told_by_each_command(tmp_path: Path, odd: str, said: str) -> None:
    (tmp_path / "template.yaml").write_text(HEAD + odd)
    with contextlib.chdir(tmp_path):
        assert said in once(no_stack, "init").err
    with pytest.raises(Problem, match=said), clear_errors():
        load(tmp_path / "template.yaml")


@pytest.mark.parametrize("properties", ["~", "{ Layers: [{ Ref: {} }], Runtime: { Ref: [a] } }"])
def test_a_function_of_another_form_is_taken_or_told_in_one_sentence(tmp_path: Path, properties: str) -> None:
    template = tmp_path / "template.yaml"
    with contextlib.chdir(tmp_path):
        template.write_text(f"{HEAD}  N: {{ Type: AWS::Serverless::Function, Properties: {properties} }}\n")
        assert once(no_stack, "init").code == 0
        done = once(no_stack, "new", "do-it", "--function", "N", "--direct")
        assert done.code == 0 or "is not written line by line" in done.err


@pytest.mark.parametrize(("odd", "said"), ODD_SECTIONS.items())
def test_a_section_of_another_form_is_told_with_its_line(tmp_path: Path, odd: str, said: str) -> None:
    (tmp_path / "template.yaml").write_text(HEAD + odd)
    with pytest.raises(Problem, match=re.escape(said)), clear_errors():
        load(tmp_path / "template.yaml")


ARN = "arn:aws:sqs:us-east-1:123456789012:q"
OF = {
    each: INCLUDE.format(f"{{ Location: {each}.yaml }}")
    for each in ("list", "text", "untyped", "broken", "gone", "short", "nested")
}
POLICY = "IAM::Role, Properties: {{ Policies: {} }}"
NOTICE = "S3::Bucket, Properties: {{ NotificationConfiguration: {} }}"
TOLD = "SNS::Topic, Properties: {{ Subscription: [{}] }}"
RULE = "Events::Rule, Properties: {{ EventPattern: {{ source: [a] }}, EventBusName: {}, Targets: {} }}"
STREAM = "Lambda::EventSourceMapping, Properties: { EventSourceArn: !GetAtt Rows.StreamArn, FunctionName: !Ref Works }"
BODY = "ApiGateway::RestApi, Properties: {{ Body: {{ paths: {} }} }}"
LEFT = {
    "N:\n": "N (unknown type: it is empty, and must be an object)",
    "N: hello\n": "N (unknown type: it is a text, and must be an object)",
    "N: { Properties: {} }\n": "N (unknown type: it has no Type)",
    "N: { Type: AWS::SNS::Topic, Properties: [a] }\n": "N (AWS::SNS::Topic: its Properties are a list, and must be an",
    OF_EVENTS.format("{ A: a }").strip(): "N.A (an event without a Type: ",
    "N: { Type: AWS::Lambda::Function, Properties: { Code: { ZipFile: a }, Handler: a.b, Role: { a: b } } }\n": (
        "N (AWS::Lambda::Function: its Role is an object, and must be a text)"
    ),
    f"N: {OF['list']}\n": "N (unknown type: a part of it, AWS::Include of list.yaml, is a list, and",
    f"N: {OF['text']}\n": "N (unknown type: a part of it, AWS::Include of text.yaml, is a text, and",
    f"N: {OF['nested']}\n": "N (unknown type: a part of it, AWS::Include of nested.yaml, has Fn::Transform in it",
    f"N: {OF['short']}\n": "N (unknown type: a part of it, AWS::Include of short.yaml, cannot be read: ",
    f"N: {OF['untyped']}\n": "N (unknown type: it has no Type)",
    f"N: {OF['gone']}\n": "N (unknown type: a part of it, AWS::Include of gone.yaml, is not on this machine)",
    f"N: {OF['broken']}\n": "N (unknown type: a part of it, AWS::Include of broken.yaml, cannot be read: ",
    f"N: {INCLUDE.format('[a]')}\n": "N (unknown type: a part of it, AWS::Include, names no file as its Location)",
    f"N: {INCLUDE.format('{ Location: { Ref: [a] } }')}\n": "N (unknown type: a part of it, AWS::Include, names no",
    f"N: {{ Type: AWS::{NOTICE.format('[a]')} }}\n": "N (AWS::S3::Bucket: ",
    f"N: {{ Type: AWS::{NOTICE.format('{ QueueConfigurations: [{ Event: a }] }')} }}\n": "N (AWS::S3::Bucket: ",
    f"N: {{ Type: AWS::{NOTICE.format(f'{{ QueueConfigurations: [{{ Event: a, Queue: {ARN} }}] }}')} }}\n": (
        "N (AWS::S3::Bucket: the local cloud does not know the event a of its notifications)"
    ),
    f"N: {{ Type: AWS::{TOLD.format('a')} }}\n": "N (AWS::SNS::Topic: ",
    f"N: {{ Type: AWS::{TOLD.format('{ Protocol: sqs, Endpoint: a }')} }}\n": (
        "N (AWS::SNS::Topic: its endpoint a is no queue's ARN)"
    ),
    f"N: {{ Type: AWS::{RULE.format('[a]', f'[{{ Id: a, Arn: {ARN} }}]')} }}\n": "N (AWS::Events::Rule: ",
    f"N: {{ Type: AWS::{RULE.format('a', '5')} }}\n": "N (AWS::Events::Rule: ",
    f"N: {{ Type: AWS::{BODY.format('a')} }}\n": "N (AWS::ApiGateway::RestApi: ",
    f"N: {{ Type: AWS::{BODY.format('{ /a: ~ }')} }}\n": "N (AWS::ApiGateway::RestApi: ",
    f"Rows: {{ Type: AWS::DynamoDB::Table }}\n  N: {{ Type: AWS::{STREAM} }}\n": (
        "N (AWS::Lambda::EventSourceMapping: its table is not here)"
    ),
}
"""What `once run` says of a resource that is not run."""


@pytest.mark.parametrize(("odd", "said"), LEFT.items())
def test_a_resource_of_another_form_is_left_out_and_the_rest_runs(stand: Stand, odd: str, said: str) -> None:
    for name, content in {"app.py": "def handler(event, context): return 1\n", "list.yaml": "[a]"}.items():
        (stand.folder / name).write_text(content)
    for name, content in {"short": "Type: !Ref A", "nested": f"Type: A\nProperties: {OF['untyped']}"}.items():
        (stand.folder / f"{name}.yaml").write_text(content)
    for name, content in {"text": "a", "untyped": "Properties: {}", "broken": "a: ["}.items():
        (stand.folder / f"{name}.yaml").write_text(content)
    template = stand.folder / "template.yaml"
    template.write_text(f"{HEAD}  {odd}")
    before = stand.cloud._parameters, stand.cloud._path
    try:
        stand.cloud.redeploy({}, template)
        told = [*left_out(stand.cloud.deployed.resources, stand.cloud.deployed.unread)]
        assert any(each.startswith(said) for each in told), told
        assert not any("\n" in each for each in told)
        assert stand.cloud.deployed.resources["Works"].is_run
    finally:
        stand.cloud.redeploy(*before)


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (f"Mappings: {OF['list']}\n", "template.yaml:4: Mappings: a part of it, AWS::Include of list.yaml, is a list"),
        (f"Mappings: {OF['short']}\n", "short.yaml has !Ref in line 1: AWS takes no short forms in such a file"),
        (f"Mappings: {OF['gone']}\n", "template.yaml:4: Mappings: a part of it, AWS::Include of gone.yaml, is not on"),
    ],
)
def test_a_section_whose_file_has_another_form_is_told_with_its_line(tmp_path: Path, odd: str, said: str) -> None:
    (tmp_path / "list.yaml").write_text("[a]")
    (tmp_path / "short.yaml").write_text("Type: !Ref A")
    (tmp_path / "template.yaml").write_text(HEAD + odd)
    with pytest.raises(Problem, match=re.escape(said)), clear_errors():
        load(tmp_path / "template.yaml")


def test_what_the_translator_shows_besides_its_error_is_not_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "template.yaml").write_text(
        f"{HEAD}Globals: {{ Api: true }}\n".replace(
            "app.handler", "app.handler, Events: { A: { Type: Api, Properties: { Path: /, Method: get } } }"
        )
    )
    with contextlib.suppress(Problem), clear_errors():
        deploy(load(tmp_path / "template.yaml"), lambda *_: None, "")
    assert "Traceback" not in capfd.readouterr().err
