"""Time in S3: timestamps come from the clock. Nothing that is old is deleted."""

from __future__ import annotations

import datetime

from moto.s3 import models as s3

from oncekit.local.clock import Clock
from oncekit.local.engine.runs import instant
from oncekit.local.patching import Change


def changes(clock: Clock) -> list[Change]:
    def utcnow() -> datetime.datetime:
        return instant(clock).replace(tzinfo=None)

    return [(s3, "utcnow", utcnow)]
