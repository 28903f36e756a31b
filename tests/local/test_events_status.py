"""The event "Step Functions Execution Status Change": its form was recorded on AWS, its limits are documented."""

from __future__ import annotations

import json
import re

import pytest
from event_stand import Stand, queue, worker

RULE = """
  Rule:
    Type: AWS::Events::Rule
    Properties:
      EventPattern: { source: [aws.states] }
      Targets: [{ Id: log, Arn: !GetAtt Log.Arn }]
"""
ALL = worker() + worker("Short", "EXPRESS") + queue("Log") + RULE


@pytest.mark.aws(
    "Step Functions Developer Guide, EventBridge integration",
    "Represents a change in the status of a state machine execution.",
)
@pytest.mark.aws(
    recorded="localstack/localstack: tests/aws/services/stepfunctions/v2/base/test_base.snapshot.json",
    says='"error": null and "cause": null in RUNNING and SUCCEEDED, test_event_bridge_events',
)
@pytest.mark.aws(unconfirmed="V13")
def test_execution_emits_an_event_when_it_begins_and_when_it_ends(stand: Stand) -> None:
    stand.deploy(ALL)
    arn = stand.start({"n": 1})
    begun, ended = stand.bodies("Log")
    began_at = stand.cloud.describe(arn).events[0]["timestamp"]
    assert re.fullmatch(r"[0-9a-f-]{36}", begun.pop("id"))
    assert begun == {
        "version": "0",
        "detail-type": "Step Functions Execution Status Change",
        "source": "aws.states",
        "account": "123456789012",
        "time": began_at.replace(".000Z", "Z"),
        "region": "us-east-1",
        "resources": [arn],
        "detail": {
            "executionArn": arn,
            "stateMachineArn": stand.stack.resources["Worker"].ref,
            "name": arn.rpartition(":")[2],
            "status": "RUNNING",
            "startDate": round(stand.clock.now() * 1000),
            "stopDate": None,
            "input": '{"n": 1}',
            "output": None,
            "stateMachineVersionArn": None,
            "stateMachineAliasArn": None,
            "redriveCount": 0,
            "redriveDate": None,
            "redriveStatus": "NOT_REDRIVABLE",
            "redriveStatusReason": "Execution is RUNNING and cannot be redriven",
            "inputDetails": {"included": True},
            "outputDetails": None,
            "error": None,
            "cause": None,
        },
    }
    assert ended["detail"]["status"] == "SUCCEEDED"
    assert json.loads(ended["detail"]["output"]) == {"n": 1}
    assert ended["detail"]["outputDetails"] == {"included": True}
    assert ended["detail"]["redriveStatusReason"] == "Execution is SUCCEEDED and cannot be redriven"


@pytest.mark.aws(
    "Step Functions Developer Guide, EventBridge integration",
    "Represents a change in the status of a state machine execution.",
)
@pytest.mark.aws(unconfirmed="V13")
def test_each_way_to_end_has_its_status_error_and_cause(stand: Stand) -> None:
    stand.deploy(ALL)
    stand.start({"do": "fail"})
    stand.cloud.settle()
    with stand.clock.held():
        stand.cloud.stop(stand.start({"do": "wait"}), "Why", "because")
    ends = [detail for detail in stand.events("Log") if detail["status"] != "RUNNING"]
    assert [(end["status"], end["error"], end["cause"]) for end in ends] == [
        ("FAILED", "Broken", "it broke"),
        ("ABORTED", "Why", "because"),
    ]
    assert [end["redriveStatus"] for end in ends] == ["REDRIVABLE"] * 2


@pytest.mark.aws(
    "Step Functions Developer Guide, EventBridge integration", "Only standard workflows emit events to EventBridge."
)
def test_express_execution_emits_nothing(stand: Stand) -> None:
    stand.deploy(ALL)
    stand.start({"n": 1}, "Short")
    assert [execution.status for execution in stand.executions("Short")] == ["SUCCEEDED"]
    assert stand.events("Log") == []


@pytest.mark.aws(
    "Step Functions Developer Guide, EventBridge integration",
    "If the combined escaped input and escaped output sent to EventBridge exceeds 248 KiB, then the input",
)
def test_input_that_would_not_fit_is_left_out(stand: Stand) -> None:
    stand.deploy(ALL)
    stand.start({"n": "x" * 200_000})
    begun, ended = stand.events("Log")
    assert (begun["inputDetails"], begun["input"] is None) == ({"included": True}, False)
    assert (ended["inputDetails"], ended["input"]) == ({"included": False}, None), "with the output it is too large"
    assert (ended["outputDetails"], ended["output"] is None) == ({"included": True}, False)


@pytest.mark.ours
def test_time_stands_still_until_an_event_is_delivered(stand: Stand) -> None:
    """Another execution waits: time would go on to the end of its wait as soon as nobody is at work."""
    target = RULE.replace("aws.states]", "aws.states], detail: { status: [FAILED] }")
    target = target.replace("{ Id: log, Arn: !GetAtt Log.Arn }", "{ Id: w, Arn: !Ref Worker, Input: '{}', RoleArn: r }")
    stand.deploy(worker() + target)
    began = stand.clock.now()
    with stand.clock.held():
        stand.start({"do": "wait"})
        stand.start({"do": "fail soon"})
    assert stand.times(0, began) == [0, 0, 10]
    assert stand.clock.now() == began + 100
