"""Express executions: what Step Functions lets them do, and what it does not."""

from __future__ import annotations

import re

import pytest
from botocore.exceptions import ClientError
from engine_machines import END, Execute, create, executes, start, succeed

from oncekit.local import LocalCloud


@pytest.fixture
def machine(cloud: LocalCloud) -> Execute:
    return executes(cloud)


RECORDED = "localstack/localstack: tests/aws/services/stepfunctions/v2/express/test_express_sync.snapshot.json"


@pytest.mark.aws(recorded=RECORDED, says="Execution.Id is the executionArn, arn:...:express:MACHINE:NAME:ID")
def test_arn_of_an_express_execution_has_its_own_form(cloud: LocalCloud) -> None:
    created = create(cloud, {"E": succeed("$states.context.Execution.Id")}, "EXPRESS")
    arn = start(cloud, created, name="once")
    name = created.rpartition(":")[2]
    assert re.fullmatch(rf"arn:aws:states:us-east-1:\d{{12}}:express:{name}:once:[0-9a-f-]{{36}}", arn)
    assert cloud.wait(arn).output == arn


@pytest.mark.aws(
    model="stepfunctions",
    says="Executions of an EXPRESS state machine aren't supported by DescribeExecution unless a Map Run",
)
def test_express_execution_cannot_be_asked_about_or_stopped(cloud: LocalCloud) -> None:
    arn = start(cloud, create(cloud, {"E": END}, "EXPRESS"))
    cloud.wait(arn)
    client = cloud.client("stepfunctions")
    for ask in (client.describe_execution, client.get_execution_history, client.stop_execution):
        with pytest.raises(ClientError, match=r"InvalidArn.*Resource type not valid in this context: express"):
            ask(executionArn=arn)


@pytest.mark.aws(
    "Step Functions Developer Guide, Standard and Express workflows",
    "Express workflows, however, have at-least-once workflow execution and can run for up to five minutes",
)
@pytest.mark.parametrize(
    ("own_limit", "lasts"), [({}, 300), ({"TimeoutSeconds": 900}, 300), ({"TimeoutSeconds": 60}, 60)]
)
def test_express_execution_lives_for_five_minutes(
    machine: Execute, cloud: LocalCloud, own_limit: dict[str, int], lasts: int
) -> None:
    waits = {"W": {"Type": "Wait", "Seconds": 3600, "Next": "E"}, "E": END}
    before = cloud.clock.now()
    assert machine(waits, machine_type="EXPRESS", **own_limit).status == "TIMED_OUT"
    assert round(cloud.clock.now() - before) == lasts
    assert machine(waits).status == "SUCCEEDED"
