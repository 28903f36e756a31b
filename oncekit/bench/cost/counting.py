"""Counts the service calls of runs where executions make them, and what AWS would charge for them."""

from __future__ import annotations

import math
from collections import Counter as Calls
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from oncekit.bench.cost import logged, prices
from oncekit.local.engine.service_calls import Call
from oncekit.local.execution import Execution
from oncekit.local.once_cloud import LocalCloud


@dataclass
class Cost:
    """What one run took, without its functions' time. Units are DynamoDB's: writes by started KiB of the larger item,
    consistent reads by 4 KiB."""

    transitions: int = 0
    """Of Standard executions."""
    starts: int = 0
    """Of executions of either kind."""
    express_starts: int = 0
    gigabyte_seconds: float = 0.0
    """Of Express executions."""
    write_units: int = 0
    index_units: int = 0
    """Those of the write units that are the index's."""
    read_units: int = 0
    describes: int = 0
    """Of executions: DescribeExecution."""
    invocations: float = 0
    """A request of a batch has its share of one."""
    puts: int = 0
    gets: int = 0
    api_calls: int = 0
    """Of API Gateway."""
    data_bytes: int = 0
    """That API Gateway sends to a client on the internet."""
    log_bytes: int = 0
    traces: int = 0
    """That X-Ray would take if it sampled all."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    @property
    def dollars_per_million(self) -> float:
        """Without what every Lambda function pays: its time, and Lambda's own lines."""
        return (
            self.transitions * prices.TRANSITION
            + self.express_starts * prices.EXPRESS_START
            + self.gigabyte_seconds * prices.EXPRESS_GIGABYTE_SECOND * 1e6
            + self.write_units * prices.WRITE
            + self.read_units * prices.READ
            + self.invocations * prices.INVOCATION
            + self.puts * prices.PUT
            + self.gets * prices.GET
            + self.api_calls * prices.API_CALL
            + self.data_bytes / 1e9 * prices.SENT_GIGABYTE * 1e6
            + self.log_bytes / 1e9 * prices.LOGGED_GIGABYTE * 1e6
            + self.traces * prices.TRACE * prices.SAMPLED
        )


def size_of(item: Mapping[str, Any]) -> int:
    """The bytes of an item as DynamoDB counts them: names and values; numbers by two digits a byte."""
    longer = logged.LONGER_ON_AWS if "owner" in item else 0
    return longer + sum(len(name.encode()) + _value(value) for name, value in item.items())


def _value(value: Mapping[str, Any]) -> int:
    [(kind, content)] = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return math.ceil(len(content) / 2) + 1
    if kind == "M":
        return 3 + sum(1 + len(n.encode()) + _value(v) for n, v in content.items())
    return 1


class Counter:
    """An interceptor that adds up a cost."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        self.cost = Cost()
        self.calls = Calls[str]()
        """By execution."""
        self.started: list[str] = []
        """Executions that the run started."""

    def add(self, execution: Execution) -> None:
        """What an execution took that has ended, besides its calls."""
        cost = self.cost
        cost.log_bytes += logged.bytes_of(logged.of_events(execution.arn, execution.events))
        cost.starts += 1
        if ":express:" not in execution.arn:
            cost.transitions += execution.transitions
            cost.traces += 1
            return
        cost.express_starts += 1
        states = execution.states
        logic = prices.LOGIC_MS * states.count("ExecuteBusinessLogic")
        ms = len(states) * prices.STATE_MS + self.calls[execution.arn] * prices.CALL_MS + logic
        cost.gigabyte_seconds += prices.express_gigabyte_seconds(ms)
        # The machine is not traced, but each function that it starts decides for itself.
        cost.traces += sum(state in ("ExecuteBusinessLogic", "CacheResponse") for state in states)

    def __call__(self, call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        self.calls[call.execution_arn] += 1
        match call.service, call.action:
            case "lambda", _:
                self.cost.invocations += 1
            case "s3", "put_object":
                self.cost.puts += 1
            case "s3", _:
                self.cost.gets += 1
            case "stepfunctions", "describe_execution":
                self.cost.describes += 1
            case "stepfunctions", "start_execution":
                answer = proceed()
                self.started.append(str(answer["executionArn"]))
                return answer
            case "dynamodb", "query":
                self.cost.read_units += 1
            case "dynamodb", _:
                return self.dynamodb(call.parameters["TableName"], call.parameters["Key"], call.action, proceed)
        return proceed()

    def dynamodb(
        self, table: str, key: dict[str, Any], action: str, proceed: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        old = self._item(table, key)
        before = size_of(old)
        if action == "get_item":
            self.cost.read_units += max(1, math.ceil(before / 4096))
            return proceed()
        try:
            answer = proceed()
        except ClientError:
            self.cost.write_units += max(1, math.ceil(before / 1024))
            raise
        new = self._item(table, key)
        index = _index_writes(old, new)
        self.cost.index_units += index
        self.cost.write_units += max(1, math.ceil(max(before, size_of(new)) / 1024)) + index
        return answer

    def _item(self, table: str, key: dict[str, Any]) -> dict[str, Any]:
        answer = self._cloud.client("dynamodb").get_item(TableName=table, Key=key, ConsistentRead=True)
        found: dict[str, Any] = answer.get("Item", {})
        return found


def _index_writes(old: Mapping[str, Any], new: Mapping[str, Any]) -> int:
    """A changed entry of `open-operations` costs a unit to remove and a unit to put."""
    before, after = ((i.get("openShard"), i.get("leaseExpiresAt")) for i in (old, new))
    return 0 if before == after else (before[0] is not None) + (after[0] is not None)
