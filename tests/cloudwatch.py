"""What CloudWatch makes of metrics: the states of an alarm, and what a filter counts in a log.

By *Using Amazon CloudWatch alarms*. How far back an alarm looks for what is missing in its newest periods is in no
document; here it looks no further than its own periods. What the template does not use is an error.
"""

from __future__ import annotations

import fnmatch
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

STATISTICS: Mapping[str, Callable[[list[float]], float]] = {
    "Sum": sum,
    "Maximum": max,
    "Minimum": min,
}
COMPARISONS = {
    "GreaterThanThreshold": operator.gt,
}


class Metrics:
    """Values by metric, which is a namespace, a name and exactly these dimensions, and by minute."""

    def __init__(self) -> None:
        self._values: dict[Any, dict[int, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
        self.latest = self.last = 0
        """Minutes after which a value came, at most, and the last minute that has one."""

    def put(
        self, minute: int, namespace: str, name: str, *values: float, dimensions: Mapping[str, str], late: int = 0
    ) -> None:
        """`late` is how many minutes after theirs CloudWatch gets the values."""
        self.latest, self.last = max(self.latest, late), max(self.last, minute)
        self._values[namespace, name, frozenset(dimensions.items())][minute] += [(late, each) for each in values]

    def value(self, query: Mapping[str, Any], end: int, now: int) -> float | None:
        """The value of a metric in the period that ends with a minute, as far as it is known; None where none is."""
        metric, statistic = query["Metric"], STATISTICS[query["Stat"]]
        dimensions = frozenset((each["Name"], each["Value"]) for each in metric.get("Dimensions", ()))
        by_minute = self._values.get((metric["Namespace"], metric["MetricName"], dimensions), {})
        period = range(end - int(query["Period"]) // 60 + 1, end + 1)
        found = [value for each in period for late, value in by_minute.get(each, ()) if each + late <= now]
        return statistic(found) if found else None


def states(alarm: Mapping[str, Any], metrics: Metrics, minutes: int) -> list[str]:
    """The state of an alarm at the end of each minute: its periods end with the minute in which it is evaluated."""
    queries = {each["Id"]: each["MetricStat"] for each in alarm.get("Metrics", ()) if "MetricStat" in each}
    if "Metrics" not in alarm:
        metric = {name: alarm[name] for name in ("Namespace", "MetricName", "Dimensions") if name in alarm}
        queries = {"only": {"Metric": metric, "Period": alarm["Period"], "Stat": alarm["Statistic"]}}
    [expression] = [each["Expression"] for each in alarm.get("Metrics", ()) if each.get("ReturnData", True)] or ["only"]
    used = set(queries) if "METRICS()" in expression else set(re.findall(r"\w+", expression))
    [period] = {int(each["Period"]) // 60 for each in queries.values()}
    count = int(alarm["EvaluationPeriods"])
    needed, breaches = int(alarm.get("DatapointsToAlarm", count)), COMPARISONS[alarm["ComparisonOperator"]]
    missing = alarm.get("TreatMissingData", "missing")
    if any(each["Metric"]["Namespace"] == "AWS/DynamoDB" for each in queries.values()):
        missing = "ignore"  # whatever it says
    known: dict[tuple[int, int], float | None] = {}

    def point(end: int, now: int) -> float | None:
        place = (end, min(now - end, metrics.latest))
        if place not in known:
            found = {id: metrics.value(query, end, now) for id, query in queries.items()}
            there = any(each is not None for id, each in found.items() if id in used)
            known[place] = calculated(expression, {id: each or 0.0 for id, each in found.items()}) if there else None
        return known[place]

    state, all_states = "INSUFFICIENT_DATA", []
    for now in range(minutes):
        points = [point(now - number * period, now) for number in range(count)]
        breaching = sum(each is not None and breaches(each, float(alarm["Threshold"])) for each in points)
        unknown = points.count(None)
        if breaching + unknown * (missing == "breaching") >= needed:
            state = "ALARM"
        elif missing == "ignore" and unknown and breaching + unknown >= needed:
            pass
        else:
            state = "INSUFFICIENT_DATA" if missing == "missing" and unknown == count else "OK"
        all_states.append(state)
    return all_states


def calculated(expression: str, values: Mapping[str, float]) -> float:
    """A metric that has no value counts as 0, where another one has."""
    functions = {"SUM": sum, "METRICS": lambda: list(values.values())}
    return float(eval(expression, {"__builtins__": {}}, {**functions, **values}))


def counts(pattern: str, event: Mapping[str, Any]) -> bool:
    """Whether a metric filter counts an event of a log; only what documents describe for fields that are missing."""
    assert "!=" not in pattern, "whether it matches a field that is missing is in no document"

    def is_there(found: re.Match[str]) -> str:
        path, wanted = found.groups()
        value: Any = event
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return str(isinstance(value, str) and fnmatch.fnmatchcase(value, wanted))

    said = re.sub(r'\$\.([\w.]+) = "([^"]*)"', is_there, pattern.strip().removeprefix("{").removesuffix("}"))
    return bool(eval(said.strip().replace("&&", " and ").replace("||", " or "), {"__builtins__": {}}))
