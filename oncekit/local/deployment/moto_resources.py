"""Resources that moto makes, each by the class that its own CloudFormation uses, with what they hold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.deployment.resources import Deployed, moto_model, stand_in
from oncekit.local.templates.intrinsics import TemplateError

_TABLE = "AWS::DynamoDB::Table"
_TOPIC = "AWS::SNS::Topic"
_CONTENTS = {
    _TABLE: ("items",),
    "AWS::S3::Bucket": ("keys",),
    "AWS::SQS::Queue": ("_messages", "_pending_messages", "deleted_messages"),
}
"""The attributes of moto's models."""
_MOST = 500
"""Characters of what moto says; what is wrong comes first, and after it, for one, all of a definition."""


@contextmanager
def faults_named(logical_id: str, kind: str) -> Iterator[None]:
    """What moto refuses or fails on is said with the resource. Only moto's own work belongs inside."""
    try:
        yield
    except Exception as error:  # its models fail with anything on what they do not expect, such as AttributeError
        told = f"{type(error).__name__}: {error}"[:_MOST]
        raise TemplateError(
            f"{logical_id} ({kind}): moto, which plays its service here, fails on it: {told}"
        ) from error


def make(kind: str, logical_id: str, name: str, properties: Mapping[str, Any], held: Mapping[str, Any]) -> Any:
    """Moto's model of a resource, with the contents that an earlier one held. Raises TemplateError."""
    given = {"Properties": copy.deepcopy(dict(properties))}
    given["Properties"].pop("SSESpecification", None)  # for which moto loads KMS and makes a key that encrypts nothing
    with faults_named(logical_id, kind):
        if kind == _TOPIC:
            made = _new_topic(name, given["Properties"])
        else:
            made = moto_model(kind).create_from_cloudformation_json(name, given, ACCOUNT, REGION)
        for attribute, content in held.items():
            setattr(_models(kind)[_name(made.physical_resource_id)], attribute, content)
    return made


def reader(made: Any, kind: str, logical_id: str) -> Callable[[str], str]:
    """Gives the attributes of moto's model; of one that moto has not, a name that stands for it."""

    def read(name: str) -> str:
        try:
            return str(made.get_cfn_attribute(name))
        except Exception:  # one of its own for each service, or anything that its model fails on
            return stand_in(kind, logical_id, name)

    return read


def _new_topic(name: str, properties: Mapping[str, Any]) -> Any:
    """As moto's own model, which is told before 5.2 of no property: it took no FIFO topic.

    Its subscriptions are made by `events/topics.py`.
    """
    from moto.sns.models import sns_backends

    return sns_backends[ACCOUNT][REGION].create_topic(name, properties)


def delete(logical_id: str, known: Deployed) -> Mapping[str, Any]:
    """Delete a resource, and give what it held. Raises TemplateError."""
    with faults_named(logical_id, known.type):
        held = _taken(known.type, known.ref)
        given = {"Properties": known.properties}
        moto_model(known.type).delete_from_cloudformation_json(known.ref, given, ACCOUNT, REGION)
    return held


def count_items(table: str) -> int:
    """The number of items in a DynamoDB table."""
    from oncekit.local.engine.dynamodb import DYNAMODB_LOCK

    with DYNAMODB_LOCK:
        return len(_models(_TABLE)[table])


def items_with(table: str, attribute: str) -> list[dict[str, Any]]:
    """The items of a table that has a partition key alone, and which have an attribute."""
    from oncekit.local.engine.dynamodb import DYNAMODB_LOCK

    with DYNAMODB_LOCK:
        found = [item for item in _models(_TABLE)[table].items.values() if attribute in item.attrs]
        return [item.to_json()["Attributes"] for item in found]


def items_of(table: str) -> list[dict[str, Any]]:
    """The items of a table that has a partition key alone, as the API gives them.

    Read where they are: a scan takes seconds for a few thousand.
    """
    from oncekit.local.engine.dynamodb import DYNAMODB_LOCK

    with DYNAMODB_LOCK:
        return [item.to_json()["Attributes"] for item in _models(_TABLE)[table].items.values()]


def count_messages(queue: str) -> int:
    """The number of messages in a queue, given its URL; those included that somebody looks at."""
    return len(_models("AWS::SQS::Queue")[_name(queue)]._messages)


def empty_everything() -> None:
    """Uses moto's backends directly: through their APIs it would take longer than most tests."""
    from oncekit.local.engine.dynamodb import forget_tokens

    forget_tokens()
    for _, model, attribute in containers():
        getattr(model, attribute).clear()


def containers() -> Iterator[tuple[str, Any, str]]:
    """Where moto keeps what is in tables, buckets and queues: the name of each, its model, an attribute of this."""
    for kind, attributes in _CONTENTS.items():
        for name, model in _models(kind).items():
            yield from ((name, model, attribute) for attribute in attributes)


def _taken(kind: str, ref: str) -> Mapping[str, Any]:
    """What a resource held, by attribute; afterwards it is empty, and may be deleted."""
    if kind not in _CONTENTS:
        return {}
    model = _models(kind)[_name(ref)]
    if kind == _TABLE:
        model.deletion_protection_enabled = False  # nothing is deleted: it is made again, with what it held
    held = {attribute: getattr(model, attribute) for attribute in _CONTENTS[kind]}
    for attribute, content in held.items():
        setattr(model, attribute, type(content)())
    return held


def _name(ref: str) -> str:
    """The Ref of a queue is its URL."""
    return ref.rpartition("/")[2]


def _models(kind: str) -> Mapping[str, Any]:
    """moto's tables, buckets or queues, by name."""
    from moto.dynamodb.models import dynamodb_backends
    from moto.s3.models import s3_backends
    from moto.sqs.models import sqs_backends

    models: Mapping[str, Mapping[str, Any]] = {
        _TABLE: dynamodb_backends[ACCOUNT][REGION].tables,
        "AWS::S3::Bucket": s3_backends[ACCOUNT]["aws"].buckets,
        "AWS::SQS::Queue": sqs_backends[ACCOUNT][REGION].queues,
    }
    return models[kind]
