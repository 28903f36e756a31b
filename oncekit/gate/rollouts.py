"""Alarms on rollouts that stop the wrong one, or none.

Such an alarm compares the metrics of a new version with those of the alias. Once a rollout is over, all that the alias
starts belongs to the new version: there is nothing to compare with, and an alarm that goes off on ordinary failures
then is still in alarm when the next rollout begins, and stops it. While a rollout is under way a metric may have no
point: nothing started, or a point was lost. An expression without FILL has none then either, and is blind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.gate.finding import Finding
from oncekit.gate.metric_math import UnknownMath, evaluate
from oncekit.gate.project import ALARM, Project

VERSION = {"Version", "ExecutedVersion"}
"""Dimensions of one version's metrics."""
COUNTS = {"Errors": "failed", "ExecutionsFailed": "failed", "Invocations": "started", "ExecutionsStarted": "started"}
MANY = 1e9
"""More failures than any threshold bears."""

_FAILS = {"new failed": MANY, "new started": MANY, "all failed": MANY, "all started": 10 * MANY}
SITUATIONS: tuple[tuple[Mapping[str, float | None], bool, str], ...] = (
    (
        {**_FAILS, "all started": MANY},
        False,
        "goes off when no rollout is under way and requests fail, and stops the next one; "
        "ask that the alias started more than the new version",
    ),
    ({**_FAILS, "all failed": 10 * MANY}, False, "goes off when both versions fail alike; compare their shares"),
    (_FAILS, True, "does not go off when only the new version fails; compare its share of failures"),
    (
        {**_FAILS, "new started": None},
        True,
        "is blind when the new version fails in minutes in which it starts nothing; put FILL(..., 0) around what it "
        "started",
    ),
    (
        {**_FAILS, "all failed": None},
        False,
        "goes off when the alias's failures lack a point; ask that they are not fewer than the new version's",
    ),
)


def check(project: Project) -> Iterator[Finding]:
    for name, properties in project.resources(ALARM).items():
        ids = _ids(properties)
        if any(each.startswith("new ") for each in ids.values()):
            for problem in _problems(project, properties, ids):
                yield Finding(project.path.name, name, problem)


def _ids(alarm: Mapping[str, Any]) -> dict[str, str]:
    """What the metrics of an alarm count, by their ids: `new failed`, `all started`..."""
    found = {}
    for each in alarm.get("Metrics", ()):
        metric = each.get("MetricStat", {}).get("Metric", {})
        dimensions = {of["Name"] for of in metric.get("Dimensions", ())}
        if metric.get("MetricName") in COUNTS:
            found[each["Id"]] = f"{'new' if dimensions & VERSION else 'all'} {COUNTS[metric['MetricName']]}"
    return found


def _problems(project: Project, alarm: Mapping[str, Any], ids: Mapping[str, str]) -> Iterator[str]:
    [written] = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
    resolver = project.resolver()
    expression, threshold = str(resolver.resolve(written)), float(resolver.resolve(alarm["Threshold"]))
    for counts, rings, problem in SITUATIONS:
        try:
            point = evaluate(expression, {each: counts[what] for each, what in ids.items()})
        except UnknownMath as error:
            yield (
                f"its expression has {error}, which oncekit/gate/metric_math.py does not know; "
                "write it otherwise, or add it"
            )
            return
        if (point is not None and point > threshold) is not rings:
            yield f"it {problem}"
