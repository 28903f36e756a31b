"""Answers that somebody could put another in the place of: the bucket's policy lets each be written once.

"Enforce conditional writes on Amazon S3 buckets" in S3's user guide has the two conditions: `s3:if-none-match`, and
`s3:ObjectCreationOperation`, without which no multipart upload would be possible, whose parts take no such header.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.gate.finding import Finding
from oncekit.gate.project import Project

POLICY = "AWS::S3::BucketPolicy"
ANSWERS = "/responses/*"
ONCE = {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}}


def check(project: Project) -> Iterator[Finding]:
    for name, properties in project.resources(POLICY).items():
        if not any(map(_lets_answers_be_written_once, properties["PolicyDocument"]["Statement"])):
            yield Finding(
                project.path.name,
                name,
                f"lets an answer be overwritten; deny s3:PutObject on {ANSWERS.lstrip('/')} to everyone, on {ONCE}",
            )


def _lets_answers_be_written_once(statement: Mapping[str, Any]) -> bool:
    resource = statement["Resource"]
    place = resource.get("Fn::Sub", "") if isinstance(resource, Mapping) else resource
    return (
        (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:PutObject")
        and str(place).endswith(ANSWERS)
        and statement.get("Condition") == ONCE
    )
