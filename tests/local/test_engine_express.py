"""Express executions: what Step Functions lets them do, and what it does not."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from engine_machines import END, Execute, create, executes, start, succeed

from oncekit.local import LocalCloud

WAITS = {"W": {"Type": "Wait", "Seconds": 100, "Next": "E"}, "E": END}


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


@pytest.mark.aws(model="stepfunctions", says="StartExecution isn't idempotent for EXPRESS workflows.")
def test_name_of_an_express_execution_may_be_used_again(cloud: LocalCloud) -> None:
    created = create(cloud, {"E": END}, "EXPRESS")
    assert start(cloud, created, 1, name="same") != start(cloud, created, 2, name="same")


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
    assert cloud.clock.now() == before + lasts
    assert machine(waits).status == "SUCCEEDED"


def synchronously(cloud: LocalCloud, machine: str) -> dict[str, Any]:
    client = boto3.client("stepfunctions", region_name="us-east-1", config=Config(inject_host_prefix=False))
    answer: dict[str, Any] = client.start_sync_execution(stateMachineArn=machine, name="now", input='{"n": 1}')
    return answer


@pytest.mark.aws(recorded=RECORDED, says="status is SUCCEEDED with output and input, or FAILED with error and cause")
def test_synchronous_start_waits_for_the_end_and_tells_what_it_came_to(cloud: LocalCloud) -> None:
    waits = create(cloud, {**WAITS, "E": succeed("$states.input.n")}, "EXPRESS")
    with ThreadPoolExecutor() as pool:
        with cloud.clock.held():  # type: ignore[attr-defined]
            answer = pool.submit(synchronously, cloud, waits)
            with pytest.raises(TimeoutError):
                answer.result(0.5)
        done = answer.result(20)
    assert (done["status"], done["output"], done["input"]) == ("SUCCEEDED", "1", '{"n": 1}')
    fails = {"F": {"Type": "Fail", "Error": "Mine", "Cause": "so it is"}}
    failed = synchronously(cloud, create(cloud, fails, "EXPRESS"))
    assert (failed["status"], failed["error"], failed["cause"]) == ("FAILED", "Mine", "so it is")
