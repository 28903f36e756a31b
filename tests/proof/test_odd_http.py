"""Whatever a sender writes into path, headers and body arrives as a strict parser reads it, or is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

import odd
from http_client import Client, Response
from hypothesis import example, given
from hypothesis import strategies as st
from odd import OPERATION, SPLICES, cases

from oncekit.local import LocalCloud

HEADERS = {"onConflict": "Once_On_Conflict", "onCrash": "Once_On_Crash", "onFailed": "Once_On_Failed"}
NO_JSON = (
    *("{", "}", "[]", "null", "{}x", "{}{}", "{'a':1}", '{"a":1,}', '{"a":01}', '{"a":.5}', '{"a":+1}', '{"a":NaN}'),
    *('{"a":-Infinity}', '{"a":1e400}', '{"a":"\t"}', '{"a":"\\x"}', '{"a":"\\u12"}', "{a:1}", "\ufeff{}", "{/**/}"),
    *('{"a":1}//', "\x00{}", "\u00a0{}", "{}\x0b"),
)
ODD_JSON = (
    *(" \t\r\n{}\n", '{"a":1,"a":2}', '{"a":{"b":1,"b":[]},"a":{"b":"2"}}', '{"\\u0061":1,"a":2}', '{"a":"\\ud800"}'),
    *('{"a":"\\ud83d\\ude80"}', '{"a":"\\/\\b\\f"}', '{"a":-0}', '{"a":1E+2}', '{"a":0.1e-400}', '{"__proto__":{}}'),
    *('{"tenant":"other","operation":"other","idempotencyKey":"x"}', '{"http":{"tenant":"other"}}', ""),
)


@dataclass(frozen=True)
class Asked:
    """A request, by its parts; each of them is as it is written, percent-encoded where the sender did so."""

    operation: str = OPERATION
    tenant: str | None = None
    key: str = "k"
    body: bytes = b"{}"
    policy: dict[str, str] = field(default_factory=dict)
    stray: dict[str, str] = field(default_factory=dict)
    query: str = ""
    is_json: bool = True

    @property
    def path(self) -> str:
        return f"/{self.tenant or 'default'}/{self.operation}"

    def sent(self, client: Client) -> Response:
        headers = {HEADERS[name]: value for name, value in self.policy.items()} | self.stray
        headers["Content_Type"] = "application/json" if self.is_json else "text/plain"
        return client.send("POST", self.path + self.query, self.body, Idempotency_Key=self.key, **headers)

    def meant(self) -> dict[str, Any] | None:
        """The request; None when it is none."""
        try:
            text = self.body.decode(errors="replace") or "{}"
            payload = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError):
            return None
        policy = {name: value.strip(" \t") for name, value in self.policy.items() if value.strip(" \t")}
        named = {"operation": self.operation, "tenant": self.tenant or "default", "idempotencyKey": _key(self.key)}
        request = {**named, "payload": payload, **policy}
        return request if self.is_json and odd.is_request(request) else None


def _refuse(word: str) -> float:
    raise ValueError(word)


def _finite(digits: str) -> float:
    if abs(number := float(digits)) == float("inf"):
        raise ValueError(digits)
    return number


def _key(header: str) -> str:
    """As docs/http.md says: printable ASCII, plain or quoted with escapes of quotes and backslashes."""
    header = header.strip(" \t")
    if not header.startswith('"'):
        return header if header.isascii() and header.isprintable() else ""
    plain = re.fullmatch(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"', header)
    return re.sub(r"\\(.)", r"\1", plain[1]) if plain else ""


printable = re.compile("[^\t\x20-\x7e\x80-\xff]")
headers = odd.texts.map(lambda text: printable.sub("?", text))
segments = odd.texts.map(lambda text: re.sub("[^\x21-\x7e]|[?#/]", "", text) or "a") | odd.texts.map(
    lambda text: quote(text, safe="") or "a"
)
spliced = st.builds(
    lambda payload, splice, at: (text := json.dumps(payload))[:at] + splice + text[at:],
    odd.objects,
    st.sampled_from(SPLICES),
    st.integers(0, 30),
)
bodies = st.one_of(
    odd.objects.map(json.dumps),
    odd.objects.map(lambda payload: json.dumps(payload, ensure_ascii=False)),
    st.dictionaries(st.sampled_from(SPLICES), st.sampled_from(SPLICES), max_size=3).map(json.dumps),
    st.sampled_from((*NO_JSON, *ODD_JSON)),
    spliced,
)
asked = st.builds(
    Asked,
    operation=st.just(OPERATION) | st.just(OPERATION) | st.just(OPERATION) | segments,
    tenant=st.one_of(st.none(), st.just("acme"), st.just("t" * 40), segments),
    key=st.one_of(st.just("k"), st.just('"a\\"b"'), st.just("x" * 257), headers, headers.map('"{}"'.format)),
    body=st.one_of(bodies.map(lambda text: text.encode(errors="replace")), st.binary(max_size=6)),
    policy=st.dictionaries(st.sampled_from(sorted(HEADERS)), headers | st.sampled_from(("wait", "retry")), max_size=1),
    stray=st.dictionaries(st.sampled_from(("get", "keySet", "tenant", "Body", "key", "X_Foo")), headers, max_size=2),
    query=st.just("") | segments.map("?tenant=other&body={}&key=other".format),
    is_json=st.sampled_from((True, True, True, False)),
)


def exchanges(cloud: LocalCloud, sent: Asked) -> Iterator[tuple[Response, dict[str, Any] | None]]:
    """The POST, and a GET for what it names."""
    client = Client(cloud)
    yield sent.sent(client), sent.meant()
    key = quote(sent.key, safe="") or "k"
    request = {"operation": sent.operation, "tenant": sent.tenant or "default", "idempotencyKey": unquote(key)}
    named = f"/{request['tenant']}/{sent.operation}/{key}"
    yield client.send("GET", named), request if cloud.record(odd.id_of(request)) else None


@cases(60)
@given(sent=asked)
@example(sent=Asked(body=b'{"a":"\xff"}', key='"%22,%22tenant"', tenant="acme"))
@example(sent=Asked(body=b'\\",\\"tenant\\":\\"other'))
@example(sent=Asked(key='","tenant":"other', body=b'{"a":"\\",\\"tenant\\":\\"other"}'))
@example(sent=Asked(operation="another"))
def test_any_call_by_http_is_that_of_its_sender_or_refused(cloud: LocalCloud, sent: Asked) -> None:
    with odd.empty(cloud):
        posted, looked_up = exchanges(cloud, sent)
    request = sent.meant()
    has_function = request is not None and request["operation"] == OPERATION
    assert posted[0].status in ((200, 202, 303) if has_function else range(400, 500)), posted[0]
    assert len(cloud.invocations()) == has_function
    assert looked_up[0].status in ((200, 202, 303, 404) if looked_up[1] else range(400, 500)), looked_up[0]
    odd.assert_touched_only(cloud, request)
