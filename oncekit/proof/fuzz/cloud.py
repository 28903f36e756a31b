"""The real lane: the local cloud with the real template, one for all cases of a process."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from oncekit.local import LocalCloud, VirtualClock
from oncekit.operation_functions import LIVE
from oncekit.proof.fuzz.judge import Stack

ROOT = Path(__file__).parents[3]
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What must not come out of a command: a terminal would obey it, or a reader be misled. A newline is the program's."""
ECHO = "def handler(event, context):\n    return {'paid': 1}\n"
OPERATION = "echo"


class Lane:
    """The cloud, and what the cases need to know of it."""

    def __init__(self, cloud: LocalCloud, clock: VirtualClock, code: Path) -> None:
        self.cloud, self.clock = cloud, clock
        self._code = code
        self.touched: list[str] = []
        outputs = cloud.outputs
        self.stack = Stack(
            outputs["TableName"],
            outputs["ResponseBucketName"],
            outputs["RejectedQueueUrl"],
            outputs["FunctionPrefix"] + "-",
            LIVE,
            "",
        )
        self.begin()

    def begin(self) -> None:
        """Nothing is there but what the template deploys, and one function."""
        self.touched.clear()
        self.cloud.reset()
        self.cloud.add_function(OPERATION, self._code)


@contextmanager
def lane(template: Path = ROOT / "template.yaml") -> Iterator[Lane]:
    """The real lane of a template; clients of this process find it by their environment."""
    clock = VirtualClock()
    with tempfile.TemporaryDirectory() as folder, LocalCloud(template, clock=clock) as cloud:
        (Path(folder) / "app.py").write_text(ECHO)
        with mock.patch.dict(os.environ, cloud.environment | {"NO_COLOR": "1"}):
            yield Lane(cloud, clock, Path(folder))


def judged(client: Any, judge: Callable[[str, dict[str, Any]], Iterator[str]], touched: list[str]) -> None:
    """Has each call of a client judged as it is made."""

    def look(params: dict[str, Any], model: Any, **_: Any) -> None:
        touched.extend(judge(model.name, params))

    client.meta.events.register("provide-client-params", look)
