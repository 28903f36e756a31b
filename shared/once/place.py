"""Where a function of the direct lane finds Once's stack: variables of its own, or one parameter that the stack writes.

Its stack cannot refer to Once's, which refers to its functions; the name of a parameter needs no reference.
"""

import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from botocore.exceptions import ClientError

from once.clients import client

SENDS_S: Final = 7
"""How long the client itself may try again what is throttled: three pauses of at most 1, 2 and 4 seconds."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a function of the direct lane finds records, large requests and answers: Once's stack."""

    table: str
    bucket: str
    retention_days: int


def place(seconds_left: Callable[[], float]) -> Place:
    """Of this process: from ONCE_TABLE, ONCE_BUCKET and ONCE_RETENTION_DAYS, or the SSM parameter ONCE_PARAMETER.

    When many processes start at once, SSM answers a few of them a second: a throttled one asks again while there is
    time. Raises botocore's ClientError or BotoCoreError.
    """
    if table := os.environ.get("ONCE_TABLE"):
        return Place(table, os.environ["ONCE_BUCKET"], int(os.environ["ONCE_RETENTION_DAYS"]))
    if not (name := os.environ.get("ONCE_PARAMETER")):
        raise RuntimeError(
            "neither ONCE_PARAMETER nor ONCE_TABLE is set, so this function does not know where its records are: "
            "`once new OPERATION --function F --direct` writes what it needs"
        )
    pause = 1.0
    while True:
        try:
            return _told_by(name)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ThrottlingException" or seconds_left() < pause + SENDS_S:
                raise
        time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads readers, hides nothing
        pause = min(pause * 2, 5)


@cache
def _told_by(parameter: str) -> Place:
    told = json.loads(client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"])
    return Place(told["table"], told["bucket"], told["retentionDays"])
