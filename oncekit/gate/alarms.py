"""Alarms that CloudWatch does not make, and alarms that do not end.

An alarm on a math expression takes at most 10 metrics: *Alarm data queries* in CloudWatch's user guide, "A math
expression used for an alarm can include as many as 10 metrics". Beyond that the deployment fails, and nothing before it
says so.

An alarm on a metric of DynamoDB stays as it is while the metric has no point, whatever its TreatMissingData says
(*PutMetricAlarm*: such alarms "always ignore missing data"). Throttles and errors have points only when there are some:
after the first incident the alarm would be in alarm for good, and the second would tell nobody. FILL makes the points.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.gate.finding import Finding
from oncekit.gate.project import ALARM, Project

MOST_METRICS = 10
DYNAMODB = "AWS/DynamoDB"


def check(project: Project) -> Iterator[Finding]:
    for name, properties in project.resources(ALARM).items():
        count = sum("MetricStat" in each for each in properties.get("Metrics", ()))
        if count > MOST_METRICS:
            yield Finding(
                project.path.name,
                name,
                f"it looks at {count} metrics, and CloudWatch makes no alarm of more than {MOST_METRICS}; make an "
                "alarm for each of what they are of",
            )
        for metric in _without_points(properties):
            yield Finding(
                project.path.name,
                name,
                f"it stays in alarm when DynamoDB stops counting {metric}, which then has no points; put FILL(..., 0) "
                "around each metric in its expression",
            )


def _without_points(alarm: Mapping[str, Any]) -> Iterator[str]:
    """Metrics of DynamoDB whose gaps nothing fills."""
    if alarm.get("Namespace") == DYNAMODB:
        yield str(alarm["MetricName"])
    expressions = " ".join(str(each.get("Expression", "")) for each in alarm.get("Metrics", ()))
    for each in alarm.get("Metrics", ()):
        metric = each.get("MetricStat", {}).get("Metric", {})
        if metric.get("Namespace") == DYNAMODB and not re.search(rf"\bFILL\(\s*{each['Id']}\s*,", expressions):
            yield str(metric["MetricName"])
