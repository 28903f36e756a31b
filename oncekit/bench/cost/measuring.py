"""Runs one request in a lane, and adds up what it took, with every execution that it started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncekit.bench.cost import logged
from oncekit.bench.cost.counting import Cost, Counter
from oncekit.contract.lanes import FAST, FULL, Lane
from oncekit.local.engine.service_calls import Interceptor
from oncekit.local.execution import Execution
from oncekit.local.once_cloud import PREFIX, LocalCloud

OPERATION = "bench-work"
_FUNCTIONS = Path(__file__).parents[1] / "functions"
_FUNCTION = _FUNCTIONS / "work"
_ELSEWHERE = "bench-elsewhere"
LANES = (FAST, FULL)


@dataclass
class Bench:
    """Starts requests and counts."""

    cloud: LocalCloud

    def __post_init__(self) -> None:
        self.cloud.add_function(OPERATION, _FUNCTION)
        self.cloud.add_function(_ELSEWHERE, _FUNCTIONS / "elsewhere")

    @property
    def elsewhere(self) -> str:
        """The name of the function that is at the end of work elsewhere."""
        return f"{PREFIX}{_ELSEWHERE}"

    def run(self, lane: Lane, request: Any) -> Execution:
        return self.cloud.run(request, lane=lane)

    def measure(self, lane: Lane, request: Any, *faults: Interceptor) -> Cost:
        with self.counting(*faults) as counter:
            counter.add(self.run(lane, request))
        return counter.cost

    @contextmanager
    def counting(self, *faults: Interceptor) -> Iterator[Counter]:
        """Counts while the context is open: calls and lines by itself, executions as it is given them."""
        counter = Counter(self.cloud)
        lines, objects = self._lines(), self._objects()
        with self.cloud.intercept(counter, *faults):  # a failed start is a start, too
            yield counter
            for arn in counter.started:  # grows while they run
                counter.add(self.cloud.wait(arn))
        cost = counter.cost
        cost.puts = max(cost.puts, self._objects() - objects)  # functions make these calls themselves
        printed = (line for name, now in self._lines().items() for line in now[len(lines[name]) :])
        cost.log_bytes += logged.bytes_of(logged.as_on_lambda(line, _FUNCTION) for line in printed)

    def _lines(self) -> dict[str, list[str]]:
        return {name: self.cloud.functions.logs(name) for name in self.cloud.functions.functions}

    def _objects(self) -> int:
        found = self.cloud.client("s3").list_objects_v2(Bucket=self.cloud.resources["ResponseBucket"])
        return int(found["KeyCount"])
