"""Schedules with a rate, in virtual and in real time."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError
from event_stand import Stand, queue, worker

from oncekit.local.events import Delivery
from oncekit.local.events.deliveries import iso
from oncekit.local.intrinsics import TemplateError

pytestmark = pytest.mark.ours


def schedule(rate: str = "rate(5 minutes)", target: str = "", more: str = "") -> str:
    return f"""
  Sweep:
    Type: AWS::Scheduler::Schedule
    Properties:
      ScheduleExpression: {rate}
      FlexibleTimeWindow: {{ Mode: "OFF" }}
      {more}
      Target:
        Arn: !Ref Worker
        RoleArn: arn:aws:iam::123456789012:role/schedule
        {target}
"""


def test_time_that_is_moved_takes_every_turn_at_its_time(stand: Stand) -> None:
    began = stand.clock.now()
    stand.deploy(worker() + schedule(target="Input: '{\"n\": 1}'"))
    stand.clock.advance(600)
    assert stand.clock.now() == began + 600
    assert stand.inputs() == [{"n": 1}, {"n": 1}]
    assert stand.times(0, began) == [300, 600]
    stand.clock.advance(299)
    assert len(stand.executions()) == 2
    stand.clock.advance(1)
    assert len(stand.executions()) == 3


def test_time_does_not_run_away_when_nothing_else_is_there(stand: Stand) -> None:
    began = stand.clock.now()
    stand.deploy(worker() + schedule())
    stand.start()
    assert len(stand.executions()) == 1
    assert stand.clock.now() == began


@pytest.mark.aws(unconfirmed="V36")
def test_turn_that_cannot_be_taken_is_in_the_dead_letter_queue(stand: Stand) -> None:
    policy = "RetryPolicy: { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 60 }"
    target = f"{policy}\n        DeadLetterConfig: {{ Arn: !GetAtt Dead.Arn }}"
    began = stand.clock.now()
    stand.deploy(worker() + queue("Dead") + schedule(target=target))

    def throttled(_delivery: Delivery) -> list[float]:
        raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "StartExecution")

    with stand.cloud.lose_events(throttled):
        stand.clock.advance(300)
        [attributes] = stand.attributes("Dead")
    assert attributes.pop("EXECUTION_ID")
    assert attributes.pop("SCHEDULED_TIME") == iso(began + 300)
    assert attributes == {
        "SCHEDULE_ARN": "arn:aws:scheduler:us-east-1:123456789012:schedule/default/once-Sweep",
        "TARGET_ARN": stand.stack.resources["Worker"].ref,
        "ERROR_CODE": "ThrottlingException",
        "ERROR_MESSAGE": "slow down",
        "RETRY_ATTEMPTS": "2",
        "EXHAUSTED_RETRY_CONDITION": "MaximumRetryAttempts",
        "IS_PAYLOAD_TRUNCATED": "false",
    }
    assert stand.bodies("Dead") == [{"StateMachineArn": stand.stack.resources["Worker"].ref, "Input": "{}"}]


def test_unchanged_schedule_keeps_its_rhythm_and_reset_begins_it_anew(stand: Stand) -> None:
    stand.deploy(worker() + schedule())
    stand.clock.advance(200)
    stand.deploy(worker() + schedule() + queue("Other"))
    stand.clock.advance(100)
    assert len(stand.executions()) == 1
    stand.clock.advance(200)
    stand.cloud.reset()
    stand.clock.advance(299)
    assert stand.executions() == []
    stand.clock.advance(1)
    assert len(stand.executions()) == 1


def test_what_is_no_rate_is_named(stand: Stand) -> None:
    with pytest.raises(TemplateError, match=r"Sweep: .*supports schedules like rate"):
        stand.deploy(worker() + schedule("cron(0 3 * * ? *)"))
