"""What a test has put into the cloud: kept, and put there again before each run."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oncekit.local.account import ACCOUNT, REGION

if TYPE_CHECKING:
    from oncekit.local.lambda_runtime import FunctionSpec
    from oncekit.testing.cloud import TestCloud


@dataclass(frozen=True)
class Contents:
    """Items, objects, messages, and functions that the test has added."""

    held: dict[tuple[str, str], Any]
    """By kind and name: moto's own containers."""
    functions: dict[str, FunctionSpec]

    @classmethod
    def of(cls, cloud: TestCloud) -> Contents:
        held = {place: deepcopy(content) for place, (_, _, content) in _containers().items()}
        return cls(held, {name: cloud.functions.functions[name] for name in cloud.added})

    def put_into(self, cloud: TestCloud) -> None:
        """The cloud has these contents, and nothing else."""
        cloud.reset()
        for name, spec in self.functions.items():
            cloud.register_function(name, spec)
        for place, (model, attribute, _) in _containers().items():
            if self.held.get(place):
                setattr(model, attribute, deepcopy(self.held[place]))


def _containers() -> dict[tuple[str, str], tuple[Any, str, Any]]:
    """Where moto keeps what is in tables, buckets and queues."""
    from moto.dynamodb.models import dynamodb_backends
    from moto.s3.models import s3_backends
    from moto.sqs.models import sqs_backends

    kinds = {
        "items": dynamodb_backends[ACCOUNT][REGION].tables,
        "keys": s3_backends[ACCOUNT]["aws"].buckets,
        "_messages": sqs_backends[ACCOUNT][REGION].queues,
    }
    return {
        (attribute, name): (model, attribute, getattr(model, attribute))
        for attribute, models in kinds.items()
        for name, model in models.items()
    }
