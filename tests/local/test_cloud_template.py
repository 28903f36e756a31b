"""Reading a template and a definition: parameters, short forms, translations kept on disk, substitutions."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncekit.local.deployment.deploy import planned
from oncekit.local.templates.definition import DefinitionError, render_definition
from oncekit.local.templates.template import TemplateError, load, parse

pytestmark = pytest.mark.ours

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Parameters:
  Days: { Type: Number, Default: 3, MinValue: 1, MaxValue: 5 }
  Stage: { Type: String, AllowedValues: [dev, prod], Default: dev }
  Name: { Type: String }
  Names: { Type: CommaDelimitedList, AllowedPattern: "[a-z]*", ConstraintDescription: small letters, Default: "" }
Resources:
  Echo:
    Type: AWS::Serverless::Function
    Properties: { CodeUri: functions/echo/, Handler: app.handler, Runtime: python3.13, Timeout: !Ref Days }
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "template.yaml"
    file.write_text(TEMPLATE)
    return file


def test_parameters_get_their_defaults_and_what_is_given(path: Path) -> None:
    assert load(path, {"Name": "x", "Days": 4, "Names": "a, b"}).parameters == {
        "Days": "4",
        "Stage": "dev",
        "Name": "x",
        "Names": "a, b",
    }


def test_all_parameters_without_a_value_are_named_at_once(path: Path) -> None:
    path.write_text("Parameters: { VpcId: { Type: String },\n  Subnet: { Type: String } }\nResources: {}")
    said = (
        r"^parameter VpcId \(.*template\.yaml:1\), Subnet \(.*template\.yaml:2\) needs a value: write `VpcId: \.\.\.` "
    )
    with pytest.raises(TemplateError, match=said):
        load(path)


def test_a_template_without_parameters_says_where_those_of_an_application_in_it_are_set(path: Path) -> None:
    path.write_text("Resources: {}")
    with pytest.raises(TemplateError, match=r"no parameter Lane, nor any other; .* are set at its resource$"):
        load(path, {"Lane": "fast"})


@pytest.mark.parametrize(
    ("name", "place"), [("Lane", "Once in template.yaml"), ("RetentionDays", "Machine in once/operations.yaml")]
)
def test_a_parameter_of_an_application_inside_is_told_with_its_place(path: Path, name: str, place: str) -> None:
    inside = "  {0}: {{ Type: AWS::Serverless::Application, Properties: {{ Location: {1} }} }}"
    path.write_text("Resources:\n" + inside.format("Once", "once/operations.yaml"))
    (path.parent / "once").mkdir()
    made = {
        "operations.yaml": inside.format("Machine", "template.yaml"),
        "template.yaml": "  A: { Type: AWS::SQS::Queue }",
    }
    for file, parameter in (("operations.yaml", "Lane"), ("template.yaml", "RetentionDays")):
        text = f"Parameters:\n  {parameter}: {{ Type: String }}\nResources:\n{made[file]}"
        (path.parent / "once" / file).write_text(text)
    with pytest.raises(TemplateError, match=rf"write `{name}: 7` in the Parameters of the resource {place}$"):
        load(path, {name: 7})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {},
            r"Name \(.*\) needs a value: write `Name: \.\.\.` under .*/once/values.yaml, or give --parameter Name=...$",
        ),
        ({"Name": "x", "Unknown": 1}, r"template.yaml has no parameter Unknown"),
        ({"Name": "x", "Days": 0}, "Days is '0', but must be at least 1"),
        ({"Name": "x", "Days": 6}, "Days is '6', but must be at most 5"),
        ({"Name": "x", "Days": "many"}, "Days is 'many', but must be a number"),
        ({"Name": "x", "Names": "a,B"}, "Names is 'a,B', but must be small letters"),
        ({"Name": "x", "Stage": "test"}, "Stage is 'test', but must be one of dev, prod"),
    ],
)
def test_wrong_parameter_is_named_with_the_reason(path: Path, given: dict[str, object], message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        load(path, given)


@pytest.mark.parametrize(
    ("declared", "given", "value"),
    [
        ("Type: String, AllowedValues: [true, false], Default: false", None, "false"),
        ("Type: String, AllowedValues: [true, false], Default: false", "true", "true"),
        ("Type: String, AllowedValues: ['true', 'false'], Default: 'false'", True, "true"),
        ("Type: Number, MinValue: '1', MaxValue: '10', Default: '5'", "10", "10"),
        ("Type: CommaDelimitedList, AllowedValues: [a, b, c], Default: 'a, b'", None, "a, b"),
        ("Type: String, Default: 2026-01-01", None, "2026-01-01"),
    ],
)
def test_a_parameter_is_a_text_whatever_yaml_reads(tmp_path: Path, declared: str, given: object, value: str) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(f"Parameters: {{ X: {{ {declared} }} }}\nResources: {{ News: {{ Type: AWS::SNS::Topic }} }}\n")
    assert load(path, {} if given is None else {"X": given}).parameters == {"X": value}


def test_the_version_of_a_policy_is_no_date(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    document = "{ Version: 2012-10-17, Statement: [] }"
    path.write_text(
        "Resources:\n  R: { Type: AWS::IAM::Role, Properties: { AssumeRolePolicyDocument: " + document + " } }\n"
    )
    role = load(path).section("Resources")["R"]["Properties"]
    assert role["AssumeRolePolicyDocument"]["Version"] == "2012-10-17"


def test_sam_becomes_cloudformation_and_code_stays_where_it_is(path: Path) -> None:
    function = load(path, {"Name": "x"}).section("Resources")["Echo"]
    assert function["Type"] == "AWS::Lambda::Function"
    assert function["Properties"]["Code"]["S3Key"] == "functions/echo/"


def test_what_sam_refuses_is_said_in_its_words(path: Path) -> None:
    path.write_text(TEMPLATE.replace("Handler: app.handler,", "Handlers: app.handler,"))
    assert "Handlers" in planned(path, {"Name": "x"}).unread["Echo"]


@pytest.mark.parametrize("text", ["a: [", "just text", "Parameters: {}"])
def test_what_is_no_template_is_refused_with_its_path(text: str) -> None:
    with pytest.raises(TemplateError, match=r"broken\.yaml"):
        parse(text, Path("broken.yaml"))


def test_short_forms_are_written_out() -> None:
    text = "Resources: { A: [!Ref B, !GetAtt C.D.E, !Sub '${F}', !If [G, 1, !Ref H], !Equals [1, 2]] }"
    assert parse(text, Path("t"))["Resources"]["A"] == [
        {"Ref": "B"},
        {"Fn::GetAtt": ["C", "D.E"]},
        {"Fn::Sub": "${F}"},
        {"Fn::If": ["G", 1, {"Ref": "H"}]},
        {"Fn::Equals": [1, 2]},
    ]


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    file = tmp_path / "machine.asl.yaml"
    file.write_text(
        "StartAt: A\nStates: { A: { Type: Pass, Output: '{% $number(''${N}'') %}', Comment: 'for ${Who}', End: true } }"
    )
    return file


def test_substitutions_are_textual_inside_strings(definition: Path) -> None:
    state = render_definition(definition, {"N": 5, "Who": "you"})["States"]["A"]
    assert state["Output"] == "{% $number('5') %}"
    assert state["Comment"] == "for you"


def test_missing_substitution_is_named(definition: Path) -> None:
    with pytest.raises(DefinitionError, match=r"\$\{Who\} has no substitution"):
        render_definition(definition, {"N": 5})


def test_unused_substitution_is_named(definition: Path) -> None:
    with pytest.raises(DefinitionError, match="no placeholder uses Extra, Other"):
        render_definition(definition, {"N": 5, "Who": "you", "Other": 1, "Extra": 2})


def test_definition_that_is_not_there_or_not_yaml_is_named(definition: Path) -> None:
    with pytest.raises(DefinitionError, match="nowhere"):
        render_definition(definition.with_name("nowhere.yaml"), {})
    definition.write_text("a: [")
    with pytest.raises(DefinitionError, match=r"machine\.asl\.yaml is not YAML"):
        render_definition(definition, {})


def doubled(begin: str, more: str) -> str:
    """A value, and forty anchors each of which has the one before it twice."""
    return begin + "".join(more.format(n=n, before=n - 1) for n in range(1, 41))


@pytest.mark.parametrize(
    "aliases",
    [
        doubled("a0: &a0 [x]\n", "a{n}: &a{n} [*a{before}, *a{before}]\n"),
        doubled("a0: &a0 {x: y}\n", "a{n}: &a{n} {{<<: [*a{before}, *a{before}]}}\n"),
        "a: &a [*a]\n",
    ],
    ids=["lists", "merged", "itself"],
)
def test_aliases_that_repeat_more_than_aws_takes_are_refused(tmp_path: Path, aliases: str) -> None:
    template, definition = tmp_path / "template.yaml", tmp_path / "machine.asl.yaml"
    template.write_text(f"Resources: {{}}\n{aliases}")
    with pytest.raises(TemplateError, match=r"template\.yaml is larger than 1 MB with what its aliases repeat"):
        load(template, cache=tmp_path)
    definition.write_text(aliases)
    with pytest.raises(DefinitionError, match=r"machine\.asl\.yaml is larger than 1 MB"):
        render_definition(definition, {})


def test_aliases_that_repeat_little_are_taken(tmp_path: Path) -> None:
    (tmp_path / "machine.asl.yaml").write_text("a: &a [x, y]\nb: [*a, *a]\n")
    assert render_definition(tmp_path / "machine.asl.yaml", {})["b"] == [["x", "y"], ["x", "y"]]
