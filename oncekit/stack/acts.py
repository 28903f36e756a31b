"""Who decided what about an operation, as its record keeps it: the newest decisions, in 500 bytes.

They are in the attribute `decisions`, {verb, at, who, because, owner}, the oldest first. No machine and no function
writes it, so it is there after the next request, too, for as long as the record is. `owner` is the name of the
execution whose lock it was, if that was one that has a history: the record's own owner is the operator from then on.
"""

from __future__ import annotations

import getpass
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from oncekit.console.decided import decisions
from oncekit.contract.quotas import MOST_INLINE_BYTES
from oncekit.contract.words import OPERATOR
from oncekit.problem import Problem
from oncekit.stack.records import Record
from oncekit.stack.stack import Stack

ATTRIBUTE = "decisions"
Verb = Literal["retry", "resolve", "fail", "release", "forget"]
"""`resolve` gives a result, `fail` says that it failed."""
MOST_BYTES = 500
"""Of all that is kept; beside a request or an answer of the most bytes there is room for no more."""
RESERVED = 620
"""Bytes of an error, and of a longer owner than an operator's, which an open record may still get."""
LONGEST_WHO, LEAST_OF_WHO = 180, 24
"""Characters. The ARN of a session has at most 175; a user's may have a long path before the name."""


def with_act(
    stack: Stack, record: Record, verb: Verb, at: str, because: str | None, sets: Mapping[str, Any]
) -> dict[str, Any]:
    """What a decision sets, and itself among the newest that the record keeps.

    The record stays within its 4 KiB; beside a request of the most bytes, and with the longest names, it may be some 30
    bytes over. The next request under the key finds the decisions, and may be as large as ever: then it is up to 500
    bytes over, and a write that is refused costs one unit more.
    Raises Problem for a reason that does not fit.
    """
    then = {**record, **sets}
    is_open = then["status"] == "IN_PROGRESS"
    left = MOST_INLINE_BYTES - _bytes({name: then[name] for name in then if name not in (ATTRIBUTE, "steps", "error")})
    room = min(MOST_BYTES, left - RESERVED) if is_open else MOST_BYTES
    act = {"verb": verb, "at": at, "who": _shortened(who(stack), LONGEST_WHO)}
    if because and any("\ud800" <= each <= "\udfff" for each in because):  # as bytes that are not UTF-8 come
        raise Problem(f"{record['id']}: the reason has bytes that are not UTF-8")
    if because and (longest := room - _bytes([{**act, "because": ""}])) < (size := _bytes(because) - len('""')):
        raise Problem(f"{record['id']}: the reason has {size:,} bytes, and the record has room for {max(0, longest):,}")
    if because:
        act["because"] = because
    if stack.has_execution(record["owner"]) and OPERATOR not in record["owner"]:
        name = record["owner"].rpartition(":")[2]
        act |= {"owner": name} if _bytes([{**act, "owner": name}]) <= room else {}
    if not because and (over := _bytes([act]) - room) > 0:  # beside a request of the most bytes
        act["who"] = _shortened(act["who"], max(LEAST_OF_WHO, len(act["who"]) - over))
    kept = [act]
    # Whoever forgets a request forgets why others decided, too: a reason may name a person.
    for each in reversed(before(record) if verb != "forget" else ()):
        if _bytes([each, *kept]) > room:
            break
        kept.insert(0, each)
    return {**sets, ATTRIBUTE: kept}


def before(record: Record) -> Sequence[dict[str, str]]:
    """The decisions that a record names, as texts."""
    return [{name: str(value) for name, value in each.items()} for each in decisions(record)]


def who(stack: Stack) -> str:
    """The caller's ARN, which AWS tells whoever calls, without any permission
    (docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html); here the user's name.
    """
    if stack.is_local:
        return _user()
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    # Total attempts include the first one (botocore's reference of Config); each address is tried for so long.
    briefly = Config(connect_timeout=2, read_timeout=3, retries={"total_max_attempts": 1})
    try:
        return str(stack.session.client("sts", config=briefly).get_caller_identity()["Arn"])
    except (BotoCoreError, ClientError):  # a network may lead to DynamoDB and not to STS: who decides is not kept back
        return f"{_user()}, by the name on this machine: STS did not answer"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container, a user may have no name
        return "unknown"


def _shortened(text: str, longest: int) -> str:
    """Its end says more: the name of a user, or of a session."""
    return text if len(text) <= longest else f"…{text[-longest + 1 :]}"


def _bytes(value: Any) -> int:
    """Never less than DynamoDB counts."""
    return len(json.dumps(value, ensure_ascii=False, default=str).encode())
