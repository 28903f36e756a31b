"""Templates as strangers write them: whatever SAM accepts is deployed, or is in name only and says why."""

from __future__ import annotations

import json
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from event_stand import HEAD, Stand, deployed

from oncekit.local import LocalCloud
from oncekit.local.deployment.deploy import deploy, planned
from oncekit.local.events.exchange import left_out
from oncekit.local.gateway.http_api import http_apis
from oncekit.local.templates.intrinsics import TemplateError
from oncekit.local.templates.template import load

pytestmark = pytest.mark.ours

ECHO = "def handler(event, context): return {'got': event}\n"


def answer(stand: Stand, name: str = "Echo") -> Any:
    """What a function answers to {}."""
    invoked = stand.cloud.client("lambda").invoke(FunctionName=stand.stack.resources[name].ref, Payload="{}")
    return json.loads(invoked["Payload"].read())


@pytest.mark.parametrize(
    "told",
    [
        "Handler: src/app.handler",
        *(
            f"Handler: app.handler, CodeUri: {place}"
            for place in (
                "src",
                "./src/",
                "!Sub ./src",
                "!Sub '${Code}/'",
                "!If [IsHere, !Ref Code, gone]",
                "FOLDER/src",
            )
        ),
    ],
)
def test_a_function_has_its_code_where_the_template_says_or_is(stand: Stand, told: str) -> None:
    (stand.folder / "src").mkdir()
    (stand.folder / "src/app.py").write_text(ECHO)
    told = told.replace("FOLDER", str(stand.folder))
    stand.deploy(
        f"  Echo: {{ Type: AWS::Serverless::Function, Properties: {{ Runtime: python3.13, {told} }} }}\n"
        "Parameters: { Code: { Type: String, Default: src } }\nConditions: { IsHere: !Equals [!Ref Code, src] }\n"
    )
    assert answer(stand) == {"got": {}}


def test_a_function_and_a_layer_of_lambdas_own_types_have_their_code_in_folders(stand: Stand) -> None:
    for name, text in (("src/app.py", f"import laid\n{ECHO}"), ("layer/python/laid.py", "")):
        (stand.folder / name).parent.mkdir(parents=True)
        (stand.folder / name).write_text(text)
    told = "Runtime: python3.13, Handler: app.handler, Code: src, Role: 'arn:aws:iam::1:role/r', Layers: [!Ref Layer]"
    stand.deploy(
        f"  Echo: {{ Type: AWS::Lambda::Function, Properties: {{ {told} }} }}\n"
        "  Layer: { Type: AWS::Lambda::LayerVersion, Properties: { Content: layer } }\n"
    )
    assert answer(stand) == {"got": {}}


@pytest.mark.parametrize("place", ["src/", "!Sub ./src"])
def test_all_functions_may_have_their_code_in_one_folder_of_globals(stand: Stand, place: str) -> None:
    (stand.folder / "src").mkdir()
    (stand.folder / "src/app.py").write_text(ECHO)
    stand.deploy(
        "  Echo: { Type: AWS::Serverless::Function, Properties: { Handler: app.handler } }\n"
        f"Globals: {{ Function: {{ Runtime: python3.13, CodeUri: {place} }} }}\n"
    )
    assert answer(stand) == {"got": {}}


def test_a_function_may_have_its_code_in_the_template(stand: Stand) -> None:
    code = "\n          ".join(ECHO.replace("event}", "'${AWS::Region}'}").splitlines())
    stand.deploy(
        "  Echo:\n    Type: AWS::Serverless::Function\n    Properties:\n      Runtime: python3.13\n"
        f"      Handler: index.handler\n      InlineCode: !Sub |\n          {code}\n"
    )
    assert answer(stand) == {"got": "us-east-1"}


def left(stand: Stand) -> list[str]:
    return list(left_out(stand.stack.resources, stand.stack.unread))


@pytest.mark.parametrize(
    ("runtime", "imported"), [("python3.13", "import cfnresponse"), ("nodejs22.x", "require('cfn-response')")]
)
def test_code_in_the_template_that_needs_a_module_of_cloudformations_is_in_name_only(
    stand: Stand, runtime: str, imported: str
) -> None:
    stand.deploy(
        "  Made:\n    Type: AWS::Serverless::Function\n    Properties:\n"
        f"      Runtime: {runtime}\n      Handler: index.handler\n      InlineCode: |\n        {imported}\n"
    )
    why = "CloudFormation adds this module to code in a template, and the local cloud does not"
    assert left(stand) == [f"Made (AWS::Lambda::Function: {imported}: {why})"]


SCHEDULE = "{ ScheduleExpression: every day, Target: { Arn: !GetAtt Works.Arn, RoleArn: 'arn:aws:iam::1:role/r' } }"


WRAPPED = "Runtime: python3.13, Environment: { Variables: { AWS_LAMBDA_EXEC_WRAPPER: /opt/bootstrap } }"


def test_whatever_cannot_be_read_is_in_name_only_and_the_rest_runs(cloud: LocalCloud, tmp_path: Path) -> None:
    for folder in ("works", "machines"):
        (tmp_path / folder).mkdir()
    (tmp_path / "works/app.py").write_text(ECHO)
    (tmp_path / "machines/no.json").write_text('{ "StartAt": "Gone", "States": {} }')
    broken = {
        "Gone": "Serverless::Function, Properties: { CodeUri: gone/, Handler: app.handler, Runtime: python3.13 }",
        "Far": "Serverless::Function, Properties: { CodeUri: 's3://ours/k.zip', Handler: a.b, Runtime: python3.13 }",
        "Web": f"Serverless::Function, Properties: {{ CodeUri: works, Handler: app.py, {WRAPPED} }}",
        "Broken": "Serverless::StateMachine, Properties: { DefinitionUri: machines/no.json, Role: 'arn:aws:iam::1:r' }",
        "Rows": "DynamoDB::Table, Properties: {}",
        "Topic": "SNS::Topic, Properties: { TopicName: !Select [3, [a]] }",
        "Inner": "CloudFormation::Stack, Properties: { TemplateURL: 'https://s3.amazonaws.com/theirs/vpc.yaml' }",
        "Daily": f"Scheduler::Schedule, Properties: {SCHEDULE}",
        "Repo": "Serverless::Application, Properties: { Location: { ApplicationId: a, SemanticVersion: 1.0.0 } }",
        "Wrong": "Serverless::SimpleTable, Properties: { PrimaryKeys: id }",
        "Door": "EC2::VPCEndpoint, Properties: { ServiceName: dynamodb }",
        "Odd": "Odd::Thing, Properties: { Of: [!Ref Rows, !GetAtt Broken.Arn, !GetAtt Inner.Outputs.Vpc] }",
    }
    door = "!Select [1, !Split [':', !Select [0, !GetAtt Door.DnsEntries]]]"
    variables = f"{{ ROWS: !Ref Rows, GONE: !GetAtt Gone.Arn, VPC: !GetAtt Inner.Outputs.Vpc, DOOR: {door} }}"
    works = (
        f"{{ CodeUri: works, Handler: app.handler, Runtime: python3.13, Environment: {{ Variables: {variables} }} }}"
    )
    resources = "".join(f"  {name}: {{ Type: AWS::{rest} }}\n" for name, rest in broken.items())
    template = f"{HEAD}  Works: {{ Type: AWS::Serverless::Function, Properties: {works} }}\n{resources}"
    with deployed(cloud, tmp_path, template):
        told = list(left_out(cloud.deployed.resources, cloud.deployed.unread))
        assert sorted(each.partition(" ")[0] for each in told) == sorted(broken)
        for said in (
            "Far (AWS::Lambda::Function: its code is in the bucket ours",
            "its Handler app.py is a program for",
        ):
            assert any(said in each for each in told)
        assert all("sam validate" not in each and "\n" not in each for each in told)
        invoked = cloud.client("lambda").invoke(FunctionName=cloud.resources["Works"], Payload="{}")
        assert json.loads(invoked["Payload"].read()) == {"got": {}}


API = """
openapi: 3.0.1
info: { title: shelf, version: "1" }
paths:
  /shelves:
    post:
      x-amazon-apigateway-integration:
        { type: aws_proxy, httpMethod: POST, payloadFormatVersion: "2.0", uri: { Fn::Sub: "${Echo.Arn}" } }
"""
SERVED = """
  Api:
    Type: AWS::Serverless::HttpApi
    Properties: {{ DefinitionBody: {{ Fn::Transform: {{ Name: AWS::Include, Parameters: {{ Location: {0} }} }} }} }}
  Echo:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.13
      Handler: app.handler
      Events:
        Put: {{ Type: HttpApi, Properties: {{ ApiId: !Ref Api, Path: /shelves, Method: post }} }}
"""


def test_a_part_of_a_template_may_be_in_a_file_of_its_own(stand: Stand) -> None:
    (stand.folder / "api.yaml").write_text(API)
    stand.deploy(SERVED.format("api.yaml"))
    assert left(stand) == []
    api = http_apis(stand.stack.resources)[0]
    assert [(each.name, each.resource) for each in api.methods] == [("POST", "/shelves")]
    (stand.folder / "api.yaml").write_text(API.replace("post:", "put:"))
    stand.deploy(SERVED.format("api.yaml"))
    assert "PUT" in [each.name for each in http_apis(stand.stack.resources)[0].methods]


INCLUDED = "{ Name: AWS::Include, Parameters: { Location: all.yaml } }"


@pytest.mark.parametrize(
    ("transform", "name"), [("Mine", "Mine"), ("{ Name: Mine }", "Mine"), (INCLUDED, "AWS::Include")]
)
def test_a_macro_for_all_of_a_template_is_told_and_the_rest_runs(
    cloud: LocalCloud, tmp_path: Path, transform: str, name: str
) -> None:
    (tmp_path / "app.py").write_text(ECHO)
    function = "{ Type: AWS::Serverless::Function, Properties: { Runtime: python3.13, Handler: app.handler } }"
    transforms = f"Transform: [{transform}, AWS::LanguageExtensions, AWS::Serverless-2016-10-31]"
    with deployed(cloud, tmp_path, f"{transforms}\nResources:\n  Echo: {function}\n"):
        assert list(left_out(cloud.deployed.resources, cloud.deployed.unread)) == [
            f"Transform {name} (a macro: it runs on AWS only, and what it makes of the template is missing here)"
        ]
        assert cloud.deployed.resources["Echo"].is_run


def test_an_event_that_sam_refuses_is_left_out_and_its_function_runs(stand: Stand) -> None:
    (stand.folder / "app.py").write_text(ECHO)
    event = "{ Put: { Type: Api, Properties: { Path: /shelves, Method: post, RestApiId: !Ref Gone } } }"
    function = f"{{ Runtime: python3.13, Handler: app.handler, Events: {event} }}"
    stand.deploy(f"  Echo: {{ Type: AWS::Serverless::Function, Properties: {function} }}\n")
    [told] = left(stand)
    assert told.startswith("Echo.Put (the event Api: RestApiId must be a valid reference")
    assert answer(stand) == {"got": {}}


def test_what_includes_a_file_of_elsewhere_is_left_out_and_the_function_runs(stand: Stand) -> None:
    (stand.folder / "app.py").write_text(ECHO)
    stand.deploy(SERVED.format("s3://theirs/api.yaml"))
    assert left(stand) == [
        "Api (AWS::Serverless::HttpApi: a part of it, AWS::Include of s3://theirs/api.yaml, is not on this machine)"
    ]
    assert answer(stand) == {"got": {}}


FLOW = (
    '{ "QueryLanguage": "JSONata", "StartAt": "A", "States": { "A": { "Type": "Pass", "Output": $OUT, "End": true } } }'
)
WRITTEN = {
    "DefinitionUri: flow.json": "${N}",
    "DefinitionUri: tabs.json": '"{% ${N} %}"',
    "DefinitionString: '$FLOW'": '"{% ${N} %}"',
    "Definition: $FLOW": '"{% ${N} %}"',
}


@pytest.mark.parametrize("written", WRITTEN)
def test_a_definition_is_taken_however_it_is_written(stand: Stand, written: str) -> None:
    flow = FLOW.replace("$OUT", WRITTEN[written])
    (stand.folder / "flow.json").write_text(flow)
    (stand.folder / "tabs.json").write_text(flow.replace('"StartAt"', '\n\t"StartAt"'))
    kind = "StepFunctions" if "String" in written else "Serverless"
    role = "RoleArn" if "String" in written else "Role"
    properties = f"{{ {role}: 'arn:aws:iam::1:role/r', DefinitionSubstitutions: {{ N: 5, Unused: x }}, $WRITTEN }}"
    properties = properties.replace("$WRITTEN", written.replace("$FLOW", flow))
    stand.deploy(f"  Flow: {{ Type: AWS::{kind}::StateMachine, Properties: {properties} }}\n")
    assert left(stand) == []
    stand.start(machine="Flow")
    assert [each.output for each in stand.executions("Flow")] == [5]


def test_a_function_may_have_its_code_in_an_archive_or_in_one_file(stand: Stand) -> None:
    (stand.folder / "app.py").write_text(ECHO)
    with zipfile.ZipFile(stand.folder / "app.zip", "w") as archive:
        archive.write(stand.folder / "app.py", "zipped.py")
    told = "{{ Runtime: python3.13, Handler: {}.handler, CodeUri: {} }}"
    resources = {"Zipped": told.format("zipped", "app.zip"), "Filed": told.format("app", "app.py")}
    functions = (f"  {name}: {{ Type: AWS::Serverless::Function, Properties: {p} }}\n" for name, p in resources.items())
    stand.deploy("".join(functions))
    assert answer(stand, "Zipped") == answer(stand, "Filed") == {"got": {}}


def zipped(file: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytearray:
    """An archive, and its bytes."""
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return bytearray(file.read_bytes())


def changed(data: bytearray, before: bytes, after: bytes) -> bytes:
    assert before in data
    return bytes(data.replace(before, after))


def encrypted(data: bytearray) -> bytes:
    """Each entry says so: the first bit of its flags."""
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + flags] |= 1
    return bytes(data)


APP = {"app.py": ECHO.encode()}
DAMAGED: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "no archive": (lambda _: b"PK", "File is not a zip file"),
    "a wrong checksum": (
        lambda file: changed(zipped(file, {**APP, "b.py": b"x=1"}, zipfile.ZIP_STORED), b"x=1", b"x=2"),
        "Bad CRC-32 for file 'b.py'",
    ),
    "a file that is a folder, too": (
        lambda file: bytes(zipped(file, {**APP, "link": b"", "link/x.txt": b""})),
        "[Errno 20] Not a directory: 'link/x.txt'",
    ),
    "a password": (lambda file: encrypted(zipped(file, APP)), "is encrypted"),
    "a method that is not here": (
        lambda file: zipped(file, APP).replace(b"\x00\x00\x08\x00", b"\x00\x00\x63\x00"),
        "That compression method is not supported",
    ),
    "no deflated data": (
        lambda file: changed(zipped(file, APP), zlib.compress(APP["app.py"], wbits=-15)[:9], b"\xff" * 9),
        "Error -3",
    ),
}


@pytest.mark.parametrize(("made", "why"), DAMAGED.values(), ids=DAMAGED)
def test_an_archive_that_cannot_be_unpacked_is_in_name_only_at_each_start(
    stand: Stand, made: Callable[[Path], bytes], why: str
) -> None:
    (stand.folder / "app.zip").write_bytes(made(stand.folder / "app.zip"))
    template = stand.folder / "template.yaml"
    properties = "{ Runtime: python3.13, Handler: app.handler, CodeUri: app.zip }"
    template.write_text(f"{HEAD}  Echo: {{ Type: AWS::Serverless::Function, Properties: {properties} }}\n")
    for _ in range(2):
        unread = deploy(load(template), lambda *_: None, "").unread
        assert f"its CodeUri, {stand.folder / 'app.zip'}, cannot be unpacked: " in unread["Echo"]
        assert why in unread["Echo"]
    assert not list((stand.folder / "build/local/unpacked").glob("*"))


BOOTSTRAP = f"""#!{sys.executable}
import os
from urllib.request import urlopen

invocation = f"http://{{os.environ['AWS_LAMBDA_RUNTIME_API']}}/2018-06-01/runtime/invocation"
with urlopen(f"{{invocation}}/next") as event:
    urlopen(f"{{invocation}}/{{event.headers['Lambda-Runtime-Aws-Request-Id']}}/response", b'{{"got": {{}}}}')
urlopen(f"{{invocation}}/next")
"""


def test_an_executable_in_an_archive_needs_no_build_and_is_run(stand: Stand) -> None:
    executable = zipfile.ZipInfo("bootstrap")
    executable.external_attr = 0o100755 << 16
    with zipfile.ZipFile(stand.folder / "boot.zip", "w") as archive:
        archive.writestr(executable, BOOTSTRAP)
    properties = "{ Runtime: provided.al2023, Handler: bootstrap, CodeUri: boot.zip }"
    stand.deploy(f"  Echo: {{ Type: AWS::Serverless::Function, Properties: {properties} }}\n")
    assert left(stand) == []
    assert answer(stand) == {"got": {}}


RULED = """Transform: AWS::Serverless-2016-10-31
Parameters:
  Stage: {{ Type: String, Default: prod }}
  Size: {{ Type: String, Default: huge }}
  Sizes: {{ Type: CommaDelimitedList, Default: "s,xl" }}
Rules:
  Sizes:
    RuleCondition: !Equals [!Ref Stage, prod]
    Assertions: [{{ Assert: {{ {0} }}, AssertDescription: Small or large. }}]
Resources: {{ Rows: {{ Type: AWS::Serverless::SimpleTable }} }}
"""


@pytest.mark.parametrize(
    "asserted",
    [
        '"Fn::Contains": [[s, l], !Ref Size]',
        '"Fn::EachMemberIn": [!Ref Sizes, [s, l]]',
        '"Fn::EachMemberEquals": [!Ref Sizes, s]',
        '"Fn::Not": [!Equals [!Ref Size, huge]]',
    ],
)
def test_parameters_that_break_a_rule_of_the_template_are_refused(tmp_path: Path, asserted: str) -> None:
    (path := tmp_path / "template.yaml").write_text(RULED.format(asserted))
    with pytest.raises(TemplateError, match=r"template.yaml:7: the rule Sizes: Small or large\."):
        planned(path)
    assert planned(path, {"Size": "s", "Sizes": "s, s"}).resources.keys() == {"Rows"}
    assert planned(path, {"Stage": "dev"}).resources.keys() == {"Rows"}


def test_a_rule_that_asks_for_what_only_aws_knows_is_told(tmp_path: Path) -> None:
    (path := tmp_path / "template.yaml").write_text(RULED.format('"Fn::ValueOf": [Size, Tags.Name]'))
    assert planned(path).unread == {"the rule Sizes": "the local cloud does not support Fn::ValueOf"}
