"""Alarms that CloudWatch does not make.

An alarm on a math expression takes at most 10 metrics: *Alarm data queries* in CloudWatch's user guide, "A math
expression used for an alarm can include as many as 10 metrics". Beyond that the deployment fails, and nothing before it
says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.finding import Finding
from gate.project import ALARM, Project

MOST_METRICS = 10


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
