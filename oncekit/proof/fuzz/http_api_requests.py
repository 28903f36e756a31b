"""Requests to the HTTP API: sane ones, with something odd in the path, the headers, the query or the body."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

from oncekit.proof.fuzz.cloud import OPERATION
from oncekit.proof.fuzz.values import JSON, Odd

SPLICES = (
    '","tenant":"other',
    '\\","tenant\\":\\"other',
    '"}}","name":"x',
    '"},"stateMachineArn":"other',
    "%22%2C%22tenant%22%3A%22other",
    "\\u0022,\\u0022tenant\\u0022:\\u0022other",
    "%5Cu0022",
    "$input.body",
    "$input.params('tenant')",
    "$util.urlDecode('%22')",
    '#set($tenant = "other")',
    '#set($context.requestOverride.path.tenant = "other")',
    "#if(true)#end##",
    "#*",
    "#[[ ]]#",
    "##",
    "#",
    "%23",
    "${x}$!{x}$x",
    "$context.responseOverride.status",
    "acme#echo#k",
    "default#echo#k",
    "acme%23echo%23k",
    "'",
    '"',
    "\\",
    "/",
    "//",
    "..",
    "%2e%2e%2f",
    "%2F",
    "%00",
    "%",
    "%zz",
    "+",
    "%2B",
    "{% $states.input %}",
    "respond-async",
    "wait=1",
)
"""What would end a string, add a member, name another one's, or be read as a template, where it is put in as it is."""
NOT_JSON = (
    "", "{", "}", "[]", "null", "{}x", "{}{}", "{'a':1}", '{"a":1,}', '{"a":01}', '{"a":.5}', '{"a":+1}', '{"a":NaN}',
    '{"a":Infinity}', '{"a":-Infinity}', '{"a":1e400}', '{"a":"\t"}', '{"a":"\\x"}', '{"a":"\\u12"}', '{a:1}',
    '\ufeff{}', '{"a":1}//', '{/**/}', '{"a":undefined}', '\x00{}', '\u00a0{}', "{}\x0b",
)  # fmt: skip
ODD_JSON = (
    " \t\r\n{}\n", '{"a":1,"a":2}', '{"a":{"b":1,"b":[]},"a":{"b":"2"}}', '{"\\u0061":1,"a":2}', '{"a":"\\ud800"}',
    '{"\\udc00":1}', '{"a":"\\ud83d\\ude80"}', '{"a":"\\ude80\\ud83d"}', '{"a":"\\/\\b\\f"}', '{"a":-0}', '{"a":1E+2}',
    '{"a":12345678901234567890}', '{"a":0.1e-400}', '{"a":123456789.12345678901}', '{"__proto__":{"x":1}}',
    '{"":""}', '{"tenant":"other","operation":"other","idempotencyKey":"x"}', '{"http":{"tenant":"other"}}',
)  # fmt: skip
HEADERS = {"onConflict": "Once-On-Conflict", "onCrash": "Once-On-Crash", "onFailed": "Once-On-Failed"}
POLICIES = {"onConflict": ("acknowledge", "reject", "wait"), "onCrash": ("retry",), "onFailed": ("replay", "retry")}
STRAY = ("get", "keySet", "tenant", "operation", "body", "key", "name", "stateMachineArn", "X-Amz-Foo", "Origin-Of")
_NO_PATH = re.compile("[^\x21-\x7e]|[?#/]")
_NO_HEADER = re.compile("[^\t\x20-\x7e\x80-\xff]")


@dataclass(frozen=True)
class Asked:
    """A request, and what its parts are."""

    method: str
    path: str
    tenant: str
    operation: str
    key: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    is_json: bool = True
    """Whether its Content-Type says so."""
    policy: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace") or "{}"

    def __str__(self) -> str:
        return f"{self.method} {self.path!a} {self.headers!a} {self.body[:200]!a}"


def drawn(odd: Odd) -> Asked:
    dice = odd.dice
    operation = OPERATION if odd.chance(0.85) else _segment(odd)
    tenant = None if odd.chance(0.4) else dice.choice(("acme", "b", "t" * 40)) if odd.chance(0.8) else _segment(odd)
    key = _header(odd) if odd.chance(0.5) else dice.choice(("k", '"k"', "order-1", "x" * 256, "x" * 257, '"a\\"b"'))
    policy = {name: dice.choice(values) for name, values in POLICIES.items() if odd.chance(0.1)}
    if odd.chance(0.1):
        policy[dice.choice(sorted(HEADERS))] = _header(odd)
    is_json = odd.chance(0.97)
    headers = [("Content-Type", _content_type(odd) if is_json else dice.choice(("text/plain", "application/xml")))]
    headers.append((_cased(odd, "Idempotency-Key"), key))
    headers += [(_cased(odd, HEADERS[name]), value) for name, value in policy.items()]
    if odd.chance(0.15):
        headers.append((_cased(odd, "Prefer"), dice.choice(("wait=0", "wait=1", "return=minimal", _header(odd)))))
    headers += [(name, _header(odd)) for name in dice.sample(STRAY, dice.choice((0, 0, 1, 3)))]
    dice.shuffle(headers)
    start = "" if tenant is None else f"/tenants/{tenant}"
    path = f"{start}/operations/{operation}{_query(odd)}"
    named = "default" if tenant is None else tenant
    body = _body(odd)
    return Asked("POST", path, named, operation, key.strip(" \t"), tuple(headers), body, is_json, _sent(policy))


def lookup(odd: Odd, asked: Asked) -> Asked:
    """A question for a request that was made, or for something like it."""
    key = quote(asked.key, safe="") if odd.chance(0.5) else _segment(odd)
    operation = asked.operation if odd.chance(0.8) else _segment(odd)
    tenant = asked.tenant if odd.chance(0.8) else _segment(odd)
    key = key or "k"
    path = f"/tenants/{tenant}/operations/{operation}/{key}{_query(odd)}"
    return Asked("GET", path, tenant, operation, key, (("Accept", "*/*"),))


def _sent(policy: dict[str, str]) -> dict[str, str]:
    return {name: value.strip(" \t") for name, value in policy.items()}


def _segment(odd: Odd) -> str:
    """A part of a path: as it is, or percent-encoded."""
    text = odd.dice.choice(SPLICES) if odd.chance(0.6) else odd.plain(8)
    text = odd.dice.choice(("", "a", "echo")) + text if odd.chance(0.4) else text
    return quote(text, safe="") or "a" if odd.chance(0.5) else _NO_PATH.sub("", text) or "a"


def _header(odd: Odd) -> str:
    text = "".join(
        odd.dice.choice(SPLICES) if odd.chance(0.6) else odd.plain(5) for _ in range(odd.dice.choice((1, 2)))
    )
    text = f'"{text}"' if odd.chance(0.2) else text
    return _NO_HEADER.sub("?", text)


def _cased(odd: Odd, name: str) -> str:
    return odd.dice.choice((name, name.lower(), name.upper()))


def _content_type(odd: Odd) -> str:
    return odd.dice.choice(
        ("application/json", "application/json", "Application/JSON", "application/json; charset=utf-8")
    )


def _query(odd: Odd) -> str:
    if odd.chance(0.85):
        return ""
    names = odd.dice.sample(("tenant", "operation", "key", "body", "Idempotency-Key", "get"), 2)
    return "?" + "&".join(f"{name}={quote(odd.dice.choice((*SPLICES, 'other')))}" for name in names)


def _body(odd: Odd) -> bytes:
    match odd.dice.randrange(10):
        case 0:
            return odd.dice.choice(NOT_JSON).encode()
        case 1:
            return odd.dice.choice(ODD_JSON).encode()
        case 2:
            return odd.plain(30).encode()
        case 3:
            text = json.dumps(_payload(odd), ensure_ascii=odd.chance(0.5))
            at = odd.dice.randrange(len(text) + 1)
            return (text[:at] + odd.dice.choice(SPLICES) + text[at:]).encode(errors="replace")
        case 4 if odd.chance(0.3):
            return b'{"a":"' + bytes(odd.dice.randrange(256) for _ in range(6)) + b'"}'
        case 5 if odd.chance(0.05):
            return json.dumps(
                {"text": odd.dice.choice(('"', "é", "x", "%")) * odd.dice.choice((20_000, 90_000))}
            ).encode()
        case 6:
            return _twice(odd).encode(errors="replace")
    return json.dumps(_payload(odd), ensure_ascii=odd.chance(0.5)).encode(errors="replace")


def _payload(odd: Odd) -> dict[str, JSON]:
    payload = odd.object()
    for _ in range(odd.dice.choice((0, 1, 2))):
        payload[odd.dice.choice((*SPLICES, "a"))] = odd.dice.choice(SPLICES)
    return payload


def _twice(odd: Odd) -> str:
    """An object in which a name comes twice."""
    members: Iterator[str] = (
        f"{json.dumps(name)}:{json.dumps(odd.value(2))}" for name in ("a", odd.dice.choice(SPLICES), "a", "b")
    )
    return "{" + ",".join(members) + "}"
