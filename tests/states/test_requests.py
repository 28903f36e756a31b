"""What a request must be like, to the last character, and what is made of one that is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from one_state import State, Way

States = Callable[..., State]

LEAST: dict[str, Any] = {"operation": "charge", "idempotencyKey": "k", "payload": {}}


def received(state: States, given: Any) -> Way:
    return state("ReceiveRequest").chooses({}, given)


def is_refused(state: States, given: Any, *words: str) -> bool:
    """Whether it is, and then for a reason in which these words are."""
    way = received(state, given)
    if way.to != "RefuseRequest":
        assert (way.to, words) == ("AcquireLock", ())
        return False
    refusal = way.assigned["refusal"]
    assert refusal["error"] == "InvalidRequest"
    missing = [word for word in words if word not in refusal["message"]]
    assert missing == [], refusal["message"]
    return True


def made(state: States, given: Any) -> dict[str, Any]:
    way = received(state, given)
    assert way.to == "AcquireLock", way
    request: dict[str, Any] = way.assigned["request"]
    return request


def test_a_request_is_one_object_by_itself_in_a_list_or_in_the_body_of_a_message(state: States) -> None:
    assert made(state, LEAST) == made(state, [LEAST]) == made(state, [{"body": LEAST}]) == made(state, {"body": LEAST})
    for given, words in (
        ([], "array of 0"),
        ([LEAST, LEAST], "array of 2"),
        ("text", "; this is a string"),
        (7, "; this is a number"),
        (True, "; this is a boolean"),
        ([None], "; this is null"),
        ([[LEAST]], "; this is an array"),
    ):
        assert is_refused(state, given, words), given


@pytest.mark.parametrize("beside", [{"body": LEAST, "more": 1}, {"body": "text"}, {"body": [LEAST]}, {"body": None}])
def test_nothing_stands_beside_a_body_which_is_an_object(beside: Any, state: States) -> None:
    assert is_refused(state, [beside], "the body of a message is one request")


def test_a_field_that_nobody_knows_is_named(state: States) -> None:
    assert is_refused(state, {**LEAST, "amount": 1}, "unknown field amount: a request has")
    everything = {**LEAST, "tenant": "t", "onConflict": "wait", "onCrash": "retry", "onFailed": "retry"}
    told = "unknown field amount, b: a request has"
    assert is_refused(state, [{"body": {**everything, "amount": 1, "b": 2}}], told)
    way = received(state, {**LEAST, "x" * 900: 1})
    assert way.assigned["refusal"]["message"].startswith(f"unknown field {'x' * 200}: a request has")


NAMES = {"a": True, "a" * 40: True, "a-0": True, "z9-": True, "a" * 41: False, "": False, "A": False, "0a": False}
MORE_NAMES = {"-a": False, "a_b": False, "a b": False, "aé": False, "a\n": False, "xA": False, "a#b": False}


@pytest.mark.parametrize("field", ["operation", "tenant"])
@pytest.mark.parametrize("name", [*NAMES, *MORE_NAMES])
def test_an_operation_and_a_tenant_are_short_names_in_lower_case(field: str, name: str, state: States) -> None:
    good = {**NAMES, **MORE_NAMES}[name]
    told = () if good else (f"{field} must be a string that matches",)
    assert is_refused(state, {**LEAST, field: name}, *told) is not good


@pytest.mark.parametrize("field", ["operation", "tenant"])
@pytest.mark.parametrize("value", [1, None, True, ["a"], {"a": 1}])
def test_an_operation_and_a_tenant_are_strings(field: str, value: Any, state: States) -> None:
    for given in ({**LEAST, field: value}, {"body": {**LEAST, field: value}}):
        assert is_refused(state, given, f"{field} must be a string")


@pytest.mark.parametrize(
    ("key", "good"),
    [
        ("k", True),
        ("k" * 256, True),
        ("k" * 257, False),
        ("", False),
        (" ", True),
        ("#", True),
        (1, False),
        (None, False),
    ],
)
def test_a_key_is_any_text_of_at_most_256_characters(key: Any, good: bool, state: States) -> None:
    told = () if good else ("idempotencyKey must be a string of 1 to 256 characters",)
    assert is_refused(state, {**LEAST, "idempotencyKey": key}, *told) is not good


PRINTED_BY_NOBODY = ["\0", "\x1b]52;c;eA==\x07", "\n", "\x1f", "\x7f", "\x80", "\x9b2J", "\x9f"]
PRINTED_BY_NOBODY += ["\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"]
PRINTED_BY_NOBODY += ["\u061c", "\u200b", "\u200e", "\u200f", "\u2060", "\ufeff"]


@pytest.mark.parametrize("text", PRINTED_BY_NOBODY, ids=ascii)
def test_what_could_change_a_line_that_is_printed_is_in_no_key_and_in_no_refusal(text: str, state: States) -> None:
    told = "idempotencyKey has a control character, a line separator"
    for given in ({**LEAST, "idempotencyKey": f"a{text}b"}, [{"body": {**LEAST, "idempotencyKey": text}}]):
        assert is_refused(state, given, told)
        assert received(state, given).assigned["refusal"]["message"].isprintable()
    message = received(state, {**LEAST, f"a{text}b": 1, text: 2}).assigned["refusal"]["message"]
    assert message.isprintable() and message.startswith("unknown field a?")
    assert made(state, {**LEAST, "payload": {text: text}})["payload"] == {text: text}, "a payload may have any"


@pytest.mark.parametrize(
    "text",
    [
        " ",
        "~",
        "\xa0",
        "é",
        "\u2027",
        "\u202f",
        "\u2065",
        "\u206a",
        "😀",
        "\u061b",
        "\u200a",
        "\u200c",
        "👩\u200d🚀",
        "\u2010",
        "\ufefe",
    ],
    ids=ascii,
)
def test_any_other_character_may_be_in_a_key(text: str, state: States) -> None:
    assert made(state, {**LEAST, "idempotencyKey": text})["idempotencyKey"] == text


@pytest.mark.parametrize("payload", [[], [{}], "text", 1, True, None])
def test_a_payload_is_an_object(payload: Any, state: States) -> None:
    assert is_refused(state, {**LEAST, "payload": payload}, "payload must be a JSON object")


POLICIES = {
    "onConflict": ("acknowledge", "reject", "wait"),
    "onCrash": ("retry", "quarantine"),
    "onFailed": ("replay", "retry"),
}


@pytest.mark.parametrize("field", POLICIES)
def test_a_policy_is_a_known_one_and_by_default_the_first(field: str, state: States) -> None:
    assert made(state, LEAST)[field] == POLICIES[field][0]
    for policy in POLICIES[field]:
        assert made(state, {**LEAST, field: policy})[field] == policy
    for other in ("never", "", None, 1, [POLICIES[field][0]]):
        for given in ({**LEAST, field: other}, {"body": {**LEAST, field: other}}):
            assert is_refused(state, given, f"{field} must be", "leave it out for"), other


def with_payload(text: str) -> dict[str, Any]:
    return {**LEAST, "payload": {"t": text}}


def size_of(given: Any) -> int:
    return len(json.dumps(given, separators=(",", ":"), ensure_ascii=False))


SPACE = size_of(with_payload(""))


def test_a_request_has_at_most_180000_bytes(state: States) -> None:
    told = ("larger than 180,000 bytes", "put the data in S3")
    assert not is_refused(state, with_payload("x" * (180_000 - SPACE)))
    assert is_refused(state, with_payload("x" * (180_001 - SPACE)), *told)
    left = 180_000 - SPACE
    assert not is_refused(state, with_payload("é" * (left // 4) + "~" * (left % 4)))
    assert is_refused(state, with_payload("é" * (left // 4) + "~" * (left % 4 + 1)), *told)


def test_a_request_written_as_a_string_has_at_most_220000_bytes(state: States) -> None:
    left = 220_000 - size_of([json.dumps(with_payload(""), separators=(",", ":"))])
    quotes = '"' * (left // 4)  # each is four characters there: a quote and a backslash, and a backslash before each
    assert not is_refused(state, with_payload(quotes + "x" * (left % 4)))
    assert is_refused(state, with_payload(quotes + "x" * (left % 4 + 1)), "larger than 220,000 bytes", "counts twice")


def test_a_payload_has_at_most_2000_values(state: States) -> None:
    def values(count: int) -> dict[str, Any]:
        others = 5  # brackets and commas are counted: three of each, and in the list one comma fewer than numbers
        return {**LEAST, "payload": {"a": [1] * (count - others), "t": '[,{"\\' * 9}}

    assert not is_refused(state, values(2_000))
    assert is_refused(state, values(2_001), "more than 2,000 values", "put the data in S3")


def test_a_text_is_one_value_whatever_is_in_it(state: States) -> None:
    for text in ("[,{" * 30_000, '",[' * 20_000, "\\" * 20_000 + '",[' * 9_000):
        assert not is_refused(state, with_payload(text))


def nested(levels: int, innermost: Any = 1) -> Any:
    """A payload so many levels deep, objects and lists by turns."""
    value = innermost
    for level in range(levels, 1, -1):
        value = [value] if level % 2 else {"a": value}
    return {"p": value}


def test_a_payload_is_nested_at_most_10_levels_deep(state: States) -> None:
    beside = {"q": [{}, [], {"r": []}], "t": '{[{["\\'}
    for innermost in (1, "x", None):
        assert not is_refused(state, {**LEAST, "payload": nested(10, innermost) | beside})
        assert is_refused(state, {**LEAST, "payload": nested(11, innermost) | beside}, "deeper than 10 levels")
    for deep in ([1] * 3, {"a": 1}):
        assert not is_refused(state, {**LEAST, "payload": nested(9, deep) | beside})
        assert is_refused(state, {**LEAST, "payload": nested(10, deep) | beside}, "deeper than 10 levels")
    assert not is_refused(state, [{"body": {**LEAST, "payload": nested(10)}}])
    for given in ({**LEAST, "payload": nested(11)}, [{"body": {**LEAST, "payload": nested(11)}}]):
        assert is_refused(state, given, "deeper than 10 levels", "in a string")


# What is wrong with a request, in the order in which it is told.
FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"amount": 1}, "unknown field amount"),
    ({"operation": "A"}, "operation must be"),
    ({"tenant": "A"}, "tenant must be"),
    ({"idempotencyKey": ""}, "idempotencyKey must be"),
    ({"payload": []}, "payload must be"),
    ({"onConflict": "never"}, "onConflict must be"),
    ({"onCrash": "never"}, "onCrash must be"),
    ({"onFailed": "never"}, "onFailed must be"),
]
LARGE: list[tuple[dict[str, Any], str]] = [
    ({"text": "x" * 100_000}, "larger than 180,000 bytes"),
    ({"quotes": '"' * 55_000}, "larger than 220,000 bytes"),
    ({"half": "\ud800"}, "surrogate"),
    ({"many": [1] * 3_000}, "more than 2,000 values"),
    ({"deep": [[[[[[[[[[[1]]]]]]]]]]]}, "deeper than 10 levels"),
]


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_of_several_faults_the_first_is_told(first: int, state: States) -> None:
    request = dict(LEAST)
    for fault, _ in FAULTS[first:]:
        request |= fault
    for given in (request, [request], [{"body": request}]):
        assert is_refused(state, given, FAULTS[first][1])
    assert is_refused(state, {**LEAST, "idempotencyKey": "\a", "payload": []}, "idempotencyKey has a control character")


A_REQUEST = "a request is a JSON object with operation, idempotencyKey and payload; this is "
SAID: list[tuple[Any, str]] = [
    ([], "the input is an array of 0 requests: send one request per execution"),
    ("text", f"{A_REQUEST}a string"),
    ([None], f"{A_REQUEST}null"),
    ([[LEAST]], f"{A_REQUEST}an array"),
    (
        {"body": 1},
        "the body of a message is one request, a JSON object with operation, idempotencyKey and payload, "
        "and nothing stands beside it",
    ),
    (
        {**LEAST, "a": 1, "b": 1},
        "unknown field a, b: a request has operation, tenant, idempotencyKey, payload, onConflict, "
        "onCrash and onFailed",
    ),
    ({**LEAST, "onCrash": 1}, "onCrash must be 'retry' or 'quarantine' (leave it out for 'retry')"),
    ({**LEAST, "onFailed": 1}, "onFailed must be 'replay' or 'retry' (leave it out for 'replay')"),
]


@pytest.mark.parametrize(("given", "message"), SAID)
def test_a_refusal_says_what_is_wrong_and_what_to_send(given: Any, message: str, state: States) -> None:
    assert received(state, given) == Way("RefuseRequest", {"refusal": {"error": "InvalidRequest", "message": message}})


def test_of_several_requests_none_is_looked_at(state: States) -> None:
    assert is_refused(state, ["text", "text"], "array of 2")
    assert is_refused(state, {"body": 1, "amount": 2}, "the body of a message is one request")


@pytest.mark.parametrize("half", ["\ud800", "\udbff", "\udc00", "\udfff", "\\\ud800", "\ud83d \ude00", "\ude00\ud83d"])
def test_half_of_a_character_is_refused(half: str, state: States) -> None:
    for given in (with_payload(half), with_payload(f"a{half}b"), {**LEAST, "idempotencyKey": f"k{half}"}):
        assert is_refused(state, given, "surrogate", "send valid Unicode")


@pytest.mark.parametrize(
    "whole", ["\U0001f600", "\U00010000", "\U0010ffff", "\ud7ff", "\ue000", "\\ud800", "\\\\ud800"]
)
def test_a_whole_character_and_the_text_of_an_escape_are_accepted(whole: str, state: States) -> None:
    assert not is_refused(state, with_payload(whole))


def test_a_request_has_one_id_over_tenant_operation_and_key(state: States) -> None:
    request = made(state, {**LEAST, "tenant": "acme", "idempotencyKey": "kéy"})
    digest = hashlib.sha256("acme#charge#kéy".encode()).hexdigest()
    assert request["id"] == "acme#charge#kéy"
    assert (request["idHash"], request["shard"], request["idBytes"]) == (digest, digest[0], len("acme#charge#ky") + 4)
    assert {name: request[name] for name in ("operation", "tenant", "idempotencyKey", "payload")} == {
        "operation": "charge",
        "tenant": "acme",
        "idempotencyKey": "kéy",
        "payload": {},
    }
    assert made(state, LEAST)["id"] == "default#charge#k"


FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:b:7"


@pytest.mark.parametrize(
    ("operations", "prefix", "function"),
    [
        ("", "once_op", "once_op-charge:live"),
        ("", "", ""),
        ("charge=my-app-Charge-1A2B:live", "once_op", "my-app-Charge-1A2B:live"),
        ("charge-2=a, charge=b", "", "b"),
        ("refund=charge, xcharge=a,charge=arn:aws:lambda:eu-west-1:123456789012:function:b:7", "", FUNCTION),
        ("refund=charge, charge-2=a", "", ""),
        ("refund=charge, charge-2=a", "once_op", "once_op-charge:live"),
        ("charge=a, charge=b", "", "a"),
    ],
)
def test_an_operation_has_the_function_that_is_named_for_it_or_one_by_the_prefix(
    operations: str, prefix: str, function: str, state: States
) -> None:
    receive = state("ReceiveRequest").with_text("$replace('',", f"$replace('{operations}',")
    receive = receive.with_text("'once_op'", f"'{prefix}'").with_text("'once_op-'", f"'{prefix}-'")
    assert receive.chooses({}, LEAST).assigned["request"]["function"] == function


def fingerprint(state: States, payload: Any) -> str:
    found: str = made(state, {**LEAST, "payload": payload})["fingerprint"]
    return found


@pytest.mark.parametrize(
    ("payload", "canonical"),
    [
        ({"cc": "xé", "b": [True, False, None], "a": 1}, "{1:a#1~0;1:b[TFN]2:cc2:xé}"),
        ({"a": 0.1}, "{1:a#0.1~0;}"),
        ({"a": 1e300}, "{1:a#1e+300~0;}"),
        ({"a": 1.5e300}, "{1:a^1.46484375e+297~0;}"),
        ({"a": -1e301}, "{1:a^-9.765625e+297~0;}"),
        ({"a": 1.0000000000000002}, "{1:a#1~2.22044604925031e-16;}"),
        ({}, "{}"),
    ],
)
def test_a_fingerprint_stays_what_it_was_for_records_outlive_versions(
    payload: Any, canonical: str, state: States
) -> None:
    assert fingerprint(state, payload) == hashlib.sha256(canonical.encode()).hexdigest()
