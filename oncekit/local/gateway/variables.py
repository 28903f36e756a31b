"""$input, $util and $context of mapping templates.

Source, where no other is named: https://docs.aws.amazon.com/apigateway/latest/developerguide/
api-gateway-mapping-template-reference.html
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus, unquote_plus

_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_]*)*")

Parameters = Mapping[str, Mapping[str, str]]
"""By place (path, querystring, header), the values by name: of several values the last, as in proxy integrations."""


class JsonList(list[Any]):
    """An array that $input.path found, which prints as JSON."""


class Input:
    """The payload, of the request or of the integration's answer, and the parameters of the request in both."""

    def __init__(self, body: str, parameters: Parameters) -> None:
        self._parameters = parameters
        # An empty payload is {}, recorded on AWS (LocalStack's snapshot test_input_body_formatting, 2025-03-19).
        self.body = body or "{}"

    def params(self, name: str | None = None) -> Any:
        """All parameters by place, or the value of one, "searched in that order": path, query string, header."""
        if name is None:
            return {place: dict(values) for place, values in self._parameters.items()}
        found = (self._parameters[place].get(name) for place in ("path", "querystring", "header"))
        return next((value for value in found if value is not None), "")

    def path(self, expression: str) -> Any:
        """What a JSONPath expression finds, here one of members only; None when there is nothing."""
        if not _PATH.fullmatch(expression):
            raise ValueError(f"this JSONPath expression is not supported here: {expression}")
        value = json.loads(self.body)
        for name in expression.split(".")[1:]:
            value = value.get(name) if isinstance(value, dict) else None
        return _found(value)

    def json(self, expression: str) -> str:
        """The same "as a JSON string"; of what is not there an empty text in quotes (unconfirmed, and
        no template of Once asks for it)."""
        found = self.path(expression)
        return json.dumps("" if found is None else found)


def _found(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _found(each) for name, each in value.items()}
    return JsonList(map(_found, value)) if isinstance(value, list) else value


class Util:
    """Functions of templates. "Unless otherwise specified, the default character set is UTF-8." """

    # The names are AWS's.
    def escapeJavaScript(self, text: object) -> str:  # noqa: N802
        """As Commons Lang 2.6: backslashes before quotes of both kinds and slashes, escapes outside ASCII (unconfirmed,
        V66)."""
        units = str(text).encode("utf-16-be", "surrogatepass")
        return "".join(_escaped(int.from_bytes(units[at : at + 2])) for at in range(0, len(units), 2))

    def parseJson(self, text: str) -> Any:  # noqa: N802
        return json.loads(text)

    def urlEncode(self, text: str | None) -> str:  # noqa: N802
        """The form application/x-www-form-urlencoded, as java.net.URLEncoder: a space is +, and * stays. Of null it is
        empty, recorded on AWS (LocalStack, url-encode, 2025-03-19)."""
        return quote_plus(text or "", safe="*").replace("~", "%7E")

    def urlDecode(self, text: str) -> str:  # noqa: N802
        return unquote_plus(text)


_SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}


def _escaped(unit: int) -> str:
    if unit in _SHORT:
        return _SHORT[unit]
    if not 32 <= unit <= 127:
        return f"\\u{unit:04X}"
    return ("\\" if chr(unit) in "\"'\\/" else "") + chr(unit)


Context = dict[str, Any]


class Once(dict[str, Any]):
    """Overrides: "Trying to override the same parameter multiple times will result in 5XX responses" (Developer Guide,
    use a mapping template to override an API's request and response parameters and status codes)."""

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self:
            raise ValueError(f"{name} is overridden twice")
        super().__setitem__(name, value)


class Claims(dict[str, Any]):
    """A user's token: its members are there, by dot or in brackets, as in `claims['custom:role']`, AWS's own example
    (Integrate a REST API with a user pool); by itself it "returns null" (the reference above): no methods here."""


def new_context(stage: str, method: str, now: float, claims: Mapping[str, Any]) -> Context:
    """`$context` of a request at a time in epoch seconds; templates write to its overrides."""
    return {
        "stage": stage,
        "httpMethod": method,
        "authorizer": {"claims": Claims(claims)},
        "requestId": str(uuid.uuid4()),
        "requestTimeEpoch": int(now * 1000),
        "requestOverride": {"header": Once(), "path": Once(), "querystring": Once()},
        "responseOverride": Once(header=Once()),
    }
