"""What AWS says of a stack that is deployed: the rows of docs/verify-on-aws.md that are a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.contract.lanes import FULL
from oncekit.evidence.finding import NotLooked, Question, Seen
from oncekit.stack.stack import Stack

LIST_REFUSED = "arn:{}:states:::aws-sdk:s3:listObjectsV2"
CHECK_OWNER = "arn:{}:states:::aws-sdk:sfn:describeExecution"
INVOKE = "arn:{}:states:::lambda:invoke"


@dataclass(frozen=True)
class After:
    stack: Stack
    options: tuple[str, ...]
    """Of `once`: --stack, --profile and --region."""

    def questions(self) -> Iterator[Question]:
        yield Question("V10", self._doctor, is_answered_here=True)
        yield Question("V25", self._nobody)
        yield Question("V88", self._metadata)
        yield Question("V90", self._page)
        yield Question("V38", self._not_allowed)

    def _doctor(self) -> Seen:
        command = [sys.executable, "-c", "from oncekit.cli.main import main; main()", "doctor", *self.options]
        environment = {**os.environ, "NO_COLOR": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
        lines = done.stdout.splitlines() or done.stderr.splitlines() or ["nothing"]
        told = "; ".join([lines[-1], *(line for line in lines if line.startswith(("✗", "-")))])
        if done.returncode != 1 and (done.returncode or any(line.startswith("-") for line in lines)):
            raise NotLooked(told)
        return Seen(told, done.returncode == 0)

    def _tested(self, resource: str, arguments: Mapping[str, Any], of: str = "OperationRole") -> Mapping[str, Any]:
        """What TestState answers of one call with the role of a machine, by default of the full lane."""
        partition, role = self.stack.outputs["StateMachineArn"].split(":")[1], self.stack.ref(of)
        account = self.stack.outputs["StateMachineArn"].split(":")[4]
        state = {
            "QueryLanguage": "JSONata",
            "Type": "Task",
            "Resource": resource.format(partition),
            "Arguments": arguments,
            "End": True,
        }
        answer: Mapping[str, Any] = self.stack.client("stepfunctions").test_state(
            definition=json.dumps(state), roleArn=f"arn:{partition}:iam::{account}:role/{role}", input="{}"
        )
        return answer

    def _fails(self, answer: Mapping[str, Any], error: str) -> Seen:
        told = f"{answer['status']} {answer.get('error', '')}: {answer.get('cause', '')}"
        return Seen(told, answer.get("error") == error)

    def _nobody(self) -> Seen:
        owner = self.stack.execution(f"evidence-{uuid.uuid4()}")
        return self._fails(self._tested(CHECK_OWNER, {"ExecutionArn": owner}), "Sfn.ExecutionDoesNotExistException")

    def _metadata(self) -> Seen:
        listed = self.stack.client("stepfunctions").list_executions(
            stateMachineArn=self.stack.outputs["StateMachineArn"], maxResults=1
        )["executions"]
        if not listed:
            raise NotLooked(f"the {FULL} lane had no execution yet: run the scenarios first")
        asked = {"ExecutionArn": listed[0]["executionArn"], "IncludedData": "METADATA_ONLY"}
        answer = self._tested(CHECK_OWNER, asked)
        told = json.loads(answer.get("output") or "{}")
        names = f"{answer['status']} {answer.get('error', '')} {', '.join(sorted(told))}"
        return Seen(names, answer["status"] == "SUCCEEDED" and "Status" in told and "Input" not in told)

    def _page(self) -> Seen:
        asked = {"Bucket": self.stack.bucket, "Prefix": "rejected/2", "MaxKeys": 1}
        answer = self._tested(LIST_REFUSED, asked, "RecoveryRole")
        told = json.loads(answer.get("output") or "{}")
        if answer["status"] == "SUCCEEDED" and told.get("IsTruncated") is False:
            raise NotLooked("fewer than two requests were refused yet: run the scenarios first")
        names = [each for each in ("KeyCount", "IsTruncated", "NextContinuationToken") if each in told]
        return Seen(f"{answer['status']} {answer.get('error', '')}, with {', '.join(names)}", len(names) == 3)

    def _not_allowed(self) -> Seen:
        asked = {"FunctionName": f"evidence-{uuid.uuid4()}", "Payload": {}}
        return self._fails(self._tested(INVOKE, asked), "Lambda.AWSLambdaException")
