"""Input templates of pipes that no execution can be started with.

A pipe takes a body that is JSON apart before it fills the template. A path that is the whole template is then filled in
without quotes: *Input transformation* in EventBridge's user guide, under "Implicit body data parsing", says that a body
`{"key": "value"}` arrives as `"{key: value}"`, that a state machine cannot be started with that, and to give the path
as a member. Nothing looks at the template when the pipe is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from oncekit.gate.finding import Finding
from oncekit.gate.project import Project

PIPE = "AWS::Pipes::Pipe"
_BARE = re.compile(r"\s*<[^<>]*>\s*")


def check(project: Project) -> Iterator[Finding]:
    for name, properties in project.resources(PIPE).items():
        template = properties.get("TargetParameters", {}).get("InputTemplate")
        if isinstance(template, str) and _BARE.fullmatch(template):
            path = template.strip()
            yield Finding(
                project.path.name,
                name,
                f"its InputTemplate is the path {path} alone, and a body that is JSON loses its quotes there; "
                f'write {{"body": {path}}}, and unwrap it',
            )
