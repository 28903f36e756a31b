"""Writes that come late: the first send of a call is still on its way when the call is made again."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator

from oncekit.proof.model.machine import NOW
from oncekit.proof.model.services import Call, Services
from oncekit.proof.model.setting import Move, Setting
from oncekit.proof.model.world import PLACES, Late, World, as_json


def sent_late(setting: Setting, world: World, call: Call, place: int, label: str) -> Iterator[Move]:
    """The first send is still on its way when the call is made again."""
    wanted = not setting.late or call.position in setting.late
    if not (world.budget.late and wanted and call.resource == "dynamodb:updateItem"):
        return
    if call.machine.retries(call.position, call.lost.name):
        execution = None if place < 0 else world.executions[place]
        late = Late(place, call.position, call.text(), 0 if execution is None else execution.fence)
        sent = world._replace(late=tuple(sorted((*world.late, late))))
        yield Move(f"{label}: on its way, and tried again", False, sent.spend("late"))


def late_calls(services: Services, world: World) -> Iterator[Move]:
    """What was sent before arrives."""
    for late in world.late:
        left = list(world.late)
        left.remove(late)
        place = None if late.place < 0 else late.place
        after = services.updated(world._replace(late=tuple(left)), late.call, place, late).world
        who = "recovery" if place is None else PLACES[place]
        yield Move(f"{who}: {late.position} comes late", True, after)


@functools.cache
def aged(call: str) -> str:
    """A late call's clock is that of when it was sent."""
    arguments = json.loads(call)
    if ":now" in arguments["ConditionExpression"]:
        arguments["ExpressionAttributeValues"][":now"] = {"N": str(NOW - 2000)}
    return as_json(arguments)
