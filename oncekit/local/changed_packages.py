"""What the local cloud replaces inside the packages that it is made of while it is open, each with the reason.

The modules that know a change make it, with `patching.replaced`; here stands all that is replaced.
Private, and only read: the messages of a queue (`Queue._messages`, `_pending_messages`), which one that is made again
keeps. Subclassed, and put into moto's own lists: a topic's `Subscription` to a function and a bucket's `Notification`,
which tell here what moto would do by itself. Of airspeed nothing is replaced: gateway/velocity.py has its own copy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import version


@dataclass(frozen=True)
class Replaced:
    """An attribute of a class or of a module."""

    owner: str
    """`package.module`, or `package.module:Class`."""
    name: str
    why: str


_COMPARED = "a comparison with what is not there, or of two types, is false; moto fails, or says that it holds"
_TIME = "virtual time"

REPLACED = (
    Replaced("moto.core.botocore_stubber:BotocoreStubber", "process_request", "own_services.py stands before moto"),
    *(
        Replaced(f"moto.dynamodb.comparisons:{kind}", "expr", _COMPARED)
        for kind in (
            "OpEqual",
            "OpNotEqual",
            "OpLessThan",
            "OpLessThanOrEqual",
            "OpGreaterThan",
            "OpGreaterThanOrEqual",
        )
    ),
    Replaced("moto.dynamodb.comparisons:FuncBetween", "expr", _COMPARED),
    Replaced("moto.dynamodb.comparisons:FuncBeginsWith", "expr", f"{_COMPARED}; it fails on binary values"),
    Replaced("moto.dynamodb.comparisons:FuncSize", "expr", "before 5.2, the size of a binary value is that of a text"),
    Replaced("moto.events.models:EventsBackend", "put_events", "a bus that is not there forgets what is put on it"),
    Replaced("moto.events.models:Rule", "send_to_targets", "events/rules.py delivers, on the delivery queue's thread"),
    Replaced("moto.events.models", "unix_time", _TIME),
    Replaced("moto.s3.models", "utcnow", _TIME),
    Replaced("moto.sqs.models", "unix_time", _TIME),
    Replaced("moto.sqs.models", "unix_time_millis", _TIME),
    Replaced("moto.sqs.models:Message", "visible", "moto makes a message visible a millisecond too late"),
    Replaced(
        "moto.sqs.models:Queue", "add_message", "pipes look into a queue when a message comes, from whatever sender"
    ),
    Replaced(
        "moto.sqs.models:SQSBackend", "change_message_visibility", "pipes look when a message can be received again"
    ),
    Replaced("moto.sqs.models:SQSBackend", "receive_message", "a long poll waits in real time, not for virtual time"),
)


TRIED = {"moto": ("5.1.21", "6"), "jsonata-python": ("0.7.1", "0.7.2")}
"""From which version on, and below which one."""


def wrong_package() -> str | None:
    """What to say of a package in another version than those that were tried; None where all are right."""
    for package, (least, below) in TRIED.items():
        found = version(package)
        if not _numbers(least) <= _numbers(found) < _numbers(below):
            needed = f"pip install '{package}>={least},<{below}'"
            return f"{package} {found} is installed, with which the local cloud was not tried: {needed}"
    return None


def _numbers(text: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", text)]
