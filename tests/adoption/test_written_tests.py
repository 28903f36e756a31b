"""The tests that `once new` writes: they can pass for every place that events come from."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conftest import Application

HEAD = """
Transform: AWS::Serverless-2016-10-31
Parameters:
  QueueOfTeamArn: { Type: String }
Resources:
  ShopBus: { Type: AWS::Events::EventBus, Properties: { Name: shop } }
  Work: { Type: AWS::SQS::Queue }
  More: { Type: AWS::SQS::Queue }
  Order: { Type: AWS::SQS::Queue, Properties: { FifoQueue: true } }
  Clerk:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.13
      Handler: app.handler
      CodeUri: src/
      Environment: { Variables: { EXPORTED: !ImportValue "far:queue" } }
"""
MESSAGE = {"no": 7, "deep": {"id": "a"}}
OF_S3 = {
    "version": "0",
    "id": "2d4eba74-fd51-3966-4bfa-b013c9da8ff1",
    "detail-type": "Object Created",
    "source": "aws.s3",
    "account": "111122223333",
    "time": "2021-11-13T00:00:59Z",
    "region": "ca-central-1",
    "resources": ["arn:aws:s3:::photos"],
    "detail": {"bucket": {"name": "photos"}, "object": {"key": "b.jpg", "size": 89}},
}
SOURCES: dict[str, tuple[Any, ...]] = {
    "of-queue": (MESSAGE, "--from-queue", "Work", "--key", "$.body.no"),
    "of-member": (MESSAGE, "--from-queue", "More", "--key", "$.body.no", "--payload", "$.body.deep"),
    "of-fifo": (MESSAGE, "--from-queue", "Order", "--key", "$.body.deep.id", "--on-crash", "quarantine"),
    "of-parameter": (MESSAGE, "--from-queue", "QueueOfTeamArn", "--key", "$.body.no"),
    "of-import": (MESSAGE, "--from-queue", "far:queue", "--key", "$.body.no"),
    "of-bus": (OF_S3, "--from-rule", "ShopBus/Object Created", "--key", "$.detail.object.key"),
    "of-aws": (OF_S3, "--from-rule", 'default/{"source": ["aws.s3"]}', "--key", "$.detail.object.key"),
    "of-region": (OF_S3, "--from-rule", 'default/{"region": ["ca-central-1"]}', "--key", "$.detail.object.key"),
    "of-account": (OF_S3, "--from-rule", 'default/{"account": ["111122223333"]}', "--key", "$.detail.object.key"),
    "of-resource": (OF_S3, "--from-rule", 'default/{"resources": [{"prefix": "arn"}]}', "--key", "$.id"),
    "of-whole": (OF_S3, "--from-rule", "ShopBus/Object Created", "--key", "$.detail.object.key", "--payload", "$"),
    "of-nothing": (MESSAGE,),
}


def application(folder: Path, code: str, template: str = HEAD) -> None:
    (folder / "src").mkdir()
    (folder / "src/app.py").write_text(code)
    (folder / "template.yaml").write_text(template)


def test_they_pass_for_every_source_of_requests(empty: Application) -> None:
    application(empty.folder, "def handler(event, context): return 1\n")
    assert empty.once("init").code == 0
    for operation, (example, *options) in SOURCES.items():
        (empty.folder / "sample.json").write_text(json.dumps(example))
        done = empty.once("new", operation, "--function", "Clerk", "--example", "sample.json", *options)
        assert done.code == 0, done.err
        if operation == "of-import":  # an earlier operation has made a placeholder for it, which is no queue
            told = re.search(r"once/values.yaml:\d+: far:queue is far:queue: write the ARN .* as (\S+),", done.err)
            assert told is not None, done.err
            values = empty.folder / "once/values.yaml"
            values.write_text(values.read_text().replace("far:queue: far:queue", f"far:queue: {told[1]}"))
    done = empty.pytest("tests", "-k", "not whatever_breaks")
    assert f"{2 * len(SOURCES) - 1} passed" in done.stdout, done.stdout


def test_they_repeat_what_once_new_warned_of(empty: Application) -> None:
    application(empty.folder, "def handler(event, context):\n    return event['pathParameters']['id']\n")
    template = empty.folder / "template.yaml"
    events = "Events: { Own: { Type: SQS, Properties: { Queue: !GetAtt Work.Arn } } }"
    template.write_text(HEAD.replace("CodeUri: src/\n", f"CodeUri: src/\n      {events}\n"))
    (empty.folder / "sample.json").write_text(json.dumps(MESSAGE))
    assert empty.once("init").code == 0
    done = empty.once("new", "work", "--function", "Clerk", "--example", "sample.json", *SOURCES["of-queue"][1:])
    assert done.code == 0
    [read, taken] = [line for line in done.err.splitlines() if "Clerk reads" in line or "Clerk still" in line]
    for test in ("runs_once", "a_message_runs_it_once"):
        red = empty.pytest("tests", "-k", test).stdout.splitlines()
        told = " ".join(line.removeprefix("E").strip() for line in red if line.startswith("E "))
        assert "KeyError: 'pathParameters'" in told and read in told and taken in told, test


def test_they_wait_for_no_function_that_cannot_run_here(empty: Application) -> None:
    application(empty.folder, "", HEAD.replace("python3.13", "java21"))
    (empty.folder / "sample.json").write_text(json.dumps(MESSAGE))
    assert empty.once("init").code == 0
    done = empty.once("new", "work", "--function", "Clerk", "--example", "sample.json", *SOURCES["of-queue"][1:])
    assert done.code == 0
    skipped = empty.pytest("tests", "-rs").stdout
    assert "3 skipped" in skipped and "the text at the top of this file says why" in skipped
    assert "it has the Runtime java21" in empty.text("tests/test_work.py").partition("import json")[0]
