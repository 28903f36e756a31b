"""Schedules, in virtual time."""

from __future__ import annotations

import datetime

import pytest
from event_stand import Stand, queue, worker

from oncekit.local.events.expressions import turns_of
from oncekit.local.templates.intrinsics import TemplateError

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


@pytest.mark.parametrize("wrong", ["cron(0 3 * * * *)", "cron(0 3 * ?)", "cron(0 25 * * ? *)", "every day"])
def test_an_expression_that_aws_refuses_is_named(stand: Stand, wrong: str) -> None:
    with pytest.raises(TemplateError, match=r"Sweep: AWS would refuse its schedule"):
        stand.deploy(worker() + schedule(wrong))


CRON = (
    "EventBridge Scheduler User Guide, Schedule types",
    "A cron expression consists of six fields separated by white spaces: (minutes hours day_of_month month",
)


@pytest.mark.aws(*CRON)
@pytest.mark.parametrize(
    ("expression", "zone", "turns"),
    [
        ("cron(30 9 * * ? *)", "UTC", ["2026-01-31T09:30", "2026-02-01T09:30"]),
        ("cron(0/20 8 ? * MON-FRI *)", "UTC", ["2026-02-02T08:00", "2026-02-02T08:20"]),
        ("cron(0 0 L * ? *)", "UTC", ["2026-02-28T00:00", "2026-03-31T00:00"]),
        ("cron(0 0 1W * ? *)", "UTC", ["2026-02-02T00:00", "2026-03-02T00:00"]),
        ("cron(0 0 ? * 3#2 *)", "UTC", ["2026-02-10T00:00", "2026-03-10T00:00"]),
        ("cron(0 0 ? * 6L *)", "UTC", ["2026-02-27T00:00", "2026-03-27T00:00"]),
        ("cron(0 12 1 JAN ? 2030)", "UTC", ["2030-01-01T12:00", None]),
        ("cron(0 9 1 * ? *)", "Europe/Berlin", ["2026-02-01T08:00", "2026-03-01T08:00"]),
        ("cron(0 9 1 4 ? *)", "Europe/Berlin", ["2026-04-01T07:00", "2027-04-01T07:00"]),
        ("at(2026-02-01T09:00:00)", "UTC", ["2026-02-01T09:00", None]),
        ("rate(2 days)", "UTC", ["2026-02-02T00:00", "2026-02-04T00:00"]),
    ],
)
def test_turns_of_an_expression(expression: str, zone: str, turns: list[str | None]) -> None:
    after, found = turns_of(expression, zone), []
    instant: float | None = datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC).timestamp()
    for _ in turns:
        instant = None if instant is None else after(instant)
        at = None if instant is None else datetime.datetime.fromtimestamp(instant, datetime.UTC)
        found.append(None if at is None else at.strftime("%Y-%m-%dT%H:%M"))
    assert found == turns


@pytest.mark.aws(*CRON)
def test_a_schedule_at_a_time_takes_its_one_turn(stand: Stand) -> None:
    stand.deploy(worker() + schedule("at(2200-01-01T00:00:00)"))
    stand.clock.advance(86_400)
    assert stand.executions() == []
    now = datetime.datetime.fromtimestamp(stand.clock.now() + 60, datetime.UTC)
    stand.deploy(worker() + schedule(f"at({now:%Y-%m-%dT%H:%M:%S})"))
    stand.clock.advance(86_400)
    assert len(stand.executions()) == 1


@pytest.mark.aws(
    "EventBridge Scheduler User Guide, Adding context attributes in EventBridge Scheduler",
    "EventBridge Scheduler replaces each keyword with its respective value when your schedule invokes the target",
)
def test_an_input_is_told_the_time_that_a_turn_is_for(stand: Stand) -> None:
    told = '{"day": "<aws.scheduler.scheduled-time>", "by": "<aws.scheduler.schedule-arn>"}'
    stand.deploy(worker() + schedule("cron(0 0 * * ? *)", target=f"Input: '{told}'"))
    stand.clock.advance(86_400)
    day = datetime.datetime.fromtimestamp(stand.clock.now(), datetime.UTC).strftime("%Y-%m-%dT00:00:00Z")
    assert stand.inputs() == [{"day": day, "by": stand.stack.resources["Sweep"].attributes("Arn")}]
