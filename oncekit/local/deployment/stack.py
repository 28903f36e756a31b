"""What a deployment has made: of a template, and of the applications inside of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.deployment.resources import Deployed
from oncekit.local.lambda_runtime.spec import FunctionSpec


@dataclass(frozen=True)
class Application:
    """What one template has made, without what is in the applications inside of it."""

    name: str
    """The value of AWS::StackName."""
    resources: Mapping[str, Deployed]
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]
    inside: Mapping[str, Application]
    """By logical id."""

    @property
    def id(self) -> str:
        return stack_id(self.name)

    def ref(self, logical_id: str) -> str | None:
        made = self.resources.get(logical_id)
        return made.ref if made and made.ref else None

    def all(self) -> Iterator[Application]:
        """Itself, and those inside of it."""
        yield self
        for each in self.inside.values():
            yield from each.all()

    def telling(self, told: Callable[[str], str]) -> Application:
        """With its outputs as they are told."""
        outputs = {name: told(value) for name, value in self.outputs.items()}
        return replace(self, outputs=outputs, inside={name: each.telling(told) for name, each in self.inside.items()})


NOTHING = Application("", {}, {}, {}, {})


def stack_id(name: str) -> str:
    return f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{name}/local"


@dataclass(frozen=True)
class Stack:
    """The result of a deployment."""

    resources: Mapping[str, Deployed]
    outputs: Mapping[str, str]
    functions: Mapping[str, FunctionSpec]
    """By physical name."""
    parameters: Mapping[str, str]
    """Those of the template, and those of the applications inside it where it has none of the name."""
    layers: Mapping[str, Path]
    """The folder that is /opt/python of each, by ARN."""
    root: Application = NOTHING
    unread: Mapping[str, str] = field(default_factory=dict)
    """What cannot be read here, by logical id, with its type and the reason: others know its name, nothing else."""
    unread_refs: Mapping[str, str] = field(default_factory=dict)
    """The names that others know, by logical id."""

    def without(self, unread: Mapping[str, str]) -> Stack:
        """It, where these are unread, too."""
        resources = {name: each for name, each in self.resources.items() if name not in unread}
        return replace(self, resources=resources, unread={**self.unread, **unread})
