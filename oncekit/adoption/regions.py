"""The Regions in which what Once makes of a queue cannot be deployed, as the template's own rule names them."""

from __future__ import annotations

from oncekit import application
from oncekit.adoption.folder import NAME, OPERATIONS
from oncekit.local.templates.template import parse


def without_pipes() -> str:
    """A list in words of those that EventBridge Pipes is missing in."""
    path = application.folder() / application.TEMPLATE
    names = parse(path.read_text(), path)["Rules"]["QueueTriggerNeedsPipes"]["RuleCondition"]["Fn::Contains"][0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


SWITCHED_OFF = f"""set QueueTrigger: "false" at Machine in {NAME}/{OPERATIONS}"""
