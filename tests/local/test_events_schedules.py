"""Schedules with a rate, in virtual time."""

from __future__ import annotations

import pytest
from event_stand import Stand, queue, worker

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
    assert round(stand.clock.now() - began) == 600
    assert stand.inputs() == [{"n": 1}, {"n": 1}]
    assert [round(each) for each in stand.times(0, began)] == [300, 600]
    stand.clock.advance(299)
    assert len(stand.executions()) == 2
    stand.clock.advance(1)
    assert len(stand.executions()) == 3


def test_time_does_not_run_away_when_nothing_else_is_there(stand: Stand) -> None:
    began = stand.clock.now()
    stand.deploy(worker() + schedule())
    stand.start()
    assert len(stand.executions()) == 1
    assert stand.clock.now() < began + 1


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
