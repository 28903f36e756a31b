"""Runs one request in a lane, and adds up what it took, with every execution that it started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from oncekit.bench.cost import logged, prices
from oncekit.bench.cost.counting import Cost, Counter
from oncekit.local.engine import Interceptor
from oncekit.local.execution import Execution, as_text
from oncekit.local.once_cloud import LocalCloud

OPERATION = "bench-work"
_FUNCTION = Path(__file__).parents[1] / "functions" / "work"
_OUTPUTS = {"full": "StateMachineArn", "fast": "FastStateMachineArn"}
LANES = ("fast", "full")


@dataclass
class Bench:
    """Starts requests and counts."""

    cloud: LocalCloud

    def __post_init__(self) -> None:
        self.cloud.add_function(OPERATION, _FUNCTION)

    def run(self, lane: str, request: Any) -> Execution:
        started = self.cloud.start_machine(self.cloud.outputs[_OUTPUTS[lane]], as_text(request), str(uuid4()))
        return self.cloud.wait(started)

    def measure(self, lane: str, request: Any, *faults: Interceptor) -> Cost:
        with self.counting(*faults) as count:
            count(self.run(lane, request))
        return count.cost

    @contextmanager
    def counting(self, *faults: Interceptor) -> Iterator[Counting]:
        """Counts while the context is open: calls and lines by itself, executions as it is given them."""
        counter = Counter(self.cloud)
        count = Counting(self, counter)
        lines, objects = self._lines(), self._objects()
        with self.cloud.intercept(counter, *faults):  # a failed start is a start, too
            yield count
            for arn in counter.started:  # grows while they run
                count(self.cloud.wait(arn))
        cost = counter.cost
        cost.puts = max(cost.puts, self._objects() - objects)  # functions make these calls themselves
        printed = (line for name, now in self._lines().items() for line in now[len(lines[name]) :])
        cost.log_bytes += logged.bytes_of(logged.as_on_lambda(line, _FUNCTION) for line in printed)

    def _lines(self) -> dict[str, list[str]]:
        return {name: self.cloud.functions.logs(name) for name in self.cloud.functions.functions}

    def _objects(self) -> int:
        found = self.cloud.client("s3").list_objects_v2(Bucket=self.cloud.resources["ResponseBucket"])
        return int(found["KeyCount"])


@dataclass
class Counting:
    """What a run took; called with each of its executions when it has ended."""

    bench: Bench
    counter: Counter

    @property
    def cost(self) -> Cost:
        return self.counter.cost

    def __call__(self, execution: Execution) -> None:
        cost = self.cost
        cost.log_bytes += logged.bytes_of(logged.of_events(execution.arn, execution.events))
        cost.starts += 1
        if ":express:" not in execution.arn:
            cost.transitions += execution.transitions
            cost.traces += 1
            return
        cost.express_starts += 1
        calls = self.counter.calls.get(execution.arn, 0)
        states = execution.states
        logic = prices.LOGIC_MS * states.count("ExecuteBusinessLogic") + prices.WAIT_MS * states.count("BackOff")
        ms = len(states) * prices.STATE_MS + calls * prices.CALL_MS + logic
        cost.gigabyte_seconds += prices.express_gigabyte_seconds(ms)
        # The machine is not traced, but each function that it starts decides for itself.
        cost.traces += sum(state in ("ExecuteBusinessLogic", "CacheResponse") for state in states)
