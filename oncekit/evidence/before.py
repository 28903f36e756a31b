"""What AWS says of a template before it is deployed. Nothing stays in the account: a change set is deleted again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from oncekit.evidence.finding import NotLooked, Question, Seen
from oncekit.local.deployment.deploy import MACHINE, machine_name, planned, rendered_definitions
from oncekit.local.deployment.resources import Deployed
from oncekit.local.templates.template import parse
from oncekit.stack.attempts import lines_of, lines_with

ALIAS = "evidence:live"
"""A function that nobody has: who names it in Operations gets a policy for it."""
CONDITIONS = {
    "Announcements": "default",
    "Rollout": "Canary",
    "EncryptionKeyArn": "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-000000000001",
}
"""With these, policies are made that are not made by default."""
REFUSED = ("ERROR", "SECURITY_WARNING")
REVIEW = "REVIEW_IN_PROGRESS"
"""What a stack is while it has nothing but a change set."""
IDENTITY, RESOURCE = "IDENTITY_POLICY", "RESOURCE_POLICY"
CHECKED = {
    "AWS::IAM::Policy": (IDENTITY, {}),
    "AWS::IAM::ManagedPolicy": (IDENTITY, {}),
    "AWS::S3::BucketPolicy": (RESOURCE, {"validatePolicyResourceType": "AWS::S3::Bucket"}),
    "AWS::SQS::QueuePolicy": (RESOURCE, {}),
}
TRUST = (RESOURCE, {"validatePolicyResourceType": "AWS::IAM::AssumeRolePolicyDocument"})
EVENTS: Mapping[str, str] = {
    "died": '{"type": "ExecutionFailed", "details": {"error": "States.Runtime", "cause": "x"}}',
    "crashed": '{"type": "ExecutionFailed", "details": {"error": "Lambda.Unknown"}}',
    "refused": '{"type": "ExecutionFailed", "details": {"error": "InvalidRequest"}}',
    "timed out": '{"type": "ExecutionTimedOut", "details": {}}',
    "no JSON": "ExecutionFailed States.Runtime",
}
"""Lines of a machine's log, as Step Functions writes them."""
COUNTED = {"ExecutionFailed": ["died", "crashed"], "ExecutionTimedOut": ["timed out"]}
"""What the filter for a type of event counts of them."""
REQUEST = "5c7b9f6e-0000-4000-8000-000000000001"
LINES: Mapping[str, str] = {
    "the id": '{"id": "default#op#a", "function_request_id": "r"}',
    "another id": '{"id": "default#op#b", "function_request_id": "r"}',
    "a quote in it": r'{"id": "default#op#\"q", "function_request_id": "r"}',
    "an end by Lambda": f"2026-01-01T00:00:00.000Z {REQUEST} Task timed out after 30.03 seconds",
    "no JSON": "START RequestId: 5c7b9f6e-0000-4000-8000-000000000002 Version: 1",
}
"""Lines of a function's log."""


@dataclass(frozen=True)
class Before:
    """What is asked, of a template with these parameters, in the Region of the session."""

    session: Any
    template: Path
    parameters: Mapping[str, str]
    stack: str
    """The name that it is going to have."""
    packaged: Path | None = None
    """What `sam package` has made of it: its code is in a bucket."""
    processed: dict[str, Any] = field(default_factory=dict)
    """The template as the transforms made it, as soon as a change set has told."""

    def questions(self) -> Iterator[Question]:
        named = {**self.parameters, "Operations": self._operations}
        definitions = rendered_definitions(self.template, named)
        for logical_id, resource in self._planned.items():
            if resource.type == MACHINE:
                yield self._definition(logical_id, resource, definitions[machine_name(logical_id)])
        yield Question("policies", self._policies, "no finding that is an error or about security")
        yield Question("log filters", self._filters, "each counts its own events, and no line that is no JSON")
        yield Question("V51", self._lines)
        yield Question("change set", self._change_set, "CREATE_COMPLETE")
        yield Question("V79", self._named_functions)
        yield Question("V99", self._without_pipes)

    @property
    def _operations(self) -> str:
        return _with_own(self.parameters.get("Operations", ""))

    @cached_property
    def _planned(self) -> Mapping[str, Deployed]:
        return self._planned_with(self.parameters)

    def _planned_with(self, parameters: Mapping[str, str]) -> Mapping[str, Deployed]:
        resources = planned(self.template, {**parameters, "Operations": self._operations}).resources
        return {name: each for name, each in resources.items() if each.ref}

    def _definition(self, logical_id: str, resource: Deployed, definition: Mapping[str, Any]) -> Question:
        def look() -> Seen:
            answer = self.session.client("stepfunctions").validate_state_machine_definition(
                definition=json.dumps(definition),
                type=resource.properties.get("StateMachineType", "STANDARD"),
                severity="WARNING",
            )
            told = [f"{each['severity']} {each['code']}: {each['message']}" for each in answer["diagnostics"]]
            return Seen("; ".join([answer["result"], *told]), answer["result"] == "OK")

        return Question(f"definition {logical_id}", look, "OK")

    def _policies(self) -> Seen:
        pages = self.session.client("accessanalyzer").get_paginator("validate_policy")
        told = []
        for name, document, (kind, about) in policies_of(self._planned_with({**CONDITIONS, **self.parameters})):
            for page in pages.paginate(policyDocument=json.dumps(document), policyType=kind, **about):
                told += [f"{name}: {each['findingType']} {each['issueCode']}" for each in page["findings"]]
        refused = [each for each in told if each.split(": ")[1].split(" ")[0] in REFUSED]
        return Seen("; ".join([*refused, *(each for each in told if each not in refused)]) or "none", not refused)

    def _matches(self, pattern: str, messages: Mapping[str, str]) -> list[str]:
        answer = self.session.client("logs").test_metric_filter(
            filterPattern=pattern, logEventMessages=list(messages.values())
        )
        names = {message: name for name, message in messages.items()}
        return [names[each["eventMessage"]] for each in answer["matches"]]

    def _filters(self) -> Seen:
        patterns = {
            name: str(each.properties["FilterPattern"])
            for name, each in self._planned.items()
            if each.type == "AWS::Logs::MetricFilter"
        }
        counted = {name: self._matches(pattern, EVENTS) for name, pattern in patterns.items()}
        expected = {name: of for name, pattern in patterns.items() for event, of in COUNTED.items() if event in pattern}
        return Seen(json.dumps(counted), counted == expected)

    def _lines(self) -> Seen:
        asked = {
            lines_of("default#op#a"): ["the id"],
            lines_of('default#op#"q'): ["the id", "another id", "a quote in it"],  # the rest is compared
            lines_with(REQUEST): ["an end by Lambda"],
        }
        seen = {pattern: self._matches(pattern, LINES) for pattern in asked}
        return Seen(json.dumps(seen), seen == asked)

    def _change_set(self) -> Seen:
        from botocore.exceptions import WaiterError

        if self.packaged is None:
            raise NotLooked("there is no packaged template: `make before-deploy` packages it")
        with self._uploaded(self.packaged) as url, self._asked(url, self.packaged) as (client, change_set):
            try:
                client.get_waiter("change_set_create_complete").wait(**change_set, WaiterConfig={"Delay": 5})
            except WaiterError as error:
                answer: Any = error.last_response
                return Seen(f"{answer.get('Status')}: {answer.get('StatusReason', error)}", holds=False)
            body = client.get_template(**change_set, TemplateStage="Processed")["TemplateBody"]
            self.processed.update(json.loads(body) if isinstance(body, str) else body)
            return Seen(f"CREATE_COMPLETE, {len(self.processed['Resources'])} resources", holds=True)

    @contextmanager
    def _uploaded(self, packaged: Path) -> Iterator[str]:
        """The template beside its code, for CloudFormation takes 51,200 bytes in a call; deleted again."""
        client = self.session.client("s3")
        layer = parse(packaged.read_text(encoding="utf-8"), packaged)["Resources"]["OnceLayer"]
        bucket = str(layer["Properties"]["ContentUri"]).removeprefix("s3://").partition("/")[0]
        of = {"Bucket": bucket, "Key": f"before-deploy-{uuid.uuid4()}.yaml"}
        client.put_object(**of, Body=packaged.read_bytes())
        try:
            yield client.generate_presigned_url("get_object", Params=of).partition("?")[0]
        finally:
            client.delete_object(**of)

    @contextmanager
    def _asked(self, url: str, packaged: Path) -> Iterator[tuple[Any, dict[str, str]]]:
        """A change set that is never executed; the stack that it makes for a new one is deleted with it."""
        client = self.session.client("cloudformation")
        before = self._described(client)
        change_set = {"StackName": self.stack, "ChangeSetName": f"before-deploy-{uuid.uuid4()}"}
        client.create_change_set(
            **change_set,
            ChangeSetType="CREATE" if before.get("StackStatus", REVIEW) == REVIEW else "UPDATE",
            TemplateURL=url,
            Parameters=self._asked_with(before, packaged),
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        try:
            yield client, change_set
        finally:
            self._delete(client, change_set)
            # Not one that somebody else deploys by now, nor one with a change set that waits for an answer.
            if not before and self._described(client).get("StackStatus") == REVIEW:
                others = client.list_change_sets(StackName=self.stack)["Summaries"]
                if all(each["ChangeSetName"] == change_set["ChangeSetName"] for each in others):
                    client.delete_stack(StackName=self.stack)

    def _delete(self, client: Any, change_set: Mapping[str, str]) -> None:
        """AWS refuses it of one that is still being made, as it is for whoever stops this meanwhile."""
        from botocore.exceptions import WaiterError

        try:
            client.delete_change_set(**change_set)
        except client.exceptions.InvalidChangeSetStatusException:
            with suppress(WaiterError):
                client.get_waiter("change_set_create_complete").wait(**change_set, WaiterConfig={"Delay": 5})
            client.delete_change_set(**change_set)

    def _asked_with(self, before: Mapping[str, Any], packaged: Path) -> list[dict[str, Any]]:
        """What is given, and of a stack that is there what it has: by itself CloudFormation takes the defaults."""
        declared = parse(packaged.read_text(encoding="utf-8"), packaged).get("Parameters", {})
        has = {each["ParameterKey"]: each["ParameterValue"] for each in before.get("Parameters", ())}
        operations = self.parameters.get("Operations", has.get("Operations", ""))
        given = {**self.parameters, "Operations": _with_own(operations)}
        return [
            *({"ParameterKey": name, "ParameterValue": value} for name, value in given.items()),
            *({"ParameterKey": n, "UsePreviousValue": True} for n in has if n in declared and n not in given),
        ]

    def _described(self, client: Any) -> Mapping[str, Any]:
        """Empty where there is no such stack."""
        try:
            answer = client.describe_stacks(StackName=self.stack)
        except client.exceptions.ClientError as error:
            if error.response["Error"]["Code"] != "ValidationError":
                raise
            return {}
        return answer["Stacks"][0]  # type: ignore[no-any-return]

    def _named_functions(self) -> Seen:
        if not self.processed:
            raise NotLooked("there was no change set")
        [statement] = statements_of(self.processed["Resources"]["LanesPolicy"], "InvokeNamedFunctions")
        resources = statement["Resource"]
        is_list = isinstance(resources, list)
        return Seen(
            json.dumps(resources), is_list and any(str(each).endswith(f":function:{ALIAS}") for each in resources)
        )

    def _without_pipes(self) -> Seen:
        rule = parse(self.template.read_text(encoding="utf-8"), self.template)["Rules"]["QueueTriggerNeedsPipes"]
        if self.session.region_name not in rule["RuleCondition"]["Fn::Contains"][0]:
            raise NotLooked(f"{self.session.region_name} has EventBridge Pipes")
        if not self.processed:
            raise NotLooked("there was no change set")
        return Seen("a change set", holds=True)


def _with_own(operations: str) -> str:
    return ",".join(each for each in (operations, f"evidence={ALIAS}") if each)


def policies_of(resources: Mapping[str, Deployed]) -> Iterator[tuple[str, Any, tuple[str, Mapping[str, str]]]]:
    """Every policy of a template: its name, the document, and what Access Analyzer is told of it."""
    for name, each in resources.items():
        if each.type in CHECKED:
            yield name, each.properties["PolicyDocument"], CHECKED[each.type]
        elif each.type == "AWS::IAM::Role":
            yield f"{name}, trust", each.properties["AssumeRolePolicyDocument"], TRUST
            for own in each.properties.get("Policies", ()):
                yield f"{name}, {own['PolicyName']}", own["PolicyDocument"], CHECKED["AWS::IAM::Policy"]


def statements_of(value: Any, sid: str) -> Iterator[Mapping[str, Any]]:
    """The statements of this Sid, wherever in it they are."""
    if isinstance(value, dict):
        if value.get("Sid") == sid:
            yield value
        for each in value.values():
            yield from statements_of(each, sid)
    elif isinstance(value, list):
        for each in value:
            yield from statements_of(each, sid)
