"""A template of a test's own on the shared cloud, with its events delivered: small machines, functions, queues."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oncekit.local import Execution, LocalCloud
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.deployment.deploy import deploy
from oncekit.local.deployment.resources import Deployed
from oncekit.local.deployment.stack import Stack
from oncekit.local.execution import execution_of
from oncekit.local.templates.template import load

HEAD = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
WORKER = """
  {name}:
    Type: AWS::Serverless::StateMachine
    Properties:
      Type: {type}
      DefinitionUri: worker.asl.yaml
      Role: arn:aws:iam::123456789012:role/worker
"""
DEFINITION = """
QueryLanguage: JSONata
StartAt: What
States:
  What:
    Type: Choice
    Choices:
      - { Condition: "{% $states.input.do = 'fail' %}", Next: Broken }
      - { Condition: "{% $states.input.do = 'wait' %}", Next: Waiting }
      - { Condition: "{% $states.input.do = 'fail soon' %}", Next: Hesitating }
      - { Condition: "{% $states.input[0].body = 'fail' or $states.input[0].do = 'fail' %}", Next: Broken }
    Default: Done
  Waiting: { Type: Wait, Seconds: 100, Next: Done }
  Hesitating: { Type: Wait, Seconds: 10, Next: Broken }
  Done: { Type: Succeed }
  Broken: { Type: Fail, Error: Broken, Cause: it broke }
"""
QUEUE = "\n  {name}: {{ Type: AWS::SQS::Queue, Properties: {{ {properties} }} }}\n"


def worker(name: str = "Worker", type: str = "STANDARD") -> str:
    """A state machine that succeeds with its input; {"do": "fail"} or "fail soon" fails, "wait" takes 100 seconds."""
    return WORKER.format(name=name, type=type)


FUNCTION = """
  {name}:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: ../functions/
      Handler: app.handler
      Runtime: python3.13
      Timeout: 30
      {more}
"""
SCRIPTED = """
import json

def number_of(record):
    return record["messageId"] if "messageId" in record else record["dynamodb"]["SequenceNumber"]

def handler(event, context):
    if "fail" in json.dumps(event):
        raise RuntimeError("it failed")
    records = event.get("Records", [])
    if bad := [number_of(each) for each in records if '"bad"' in json.dumps(each)]:
        return {"batchItemFailures": [{"itemIdentifier": each} for each in bad]}
    return next((json.loads(each["body"]) for each in records if "answer" in each.get("body", "")), None)
"""


def function(stand: Stand, events: str = "", name: str = "Works", more: str = "") -> str:
    """A function that fails if "fail" is in its event, says of a message "bad" that it failed, and answers a body with
    "answer" in it.

    All tests share its folder: what is registered again as it was is warm.
    """
    code = stand.folder.parent / "functions" / "app.py"
    if not code.exists():
        code.parent.mkdir()
        code.write_text(SCRIPTED)
    return FUNCTION.format(name=name, more=f"Events: {{ {events} }}\n      {more}" if events else more)


ODD = """
QueryLanguage: JSONata
StartAt: Both
States:
  Both: { Type: Parallel, Branches: [{ StartAt: E, States: { E: { Type: Succeed } } }], End: true }
"""


def in_name_only(stand: Stand) -> str:
    """The same state machine with a Parallel in it, which is not run here."""
    (stand.folder / "odd.asl.yaml").write_text(ODD)
    return worker().replace("worker.asl.yaml", "odd.asl.yaml")


def queue(name: str, properties: str = "") -> str:
    return QUEUE.format(name=name, properties=properties)


class Stand:
    """The deployed template: start its machines, look at its executions and queues."""

    def __init__(self, folder: Path, cloud: LocalCloud) -> None:
        self.folder = folder
        self.cloud = cloud
        self.clock: Any = cloud.clock
        self._stack: Stack | None = None
        self._known: dict[str, Deployed] = {}
        (folder / "worker.asl.yaml").write_text(DEFINITION)

    def deploy(self, resources: str) -> None:
        path = self.folder / "template.yaml"
        path.write_text(HEAD + resources)
        self._stack = deploy(load(path), self.cloud._service_calls.make, self.cloud.endpoint_url, self._known)
        for name, spec in self._stack.functions.items():
            self.cloud.register_function(name, spec)
        self.cloud._exchange.deploy(self._stack.resources)

    @property
    def stack(self) -> Stack:
        assert self._stack is not None
        return self._stack

    def start(self, given: Any = None, machine: str = "Worker") -> str:
        arn: str = self.cloud.client("stepfunctions").start_execution(
            stateMachineArn=self.stack.resources[machine].ref, input=json.dumps(given or {})
        )["executionArn"]
        return arn

    def executions(self, machine: str = "Worker") -> list[Execution]:
        """Oldest first, when all is quiet."""
        self.cloud.settle()
        arn = self.stack.resources[machine].ref
        [found] = [each for each in self.cloud.executions.machines if each.arn == arn]
        return [execution_of(each) for each in found.executions]

    def times(self, which: int, since: float, machine: str = "Worker") -> list[float]:
        """Seconds from `since` to the first event of each execution, `which` 0, or to its last, -1."""
        stamps = [execution.events[which]["timestamp"] for execution in self.executions(machine)]
        return [datetime.datetime.fromisoformat(stamp).timestamp() - since for stamp in stamps]

    def inputs(self, machine: str = "Worker") -> list[Any]:
        return [execution.input for execution in self.executions(machine)]

    def got(self, name: str = "Works") -> list[Any]:
        """The events that a function got, oldest first, when all is quiet."""
        self.cloud.settle()
        physical = self.stack.resources[name].ref
        return [each.event for each in self.cloud.functions.invocations if each.function == physical]

    def messages(self, name: str) -> list[Any]:
        """Moto's messages in a queue, received or not, when all is quiet."""
        from moto.sqs.models import sqs_backends

        self.cloud.settle()
        url = self.stack.resources[name].ref
        return list(sqs_backends[ACCOUNT][REGION].queues[url.rpartition("/")[2]]._messages)

    def bodies(self, name: str) -> list[Any]:
        return [json.loads(message.body) for message in self.messages(name)]

    def attributes(self, name: str) -> list[dict[str, str]]:
        messages = self.messages(name)
        return [{key: each["StringValue"] for key, each in m.message_attributes.items()} for m in messages]

    def events(self, name: str) -> list[Mapping[str, Any]]:
        """The details of the events in a queue."""
        return [event["detail"] for event in self.bodies(name)]

    def remove(self) -> None:
        from moto.events.models import events_backends
        from moto.sqs.models import sqs_backends

        self.cloud._exchange.deploy(self.cloud.deployed.resources)
        for each in self._known.values():
            if each.type == "AWS::StepFunctions::StateMachine":
                self.cloud.client("stepfunctions").delete_state_machine(stateMachineArn=each.ref)
            elif each.type == "AWS::SQS::Queue":
                sqs_backends[ACCOUNT][REGION].queues.pop(each.ref.rpartition("/")[2], None)
            elif each.type == "AWS::DynamoDB::Table":
                self.cloud.client("dynamodb").delete_table(TableName=each.ref)
            elif each.type == "AWS::S3::Bucket":
                self.cloud.client("s3").delete_bucket(Bucket=each.ref)  # reset has emptied it
            elif each.type == "AWS::Events::EventBus":
                events_backends[ACCOUNT][REGION].event_buses.pop(each.ref, None)


@contextmanager
def standing(folder: Path, cloud: LocalCloud) -> Iterator[Stand]:
    stand = Stand(folder, cloud)
    try:
        with cloud.delivering():
            yield stand
    finally:
        cloud.reset()
        stand.remove()


@contextmanager
def deployed(cloud: LocalCloud, folder: Path, template: str) -> Iterator[None]:
    """This template in the place of the shared one."""
    (folder / "template.yaml").write_text(template)
    before = cloud._parameters, cloud._path
    cloud.redeploy({}, folder / "template.yaml")
    yield
    cloud.redeploy(*before)
