"""Values that a template takes from elsewhere, from the file that has them on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from oncekit.local.deployment.deploy import missing_values, planned
from oncekit.local.templates.intrinsics import TemplateError
from oncekit.local.templates.template import load

pytestmark = pytest.mark.ours

TEMPLATE = """Transform: AWS::Serverless-2016-10-31
Parameters:
  Vpc: { Type: String }
  Space: { Type: AWS::SSM::Parameter::Value<String>, Default: /shelf/space }
Resources:
  Pool: { Type: AWS::SNS::Topic, Properties: { DisplayName: !ImportValue people-pool } }
  Zone: { Type: AWS::SNS::Topic, Properties: { DisplayName: !ImportValue { "Fn::Sub": "${Vpc}-zone" } } }
  Store: { Type: AWS::SNS::Topic, Properties: { DisplayName: "at {{resolve:ssm:/shelf/place:1}}" } }
  Word: { Type: AWS::SNS::Topic, Properties: { DisplayName: !Sub "{{resolve:secretsmanager:${Vpc}:SecretString:pw}}" } }
  Named: { Type: AWS::SNS::Topic, Properties: { DisplayName: !Ref Space, TopicName: !Ref Vpc } }
"""
VALUES = """
Parameters:
  Vpc: vpc-1
ImportValue:
  people-pool: pool-1
  vpc-1-zone: zone-1
resolve:
  ssm:/shelf/space: big
  ssm:/shelf/place:1: 7
  secretsmanager:vpc-1:SecretString:pw: hush
"""
GOT = {"Pool": "pool-1", "Zone": "zone-1", "Store": "at 7", "Word": "hush", "Named": "big"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "template.yaml"
    file.write_text(TEMPLATE)
    (tmp_path / "once").mkdir()
    return file


def write(path: Path, values: str) -> None:
    (path.parent / "once/values.yaml").write_text(values)


def test_values_from_elsewhere_are_those_of_the_file(path: Path) -> None:
    write(path, VALUES)
    assert {name: each.properties["DisplayName"] for name, each in planned(path).resources.items()} == GOT


def test_what_is_given_goes_before_the_file(path: Path) -> None:
    write(path, VALUES)
    assert load(path, {"Vpc": "vpc-2"}).parameters["Vpc"] == "vpc-2"


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        ("Vpc: vpc-1", r"parameter Vpc \(.*/template.yaml:3\) needs a value: write `Vpc: \.\.\.` under Parameters in "),
        (
            "people-pool: pool-1",
            r"/template.yaml:6: !ImportValue people-pool needs a value: write `people-pool: \.\.\.`",
        ),
        ("vpc-1-zone: zone-1", r"/template.yaml:7: !ImportValue vpc-1-zone needs a value"),
        ("ssm:/shelf/place:1: 7", r"/template.yaml:8: \{\{resolve:ssm:/shelf/place:1\}\} needs a value"),
        (
            "secretsmanager:vpc-1:SecretString:pw: hush",
            r"/template.yaml:9: \{\{resolve:secretsmanager:vpc-1:Sec.*/once/",
        ),
        (
            "ssm:/shelf/space: big",
            r"/template.yaml:4: \{\{resolve:ssm:/shelf/space\}\} needs .* under resolve in .*/once/",
        ),
    ],
)
def test_what_the_file_lacks_is_told_with_the_line_that_needs_it(path: Path, lacking: str, said: str) -> None:
    write(path, VALUES.replace(lacking, "other: x"))
    with pytest.raises(TemplateError, match=said):
        planned(path)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("Parameters: [", "once/values.yaml is not YAML"),
        ("Parameters: { Vpc: a, Vpc: b }", "once/values.yaml has Vpc twice in one place, in lines 1 and 1"),
        ("x", "once/values.yaml must have members Parameters, ImportValue, resolve"),
        ("# mine\nParameters: x", "once/values.yaml:2: Parameters must have names and their values in it"),
        (
            "# mine\nImportValues: { a: b }",
            r"once/values.yaml:2: ImportValues is none of Parameters, ImportValue, resolve",
        ),
        ("Parameters:\n  Vpc:\n", r"once/values.yaml:2: Vpc has no value; an empty text is ''"),
        ("ImportValue:\n  a: { b: c }\n", "once/values.yaml:2: a is neither a text nor a list of texts"),
        ("resolve:\n  a: x\n  b: [c, ~]\n", "once/values.yaml:3: b is neither a text nor a list of texts"),
        ("Parameters:\n  Vpc: vpc-1\n  Vpcs: x\n", r"once/values.yaml:3: Vpcs is no parameter of .*/template.yaml"),
    ],
)
def test_a_file_of_another_form_is_refused_with_its_name(path: Path, values: str, said: str) -> None:
    write(path, values)
    with pytest.raises(TemplateError, match=said):
        planned(path)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *((each, each) for each in ("1.10", "012", "1_000", "0x1F", "1e3", "yes", "True", "2026-01-01", "12:30", "=")),
        ("''", ""),
        ("'null'", "null"),
        ("[a, 010, c]", "a,010,c"),
        ("\n  - a\n  - b", "a,b"),
        ("[]", ""),
    ],
)
def test_a_value_of_the_file_is_the_text_that_is_written(path: Path, written: str, value: str) -> None:
    write(path, f"Parameters:\n  Vpc: {written}\nresolve:\n  ssm:/shelf/space: {written}\n")
    made = load(path)
    assert (made.values()["Vpc"], made.values()["Space"]) == (value, value)


def test_templates_beside_each_other_have_their_parameters_in_one_file(path: Path) -> None:
    other = path.with_name("other.yaml")
    other.write_text("Parameters: { Net: { Type: String } }\nResources: { T: { Type: AWS::SNS::Topic } }\n")
    write(path, "Parameters: { Vpc: vpc-1, Net: net-1 }")
    (path.parent / "once/.installed.json").write_text('{"templates": ["other.yaml", "template.yaml"]}')
    assert load(path).parameters["Vpc"] == "vpc-1"
    assert load(other).parameters == {"Net": "net-1"}


def test_a_value_of_the_file_that_its_parameter_does_not_take_is_told_with_its_line(path: Path) -> None:
    path.write_text(TEMPLATE.replace("Vpc: { Type: String", "Vpc: { Type: String, AllowedPattern: 'vpc-.*'"))
    write(path, VALUES.replace("vpc-1", "x", 1))
    with pytest.raises(TemplateError, match=r"/once/values.yaml:3: parameter Vpc is 'x', but must be as vpc-"):
        planned(path)


def test_with_a_placeholder_for_each_missing_value_it_is_deployed(path: Path) -> None:
    missing = missing_values(path)
    assert {each.name for each in missing} == {
        *("Vpc", "people-pool", "Vpc-zone", "ssm:/shelf/space", "ssm:/shelf/place:1"),
        "secretsmanager:Vpc:SecretString:pw",
    }
    values: dict[str, dict[str, str]] = {}
    for each in missing:
        values.setdefault(each.kind, {})[each.name] = each.placeholder
    write(path, yaml.safe_dump(values))
    assert missing_values(path) == []
    assert planned(path).unread == {}


def test_a_placeholder_that_nobody_has_written_is_the_value_of_nothing(path: Path) -> None:
    missing = missing_values(path)
    assert missing_values(path) == missing
    with pytest.raises(TemplateError, match=r"parameter Vpc .* needs a value"):
        planned(path)


@pytest.mark.parametrize(
    "declared",
    [
        "{ Type: String, AllowedValues: [dev, prod] }",
        "{ Type: Number, MinValue: 3 }",
        "{ Type: String, MinLength: 20, MaxLength: 21 }",
        "{ Type: String, AllowedPattern: '^fsvol-[A-Za-z0-9]+' }",
        "{ Type: String, AllowedPattern: '[^@]+@[^@]+' }",
        r"{ Type: String, AllowedPattern: '^[\p{L}]+$' }",
        "{ Type: String, AllowedPattern: '(?<word>[a-z]+)' }",
        "{ Type: 'List<AWS::EC2::Subnet::Id>' }",
    ],
)
def test_a_placeholder_is_one_that_its_parameter_takes(path: Path, declared: str) -> None:
    text = f"Parameters:\n  X: {declared}\nResources:\n  T: {{ Type: AWS::SNS::Topic }}\n"
    path.write_text(text)
    [missing] = missing_values(path)
    write(path, yaml.safe_dump({missing.kind: {missing.name: missing.placeholder}}))
    assert load(path).parameters == {"X": missing.placeholder}


def test_what_the_template_itself_has_needs_no_file(path: Path) -> None:
    path.write_text(
        "Transform: AWS::Serverless-2016-10-31\nResources:\n"
        "  Place: { Type: AWS::SSM::Parameter, Properties: { Type: String, Name: /shelf/place, Value: here } }\n"
        "  Pw: { Type: AWS::SecretsManager::Secret, Properties: { GenerateSecretString: {} } }\n"
        "  At: { Type: AWS::SNS::Topic, Properties: { DisplayName: '{{resolve:ssm:/shelf/place}}' } }\n"
        "  First: { Type: AWS::SNS::Topic, Properties: { DisplayName: '{{resolve:ssm:/shelf/place:1}}' } }\n"
        "  By:\n    Type: AWS::SNS::Topic\n"
        "    Properties: { DisplayName: !Sub '{{resolve:secretsmanager:${Pw}:SecretString}}' }\n"
        "  Inner: { Type: AWS::CloudFormation::Stack, Properties: { TemplateURL: inner.yaml } }\n"
        "  Other: { Type: AWS::CloudFormation::Stack, DependsOn: Inner, Properties: { TemplateURL: other.yaml } }\n"
    )
    topic = "Resources:\n  T: { Type: AWS::SNS::Topic, Properties: { DisplayName: !ImportValue of-inner } }\n"
    exported = "Outputs: { Out: { Value: 5, Export: { Name: of-inner } } }\n"
    (path.parent / "inner.yaml").write_text("Resources:\n  S: { Type: AWS::SNS::Topic }\n" + exported)
    (path.parent / "other.yaml").write_text(topic)
    assert missing_values(path) == []
    made = planned(path).resources
    assert made["At"].properties["DisplayName"] == made["First"].properties["DisplayName"] == "here"
    assert made["T"].properties["DisplayName"] == "5"


@pytest.mark.parametrize("reference", ["{{resolve:s3:foo}}", "{{resolve:ssm}}", "{{resolve:}}"])
def test_what_refers_to_no_service_that_has_values_is_left_out_with_the_reason(path: Path, reference: str) -> None:
    path.write_text(
        "Transform: AWS::Serverless-2016-10-31\nResources:\n  Rest: { Type: AWS::SNS::Topic }\n"
        f"  At: {{ Type: AWS::SNS::Topic, Properties: {{ DisplayName: 'a {reference} b' }} }}\n"
    )
    made = planned(path)
    assert list(made.resources) == ["Rest"]
    assert made.unread == {"At": f"AWS::SNS::Topic: {reference} refers to none of ssm, ssm-secure and secretsmanager"}
