"""What may be wrong with a stack: each function breaks one thing, or gives a break."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from patient import Patient

TABLE, BUCKET, QUEUE = "IdempotencyTable", "ResponseBucket", "RequestQueue"
MACHINE, ALIAS = "OperationStateMachine", "OperationStateMachineAlias"
FAST, FAST_ALIAS = "FastStateMachine", "FastStateMachineAlias"
GONE = "ResourceNotFoundException"

Break = Callable[[Patient], object]


def missing(logical_id: str) -> Break:
    def take_out(answer: Any) -> None:
        listed = answer["StackResourceSummaries"]
        answer["StackResourceSummaries"] = [each for each in listed if each["LogicalResourceId"] != logical_id]

    return lambda patient: patient.change("ListStackResources", take_out)


def changed(call: str, *path: str, **values: Any) -> Break:
    """An answer with other values in the object at a path."""

    def how(answer: Any) -> None:
        for member in path:
            answer = answer[member]
        answer.update(values)

    return lambda patient: patient.change(call, how)


def parameters(**values: str) -> Break:
    """The stack says that it was deployed with these; what is deployed is not."""
    return lambda patient: patient.parameters.update(values)


def time_to_live_off(patient: Patient) -> None:
    turn = patient.client("dynamodb").update_time_to_live
    given = {"TableName": patient.ref(TABLE)}
    turn(**given, TimeToLiveSpecification={"Enabled": False, "AttributeName": "expiresAt"})
    again = {"Enabled": True, "AttributeName": "expiresAt"}
    patient.after.callback(turn, **given, TimeToLiveSpecification=again)


def backups_off(patient: Patient) -> None:
    turn, member = patient.client("dynamodb").update_continuous_backups, "PointInTimeRecoveryEnabled"
    turn(TableName=patient.ref(TABLE), PointInTimeRecoverySpecification={member: False})
    again = {member: True}
    patient.after.callback(turn, TableName=patient.ref(TABLE), PointInTimeRecoverySpecification=again)


def definition(change: Callable[[Any], None], of: str = "", machine: str = MACHINE) -> Break:
    """The definition of a lane's machine, or that of one of its versions, is another one."""

    def breaks(patient: Patient) -> None:
        def how(answer: Any) -> None:
            if answer["name"] == patient.ref(machine).rpartition(":")[2] and patient.asked(
                "DescribeStateMachine"
            ).endswith(f'{of}"}}'):
                changed = json.loads(answer["definition"])
                change(changed)
                answer["definition"] = json.dumps(changed)

        patient.change("DescribeStateMachine", how)

    return breaks


def task_waits(seconds: object) -> Callable[[Any], None]:
    return lambda machine: machine["States"]["ExecuteBusinessLogic"].update(TimeoutSeconds=seconds)


def subscriptions(*arns: str) -> Break:
    given = [{"SubscriptionArn": arn, "Endpoint": "pager@example.com"} for arn in arns]
    return lambda patient: patient.reply("ListSubscriptionsByTopic", {"Subscriptions": given})
