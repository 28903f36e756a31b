"""What a run has left in the world, as documents that can be compared; and how the world of a struck run differs.

What changes from run to run without any fault - times, random ids, the number of the attempt - is found out by runs
that nothing disturbs, and is not a difference.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oncekit.contract.items import plain_item
from oncekit.local.account import ACCOUNT, REGION

if TYPE_CHECKING:
    from oncekit.testing.kit_cloud import TestCloud

OF_ONCE = ("TableName", "ResponseBucketName")
"""Outputs of Once that name what the library writes to by itself."""
ENTRANCES = ("RequestQueue", "RequestBus", "OperationStateMachine", "FastStateMachine")
"""Logical ids of what takes requests, among Once's own."""
SEEN_AS_CONTENTS = ("dynamodb", "s3", "http", "function", "lambda")
"""Services whose effects are what they hold, or what the functions do that are called."""
TELEMETRY = ("cloudwatch", "logs", "xray", "sts", "kms", "secretsmanager", "ssm", "firehose", "appconfigdata")
TOKENS = (
    *("MessageDeduplicationId", "ClientRequestToken", "ClientToken", "IdempotencyToken", "name"),
    *("clientRequestToken", "clientToken", "idempotencyToken"),
)
"""By these the service knows a second sending again."""
TIME = "a time"
COUNTS_ATTEMPTS = re.compile("attempt|fence|tries|try", re.IGNORECASE)
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_SECONDS, _MILLISECONDS = (1_500_000_000, 2_500_000_000), (1_500_000_000_000, 2_500_000_000_000)
"""Epoch times of the years 2017 to 2049. Two runs may be in the same second, and a third in the next."""


@dataclass(frozen=True)
class Document:
    """A thing in the world: an item, an object, a message, a request to another system, an answer."""

    place: str
    """Where it is: a table, a bucket, an action with its target, a URL."""
    fields: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, place: str, value: Any) -> Document:
        return cls(place, tuple(sorted(_flat(value))))


@dataclass(frozen=True)
class Difference:
    """What is not as it is without the fault."""

    kind: str
    """`twice`, `lost` or `differs`."""
    place: str
    what: str


def documents(cloud: TestCloud) -> list[Document]:
    """Everything that business logic has left."""
    return [*_items(cloud), *_objects(cloud), *_messages(cloud), *_outside(cloud)]


def _items(cloud: TestCloud) -> Iterator[Document]:
    from moto.dynamodb.models import dynamodb_backends

    for name, table in dynamodb_backends[ACCOUNT][REGION].tables.items():
        if name not in _of_once(cloud):
            place = logical(cloud, name)
            for item in table.all_items():
                yield Document.of(place, plain_item(item.to_json()["Attributes"]))


def _objects(cloud: TestCloud) -> Iterator[Document]:
    from moto.s3.models import s3_backends

    for name, bucket in s3_backends[ACCOUNT]["aws"].buckets.items():
        if name not in _of_once(cloud):
            place = logical(cloud, name)
            for key, content in bucket.keys.items():
                yield Document.of(place, {"key": key, "body": content.value.decode("utf-8", "replace")})


def _of_once(cloud: TestCloud) -> list[str]:
    return [cloud.once.outputs[each] for each in OF_ONCE]


def _messages(cloud: TestCloud) -> Iterator[Document]:
    """What was sent by services whose effects cannot be looked at afterwards."""
    known = set()
    entrances = [f'"{ref}"' for name in ENTRANCES if (ref := cloud.once.ref(name))]
    for call, done in list(cloud.watch.calls):
        if done and not call.is_read and call.service not in (*SEEN_AS_CONTENTS, *TELEMETRY):
            token = next((f"{call.action} {call.parameters[name]}" for name in TOKENS if name in call.parameters), None)
            if any(each in call.names for each in entrances):
                token = call.names  # the same request again is a duplicate, which Once answers
            if token is None or token not in known:
                known.add(token)
                yield Document.of(f"{call.service}.{call.action}", call.parameters)


def _outside(cloud: TestCloud) -> Iterator[Document]:
    from oncekit.testing.watch import SAFE_METHODS

    for sent in cloud.outside.sent:
        if sent.effect and sent.method not in SAFE_METHODS:
            yield Document.of(f"{sent.method} {sent.url}", _parsed(sent.body))


def logical(cloud: TestCloud, name: str) -> str:
    return next((logical for logical, ref in cloud.resources.items() if ref == name), name)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each value in it by its path. Texts that are JSON are looked into."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = _parsed(value)
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _flat(member, f"{path}.{name}" if path else str(name))
    elif isinstance(value, set | frozenset):
        yield from _flat(sorted(map(str, value)), path)
    elif isinstance(value, list | tuple):
        for number, member in enumerate(value):
            yield from _flat(member, f"{path}[{number}]")
    else:
        yield path, TIME if _is_a_time(str(value)) else str(value)


def _is_a_time(text: str) -> bool:
    if not re.fullmatch(r"\d{10,16}(\.\d+)?", text):
        return _ISO.match(text) is not None
    return any(least <= float(text) <= most for least, most in (_SECONDS, _MILLISECONDS))


# ---- comparing ----


class Usual:
    """What a request leaves when nothing goes wrong, by several runs of it; in the last one by a second attempt."""

    def __init__(self, runs: Sequence[Sequence[Document]], before: Sequence[Document]) -> None:
        self._documents = list(runs[0])
        self._before = list(before)
        *undisturbed, second_attempt = runs[1:]
        self._varying = {each for run in undisturbed for each in _varying(self._documents, run)}
        self._varying |= set(_of_attempts(self._documents, second_attempt))

    @property
    def places(self) -> list[str]:
        """Where it leaves something, takes something away, or changes it."""
        was, now = Counter(self._before), Counter(self._documents)
        return sorted({each.place for each in (now - was) + (was - now)})

    def differences(self, found: Sequence[Document]) -> Iterator[Difference]:
        """How another run differs from it."""
        for place in sorted({each.place for each in [*self._documents, *found]}):
            usual, now = self._masked(self._documents, place), self._masked(found, place)
            if usual == now:
                continue
            counts = usual.total(), now.total()
            if counts[0] != counts[1]:
                kind = "twice" if counts[1] > counts[0] else "lost"
                yield Difference(kind, place, f"{counts[1]} instead of {counts[0]}")
            else:
                yield self._changed(place, sorted(usual - now), sorted(now - usual))

    def _changed(self, place: str, usual: Sequence[Any], now: Sequence[Any]) -> Difference:
        for one, other in zip(usual, now, strict=False):
            was, is_now = dict(one), dict(other)
            for path in sorted({*was, *is_now}):
                if was.get(path) != is_now.get(path):
                    kind = self._direction(place, path, was.get(path), is_now.get(path))
                    told = f"{path or 'it'} is {is_now.get(path, 'not there')}, not {was.get(path, 'absent')}"
                    return Difference(kind, place, told)
        raise AssertionError

    def _direction(self, place: str, path: str, was: str | None, is_now: str | None) -> str:
        """Of a number: whether it went further than usual, or not so far. Of a member: whether it is one more."""
        if was is None or is_now is None:
            return "twice" if was is None else "lost"
        if " " in place:  # a request to another system is not a counter
            return "differs"
        try:
            starts = {
                float(dict(each.fields)[path])
                for each in self._before
                if each.place == place and path in dict(each.fields)
            }
            start = starts.pop() if len(starts) == 1 else 0.0
            return "twice" if abs(float(is_now) - start) > abs(float(was) - start) else "lost"
        except ValueError:
            return "differs"

    def _masked(self, documents: Iterable[Document], place: str) -> Counter[Any]:
        return Counter(
            tuple((path, "*" if (place, path) in self._varying else value) for path, value in each.fields)
            for each in documents
            if each.place == place
        )


def _varying(one: Iterable[Document], other: Iterable[Document]) -> Iterator[tuple[str, str]]:
    """Where two runs have other values, as many of them."""
    values = [_by_path(one), _by_path(other)]
    for where in values[0].keys() & values[1].keys():
        if values[0][where] != values[1][where] and values[0][where].total() == values[1][where].total():
            yield where


def _of_attempts(first: Sequence[Document], second: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """What differs because it is the second attempt, which is not an effect. A number is one that is named so."""
    values = [_by_path(first), _by_path(second)]
    for place, path in _varying(first, second):
        texts = [*values[0][place, path], *values[1][place, path]]
        if COUNTS_ATTEMPTS.search(path) or not all(_is_number(text) for text in texts):
            yield place, path


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


def _by_path(documents: Iterable[Document]) -> dict[tuple[str, str], Counter[str]]:
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for each in documents:
        for path, value in each.fields:
            found[each.place, path][value] += 1
    return found
