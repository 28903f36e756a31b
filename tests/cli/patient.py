"""A stack as it is on AWS, for the doctor: what the local cloud leaves out is made in moto, or answered at the edge."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from botocore.exceptions import ClientError
from edge import Edge
from operating import Commands

from oncekit.cli.deployed.stack import Stack, connect
from oncekit.local import LocalCloud

ON_AWS = "arn:aws:cloudformation:us-east-1:123456789012:stack/once/0b7c6fd0"
LOCALLY = "arn:aws:cloudformation:us-east-1:123456789012:stack/once/local"
Finding = Mapping[str, str]


class Patient(Commands):
    """The stack as the doctor sees it."""

    def __init__(self, cloud: LocalCloud, stack_id: str, edge: Edge) -> None:
        self._cloud = cloud
        self.after = ExitStack()
        self.fields: dict[str, Any] = {"id": stack_id}
        self.parameters: dict[str, str] = {}
        self._edge = edge
        self._found: list[Finding] = []

    @property
    def cloud(self) -> LocalCloud:  # type: ignore[override]  # who has it may change what is in it
        self._edge.keeps = False
        return self._cloud

    def change(self, call: str, how: Callable[[Any], None]) -> None:
        """The answer of every call of this name is changed."""
        self._edge.changes.setdefault(call, []).append(how)

    @property
    def calls(self) -> set[str]:
        """The names of all calls that were made."""
        return set(self._edge.asked)

    def asked(self, call: str) -> str:
        """The body of the last call of this name, or its path and query."""
        return self._edge.asked[call]

    def ask_for(self, call: str, instead_of: str, that: str) -> None:
        """Calls of this name ask for something else."""
        self._edge.rewrites[call] = (instead_of, that)

    def reply(self, call: str, answer: Any) -> None:
        """Calls of this name are answered so, and not made."""
        self._edge.replies[call] = lambda: answer

    def refuse(self, call: str, code: str) -> None:
        """Calls of this name fail."""

        def fail() -> None:
            raise ClientError({"Error": {"Code": code, "Message": "no\nway"}}, call)

        self._edge.replies[call] = fail

    def findings(self) -> list[Finding]:
        done = self.once("doctor", "--json")
        answer = done.answer
        assert list(answer) == ["stack", "checks", "wrong", "warnings"]
        outcomes = [each["outcome"] for each in answer["checks"]]
        assert (answer["wrong"], answer["warnings"]) == (outcomes.count("wrong"), outcomes.count("warning"))
        assert done.code == (1 if answer["wrong"] else 0)
        self._found = answer["checks"]
        return self._found

    def complaints(self) -> list[tuple[str, str, str]]:
        """Name, outcome and resource of what is not fine; each says what it means and what to do."""
        found = [each for each in self.findings() if each["outcome"] in ("wrong", "warning")]
        assert all(each["message"] and each["advice"] for each in found), found
        assert not [each for each in found if each["advice"].count("`") % 2], "a command is between two backticks"
        assert not [each for each in found if "` --" in each["advice"]], "an option is in the command"
        return [(each["name"], each["outcome"], each["resource"]) for each in found]

    def the(self, name: str, resource: str | None = None) -> Finding:
        """One finding of the last look, or of one now."""
        [found] = [
            each
            for each in self._found or self.findings()
            if each["name"] == name and resource in (None, each["resource"])
        ]
        return found

    @property
    def resources(self) -> Mapping[str, str]:
        return self._cloud.resources

    @property
    def outputs(self) -> Mapping[str, str]:
        return self._cloud.outputs

    @property
    def now(self) -> float:
        return self._cloud.clock.now()

    def ref(self, logical_id: str) -> str:
        return self._cloud.resources[logical_id]

    def properties(self, logical_id: str) -> dict[str, Any]:
        return dict(self._cloud.deployed.resources[logical_id].properties)

    def client(self, service: str) -> Any:
        self._edge.touched.add(service)
        return self._cloud.client(service)

    def _connect(self, *place: Any, **needed: Any) -> Stack:
        now: Callable[[], float] = self._cloud.clock.now
        stack = connect(*place, **needed, open_session=self._edge.sessions.at)
        parameters = {**stack.parameters, **self.parameters}
        return replace(stack, now=now, **{"parameters": parameters, **self.fields})


def locally(cloud: LocalCloud, edge: Edge) -> Patient:
    """The stack as `once up` has it."""
    edge.forget()
    edge.keep_answers(cloud.deployed, LOCALLY)
    return Patient(cloud, LOCALLY, edge)


class WholeStack:
    """The stack with all that the local cloud leaves out, as the template has it.

    Most tests change answers only: of a service whose client a test had in its hands, it is made again, and until a
    test has the client, or the cloud, it is given the answers that the service gave before.
    """

    def __init__(self, cloud: LocalCloud, edge: Edge) -> None:
        self._cloud, self._edge = cloud, edge
        self._undo: dict[str, ExitStack] = {}

    @contextmanager
    def patient(self) -> Iterator[Patient]:
        """For one test."""
        for service in MADE.keys() - self._undo.keys():
            maker = Patient(self._cloud, ON_AWS, self._edge)
            self._undo[service] = maker.after
            MADE[service](maker)
        self._edge.forget()
        patient = Patient(self._cloud, ON_AWS, self._edge)
        _answers(patient)
        self._edge.keep_answers(self._cloud.deployed, ON_AWS)
        try:
            with patient.after:
                yield patient
        finally:
            for service in self._undo.keys() & self._edge.touched:
                self._undo.pop(service).close()

    def take_away(self) -> None:
        """Leave the stack as the local cloud has it."""
        while self._undo:
            self._undo.popitem()[1].close()


def _of(patient: Patient, kind: str) -> list[str]:
    made = patient._cloud.deployed.resources.items()
    return [logical_id for logical_id, each in made if each.type == kind and each.ref]


def alarm(patient: Patient, logical_id: str, **changes: Any) -> None:
    """Put an alarm of the template, with changes."""
    properties = {**patient.properties(logical_id), **changes}
    properties["Threshold"] = float(properties["Threshold"])
    patient.client("cloudwatch").put_metric_alarm(AlarmName=patient.ref(logical_id), **properties)


def _alarms(patient: Patient) -> None:
    names = _of(patient, "AWS::CloudWatch::Alarm")
    for logical_id in names:
        alarm(patient, logical_id)
    delete = patient.client("cloudwatch").delete_alarms
    patient.after.callback(delete, AlarmNames=[patient.ref(each) for each in names])


def _subscription(patient: Patient) -> None:
    client, topic = patient.client("sns"), patient.ref("AlarmTopic")
    arn = client.subscribe(TopicArn=topic, Protocol="email", Endpoint="pager@example.com", ReturnSubscriptionArn=True)
    patient.after.callback(client.unsubscribe, SubscriptionArn=arn["SubscriptionArn"])


def _pipe(patient: Patient) -> None:
    pipe = patient.ref("RequestPipe")
    patient.client("pipes").create_pipe(Name=pipe, **patient.properties("RequestPipe"))
    patient.after.callback(patient.client("pipes").delete_pipe, Name=pipe)


def _schedule(patient: Patient) -> None:
    schedule = patient.ref("RecoverySchedule")
    patient.client("scheduler").create_schedule(Name=schedule, **patient.properties("RecoverySchedule"))
    patient.after.callback(patient.client("scheduler").delete_schedule, Name=schedule)


def _policies(patient: Patient) -> None:
    for logical_id in _of(patient, "AWS::SQS::QueuePolicy"):
        given = patient.properties(logical_id)
        for queue in given["Queues"]:
            client = patient.client("sqs")
            set_policy = partial(client.set_queue_attributes, QueueUrl=queue)
            before = client.get_queue_attributes(QueueUrl=queue, AttributeNames=["Policy"]).get("Attributes", {})
            set_policy(Attributes={"Policy": json.dumps(given["PolicyDocument"])})
            patient.after.callback(set_policy, Attributes={"Policy": "", **before})


def _bucket(patient: Patient) -> None:
    client, bucket, given = patient.client("s3"), patient.ref("ResponseBucket"), patient.properties("ResponseBucket")
    client.put_public_access_block(
        Bucket=bucket, PublicAccessBlockConfiguration=given["PublicAccessBlockConfiguration"]
    )
    patient.after.callback(client.delete_public_access_block, Bucket=bucket)
    policy = json.dumps(patient.properties("ResponseBucketPolicy")["PolicyDocument"])
    client.put_bucket_policy(Bucket=bucket, Policy=policy)
    patient.after.callback(client.delete_bucket_policy, Bucket=bucket)
    rules = [_rule(each) for each in given["LifecycleConfiguration"]["Rules"]]
    lifecycle(patient, *rules)
    patient.after.callback(lifecycle, patient, *rules)


def lifecycle(patient: Patient, *rules: dict[str, Any]) -> None:
    """Give the bucket these rules, and no others."""
    filled = [{"ID": str(number), "Status": "Enabled", **rule} for number, rule in enumerate(rules)]
    patient.client("s3").put_bucket_lifecycle_configuration(
        Bucket=patient.ref("ResponseBucket"), LifecycleConfiguration={"Rules": filled}
    )


def _rule(given: Mapping[str, Any]) -> dict[str, Any]:
    """A rule of CloudFormation's as S3 has it."""
    rule: dict[str, Any] = {"ID": given["Id"], "Status": given["Status"], "Filter": {"Prefix": given.get("Prefix", "")}}
    if "ExpirationInDays" in given:
        rule["Expiration"] = {"Days": int(given["ExpirationInDays"])}
    if "AbortIncompleteMultipartUpload" in given:
        rule["AbortIncompleteMultipartUpload"] = given["AbortIncompleteMultipartUpload"]
    return rule


MADE: Mapping[str, Callable[[Patient], None]] = {
    "cloudwatch": _alarms,
    "sns": _subscription,
    "pipes": _pipe,
    "scheduler": _schedule,
    "sqs": _policies,
    "s3": _bucket,
}
"""What the whole stack has besides, by the service that has it."""


def _answers(patient: Patient) -> None:
    """What moto does not tell, and AWS does."""
    layer = next(each for each in _of(patient, "AWS::Lambda::LayerVersion"))
    arn, built_for = patient.ref(layer), patient.properties(layer)

    def log(answer: Any) -> None:
        logical_id = "RecoveryStateMachine" if answer["type"] == "EXPRESS" else "OperationStateMachine"
        given = patient.properties(logical_id)["LoggingConfiguration"]
        answer["encryptionConfiguration"] = {"type": "AWS_OWNED_KEY"}
        answer["loggingConfiguration"] = {
            "level": given["Level"],
            "includeExecutionData": given["IncludeExecutionData"] in (True, "true"),
            "destinations": given["Destinations"],
        }

    def run(answer: Any) -> None:
        answer |= {"Runtime": "python3.13", "Architectures": ["arm64"], "Layers": [{"Arn": arn}]}

    patient.change("DescribeTable", lambda answer: answer["Table"].update(SSEDescription={"Status": "ENABLED"}))
    patient.change("DescribeStateMachine", log)
    patient.change("GetFunctionConfiguration", run)
    members = ("CompatibleRuntimes", "CompatibleArchitectures")
    patient.reply("GetLayerVersionByArn", {each: built_for[each] for each in members})
