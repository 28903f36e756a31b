"""Odd values for Hypothesis: what a producer, a function or a sender may write where a sane value belongs.

The oracle says docs/request.md once more, and nothing of it is taken from the definition. Sizes are left to examples.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from invariants import invariants_hold

from oncekit.local import LocalCloud
from oncekit.local.engine.service_calls import Call

OPERATION = "event-echo"
"""The one operation that has a function; the function returns its event."""
FUNCTION = Path(__file__).parents[1] / "functions" / "event_echo"
REQUEST = {"tenant": "acme", "operation": OPERATION, "idempotencyKey": "k", "payload": {"n": 1}}
BUSINESS = "ExecuteBusinessLogic"
REFUSALS = {"InvalidRequest", "PayloadMismatch", "Unavailable"}
ENDS = {None, *REFUSALS, "OperationInProgress", "OperationFailed", "NeedsAttention", "LockLost"}
"""Errors of the ends that an execution has; none of those that succeed."""
FIELDS = ("operation", "tenant", "idempotencyKey", "payload", "onConflict", "onCrash", "onFailed")
POLICIES = {
    "onConflict": ("acknowledge", "reject", "wait"),
    "onCrash": ("retry", "quarantine"),
    "onFailed": ("replay", "retry"),
}
ONCE = ("operation", "onCrash", "key", "payload")
SPLICES = (
    *("{% $states.input %}", "{%", "${TableName}", "' & $uuid() & '", '" & $eval("1") & "', "$$.owner", "\\u0000"),
    *("#owner", ":me", "attribute_not_exists(id)", "__proto__", "../../requests/", "acme#event-echo#k", "%22", "%2F"),
    *('","tenant":"other', '\\","tenant\\":\\"other', '"}}","name":"x', "\\u0022,\\u0022tenant", "%00", "+", "\\"),
    *("$input.body", "#set($tenant = 1)", "#end##", "$util.urlDecode('%22')", "'", '"', "\x1b[2J", "\u2028", "\u202e"),
)
"""What would be an expression, a name, a path, a template or a member of JSON, where it is put in as it is."""
texts = st.one_of(
    st.text(max_size=6), st.sampled_from(SPLICES), st.builds("{}{}".format, st.text(max_size=3), st.text())
)
halves = st.sampled_from(("\ud800", "a\udfff", "\ude80\ud83d"))
numbers = st.one_of(
    st.sampled_from((0, -0.0, 0.1 + 0.2, 1e21, 5e-324, 1.7976931348623157e308, 2.0**53 + 2, 123456789012345680.0)),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
)
names = st.one_of(st.sampled_from((*FIELDS, "body", "http", "onceResult", "onceResultRef", "constructor", "")), texts)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts, halves),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(names, values, max_size=3)
no_names = st.sampled_from(("x" * 41, "A", "0a", "a#b", "a\n", "", "-a", "a_b", "ä", "../x", " a"))
keys = st.one_of(texts, st.sampled_from(("k", "k" * 256, "k" * 257, "\U0001f600" * 256, "a\u200bb", "")))


def cases(few: int) -> settings:
    """So many examples, the same ones in each run; with CASES=n in the environment n that nobody has seen yet.

    Of a MUTANT nobody wants the smallest example that fails.
    """
    asked = os.environ.get("CASES")
    at_once = {Phase.explicit, Phase.generate}
    unhelpful = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=int(asked or few),
        derandomize=not asked,
        database=None,
        deadline=None,
        phases=at_once if "MUTANT" in os.environ else tuple(Phase),
        print_blob=True,
        suppress_health_check=unhelpful,
    )


def nested(levels: int, inner: Any) -> Any:
    for level in range(levels):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A request that has all it needs."""
    policies = {name: st.sampled_from(values) for name, values in POLICIES.items()}
    needed = {"operation": st.just(OPERATION), "idempotencyKey": st.just("k"), "payload": objects}
    found: dict[str, Any] = draw(st.fixed_dictionaries(needed, optional={"tenant": st.just("acme"), **policies}))
    return found


@st.composite
def passed_on(draw: st.DrawFn, request: dict[str, Any]) -> Any:
    """By a rule or a pipe: what came, which has a key and a payload somewhere, and beside it where they are."""
    key = _mostly(draw, request.get("idempotencyKey"), values)
    order = _mostly(draw, {"of": request.get("payload"), "id": key}, values)
    came = _mostly(draw, {"id": key, "order": order, "source": "shop", "detail": order}, values)
    paths = st.lists(st.one_of(st.sampled_from(("id", "order", "of", "detail")), names), max_size=3)
    once = {
        "operation": request.get("operation"),
        "onCrash": request.get("onCrash", "retry"),
        "key": _mostly(draw, draw(st.sampled_from((["id"], ["order", "id"]))), paths),
        "payload": _mostly(draw, draw(st.sampled_from(([], ["order"], ["order", "of"]))), paths),
    }
    once |= _mostly(draw, {}, st.builds(lambda name, value: {name: value}, st.sampled_from(ONCE), values))
    beside = _mostly(draw, {}, st.sampled_from(({"x": 1}, {"http": {}}, {"tenant": "acme"})))
    return {draw(st.sampled_from(("event", "body"))): came, "once": once, **beside}


def _mostly(draw: st.DrawFn, sane: Any, odd: st.SearchStrategy[Any]) -> Any:
    return draw(odd) if draw(st.integers(0, 9)) == 7 else sane


@st.composite
def inputs(draw: st.DrawFn) -> Any:
    """The input of an execution: a request, mostly with one thing in it that is odd, alone or in an envelope."""
    request = draw(requests())
    odd = draw(
        st.one_of(
            st.just({}),
            st.builds(lambda key: {"idempotencyKey": key}, keys),
            st.builds(lambda name, value: {name: value}, st.sampled_from((*FIELDS, "body", "extra")), values),
            st.builds(lambda field, name: {field: name}, st.sampled_from(FIELDS[:2]), no_names),
            st.builds(lambda levels: {"payload": nested(levels * 2, 1)}, st.integers(4, 7)),
        )
    )
    less = draw(st.one_of(st.none(), st.none(), st.sampled_from(FIELDS)))
    given = {name: value for name, value in {**request, **odd}.items() if name != less}
    around = draw(st.integers(0, 16))
    if around > 11:
        passed = draw(passed_on(given))
        return json.loads(json.dumps([passed] if around % 2 else passed))
    wrapped = {7: {"body": given}, 8: {"body": given, "x": 1}, 9: [given], 10: [given, given], 11: draw(values)}
    return json.loads(json.dumps(wrapped.get(around, given)))  # two halves that meet are one character


# ---- what docs/request.md says of it ----

MOST = 2**53 - 1
NAME = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]")
"""What a key or a message must not have: whoever reads it would not see it, or see something else."""


def opened(given: Any) -> Any:
    """The request in an execution's input; None where there is not just one."""
    if isinstance(given, list):
        given = given[0] if len(given) == 1 else None
    if isinstance(given, dict) and "once" in given:
        return picked(given, given["once"])
    if isinstance(given, dict) and "body" in given:
        return given["body"] if len(given) == 1 else None
    return given


def picked(given: dict[str, Any], once: Any) -> Any:
    """The request that is in what a rule or a pipe passed on; None where that has another form."""
    kind = next(iter(given.keys() - {"once"}), "")
    paths = [once.get("key"), once.get("payload")] if isinstance(once, dict) else [None]
    is_formed = kind in ("event", "body") and len(given) == 2 and isinstance(once, dict) and once.keys() <= {*ONCE}
    if not is_formed or not all(
        isinstance(path, list) and all(isinstance(name, str) for name in path) for path in paths
    ):
        return None
    came = given[kind]
    if kind == "event" and not isinstance(came, dict):
        return None
    key, payload = (_at(path, came) for path in paths)
    if isinstance(key, int | float) and not isinstance(key, bool) and abs(key) <= MOST and key == int(key):
        key = str(int(key))
    if kind == "event" and not paths[1]:
        payload = {name: came[name] for name in ("source", "detail-type", "detail") if name in came}
    constants = {name: once[name] for name in ("operation", "onCrash") if name in once}
    return {**constants, "idempotencyKey": key, "payload": payload}


def _at(path: list[str], value: Any) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_request(request: Any) -> bool:
    """Whether this, of which each part is small, is a request; it is to be taken if its operation has a function."""
    if not isinstance(request, dict) or not set(request) <= set(FIELDS) or has_a_half(request):
        return False
    tenant, key, payload = request.get("tenant", "default"), request.get("idempotencyKey"), request.get("payload")
    named = all(isinstance(name, str) and NAME.match(name) for name in (request.get("operation"), tenant))
    keyed = isinstance(key, str) and 1 <= len(key) <= 256 and not UNSEEN.search(key)
    chosen = all(name not in request or request[name] in known for name, known in POLICIES.items())
    return named and keyed and chosen and isinstance(payload, dict) and levels(payload) <= 10 and is_exact(payload)


def is_exact(value: Any) -> bool:
    """Whether no number in it may be rounded."""
    if isinstance(value, int | float):
        return abs(value) <= MOST
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(is_exact, inner))


def has_a_half(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def levels(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(levels, inner), default=0)


def same(value: Any, other: Any) -> bool:
    """Equality of JSON, whose numbers are doubles."""
    return _plain(value) == _plain(other)


def _plain(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return json.dumps(json.loads(text, parse_int=float, parse_float=lambda digits: float(digits) + 0.0), sort_keys=True)


# ---- a run ----


def id_of(request: dict[str, Any]) -> str:
    return f"{request.get('tenant', 'default')}#{request['operation']}#{request['idempotencyKey']}"


def replying(reply: Callable[[Any], Any], *, failed: bool = False) -> Any:
    """In place of the function: the event to its reply, or to what the runtime says of its error."""

    def answer(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state != BUSINESS:
            return proceed()
        payload = json.dumps(reply(json.loads(call.parameters["Payload"]))).encode()
        return {"StatusCode": 200, "Payload": io.BytesIO(payload)} | ({"FunctionError": "Unhandled"} if failed else {})

    return answer


@contextmanager
def empty(cloud: LocalCloud) -> Iterator[None]:
    """Nothing is there but what the template deploys and one function; every promise holds afterwards."""
    cloud.reset()
    cloud.add_function(OPERATION, FUNCTION)
    with invariants_hold(cloud):
        yield
    assert cloud.denials() == (), "a role asked for what it may not have"


def assert_touched_only(cloud: LocalCloud, request: Any) -> None:
    """That there is no record and no start but the request's own; none at all where it is no request."""
    request = request if is_request(request) else None
    items = cloud.client("dynamodb").scan(TableName=cloud.resources["IdempotencyTable"])["Items"]
    ids = {item["id"]["S"] for item in items}
    assert ids <= ({id_of(request)} if request else set()), ids
    for started in cloud.invocations():
        assert request is not None, f"started for what is no request: {started.event}"
        for name in ("tenant", "operation", "idempotencyKey", "payload"):
            assert same(started.event[name], {"tenant": "default", **request}[name]), name
