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
    missing = [word for word in words if word not in way.assigned["reason"]]
    assert missing == [], way.assigned["reason"]
    return True


def made(state: States, given: Any) -> dict[str, Any]:
    """What is assigned for a request that is taken."""
    way = received(state, given)
    assert way.to == "AcquireLock", way
    return way.assigned


def test_a_request_is_one_object_by_itself_in_a_list_or_in_the_body_of_a_message(state: States) -> None:
    requests = [made(state, given)["request"] for given in (LEAST, [LEAST], [{"body": LEAST}], {"body": LEAST})]
    assert all(each == requests[0] for each in requests)
    for given in ([], [LEAST, LEAST], ["text", "text"]):
        assert is_refused(state, given, f"array of {len(given)} requests: send one request per execution")
    for none in ("text", 7, True, [None], [[LEAST]]):
        assert is_refused(state, none, "a request is one JSON object with operation, idempotencyKey and payload"), none


@pytest.mark.parametrize(
    "beside",
    [{"body": LEAST, "more": 1}, {"body": "text"}, {"body": [LEAST]}, {"body": None}, {"body": {"body": LEAST}}],
)
def test_nothing_stands_beside_a_body_which_is_an_object(beside: Any, state: States) -> None:
    for given in (beside, [beside]):
        assert is_refused(state, given, "a request")


def test_a_field_that_nobody_knows_is_refused_and_all_that_are_known_are_told(state: States) -> None:
    told = "operation, tenant, idempotencyKey, payload, onConflict, onCrash and onFailed, and no other field"
    assert is_refused(state, {**LEAST, "amount": 1}, told)
    everything = {**LEAST, "tenant": "t", "onConflict": "wait", "onCrash": "retry", "onFailed": "retry"}
    assert not is_refused(state, everything)
    assert is_refused(state, [{"body": {**everything, "amount": 1}}], told)


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


@pytest.mark.parametrize("name", ["other", "charge-2", "my-charge", "live"])
def test_an_operation_is_one_that_has_a_function(name: str, state: States) -> None:
    given = {**LEAST, "operation": name}
    assert is_refused(state, given, f"operation {name} has no function; there are: charge,a,")
    assert made(state, LEAST)["function"] == "my-charge:live"


@pytest.mark.parametrize(
    ("key", "good"),
    [("k", True), ("k" * 256, True), ("k" * 257, False), ("", False), (" ", True), ("#", True), (1, False)],
)
def test_a_key_is_any_text_of_at_most_256_characters(key: Any, good: bool, state: States) -> None:
    told = () if good else ("idempotencyKey must be a string of 1 to 256 characters",)
    assert is_refused(state, {**LEAST, "idempotencyKey": key}, *told) is not good


@pytest.mark.parametrize("key", ["null", "undefined", "None"])
def test_a_key_that_is_the_text_of_a_missing_value_is_refused(state: State, key: str) -> None:
    """A rule makes it of a null, and a template literal of what is not there: all such requests would be one."""
    for each in ({**LEAST, "idempotencyKey": key}, [{"body": {**LEAST, "idempotencyKey": key}}]):
        assert is_refused(state, each, "idempotencyKey is the text null, undefined or None")
    assert not is_refused(state, {**LEAST, "idempotencyKey": f"{key}-1"})


PRINTED_BY_NOBODY = ["\0", "\x1b]52;c;eA==\x07", "\n", "\x1f", "\x7f", "\x80", "\x9b2J", "\x9f"]
PRINTED_BY_NOBODY += ["\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"]
PRINTED_BY_NOBODY += ["\u061c", "\u200b", "\u200e", "\u200f", "\u2060", "\ufeff"]


@pytest.mark.parametrize("text", PRINTED_BY_NOBODY, ids=ascii)
def test_what_could_change_a_line_that_is_printed_is_in_no_key_and_in_no_refusal(text: str, state: States) -> None:
    for given in ({**LEAST, "idempotencyKey": f"a{text}b"}, [{"body": {**LEAST, "idempotencyKey": text}}]):
        assert is_refused(state, given, "idempotencyKey has a control character, a line separator")
    for given in ({**LEAST, f"a{text}b": 1}, {**LEAST, "operation": text}, {**LEAST, "onCrash": text}):
        assert received(state, given).assigned["reason"].isprintable()
    assert not is_refused(state, {**LEAST, "payload": {text: text}}), "a payload may have any"


PRINTED = [" ", "~", "\xa0", "é", "\u2027", "\u202f", "\u2065", "\u206a", "😀", "\u061b", "\u200a"]
PRINTED += ["\u200c", "👩\u200d🚀", "\u2010", "\ufefe"]


@pytest.mark.parametrize("text", PRINTED, ids=ascii)
def test_any_other_character_may_be_in_a_key(text: str, state: States) -> None:
    assert made(state, {**LEAST, "idempotencyKey": text})["request"]["idempotencyKey"] == text


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
    first = POLICIES[field][0]
    assert made(state, LEAST)["request"][field] == first
    for policy in POLICIES[field]:
        assert made(state, {**LEAST, field: policy})["request"][field] == policy
    for other in ("never", "", None, 1, [first]):
        for given in ({**LEAST, field: other}, {"body": {**LEAST, field: other}}):
            assert is_refused(state, given, f"{field} must be '{first}'", f"(leave it out for '{first}')"), other


def with_payload(text: str) -> dict[str, Any]:
    return {**LEAST, "payload": {"t": text}}


def size_of(given: Any) -> int:
    return len(json.dumps(given, separators=(",", ":"), ensure_ascii=False))


SPACE = size_of({"t": ""})


def test_a_payload_has_at_most_180000_bytes(state: States) -> None:
    told = ("larger than 180,000 bytes", "put the data in S3")
    left = 180_000 - SPACE
    assert not is_refused(state, with_payload("x" * left))
    assert is_refused(state, with_payload("x" * (left + 1)), *told)
    assert not is_refused(state, with_payload("é" * (left // 4) + "~" * (left % 4)))
    assert is_refused(state, with_payload("é" * (left // 4) + "~" * (left % 4 + 1)), *told)


def test_a_payload_written_as_a_string_has_at_most_220000_bytes(state: States) -> None:
    left = 220_000 - size_of([json.dumps({"t": ""}, separators=(",", ":"))])
    quotes = '"' * (left // 4)  # each is four characters there: a quote and a backslash, and a backslash before each
    assert not is_refused(state, with_payload(quotes + "x" * (left % 4)))
    assert is_refused(state, with_payload(quotes + "x" * (left % 4 + 1)), "larger than 220,000 bytes", "counts twice")


def test_a_payload_has_at_most_2000_values(state: States) -> None:
    def values(count: int) -> dict[str, Any]:
        others = (
            2  # brackets and commas are counted: a brace, a bracket, and one comma fewer than numbers, and one more
        )
        return {**LEAST, "payload": {"a": [1] * (count - others), "t": '[,{"\\' * 9}}

    assert not is_refused(state, values(2_000))
    assert is_refused(state, values(2_001), "more than 2,000 values", "put the data in S3")


@pytest.mark.parametrize("text", ["[,{" * 30_000, '",[' * 20_000, "\\" * 20_000 + '",[' * 9_000], ids=len)
def test_a_text_is_one_value_whatever_is_in_it(text: str, state: States) -> None:
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
    assert is_refused(state, [{"body": {**LEAST, "payload": nested(11)}}], "deeper than 10 levels", "in a string")


MOST = 9_007_199_254_740_991


@pytest.mark.parametrize("number", [MOST + 1, MOST + 2, 12345678901234567890, 2.0**53, 1e21, 1e300, 1.797e308])
def test_a_whole_number_that_a_double_may_round_is_refused(number: float, state: States) -> None:
    """Two of them can be one double: another customer's id, and one payload."""
    for payload in ({"n": number}, {"a": [{"b": [1, -number]}]}, {"a": [[number]], "b": "x"}):
        for given in ({**LEAST, "payload": payload}, [{"body": {**LEAST, "payload": payload}}]):
            assert is_refused(state, given, "whole number beyond 9007199254740991", "as a string")


@pytest.mark.parametrize("value", [MOST, -MOST, float(MOST), 0.1 + 0.2, 5e-324, str(MOST + 2), {str(MOST + 2): 1}])
def test_every_other_number_is_taken(value: Any, state: States) -> None:
    assert not is_refused(state, {**LEAST, "payload": {"a": [value], "b": {"c": value}}})


@pytest.mark.parametrize("half", ["\ud800", "\udbff", "\udc00", "\udfff", "\\\ud800", "\ud83d \ude00", "\ude00\ud83d"])
def test_half_of_a_character_is_refused(half: str, state: States) -> None:
    for given in (with_payload(half), with_payload(f"a{half}b"), {**LEAST, "idempotencyKey": f"k{half}"}):
        assert is_refused(state, given, "surrogate", "send valid Unicode")


@pytest.mark.parametrize(
    "whole", ["\U0001f600", "\U00010000", "\U0010ffff", "\ud7ff", "\ue000", "\\ud800", "\\\\ud800"], ids=ascii
)
def test_a_whole_character_and_the_text_of_an_escape_are_accepted(whole: str, state: States) -> None:
    assert not is_refused(state, with_payload(whole))


def test_a_request_has_one_id_over_tenant_operation_and_key(state: States) -> None:
    request = made(state, {**LEAST, "tenant": "acme", "idempotencyKey": "kéy"})["request"]
    assert request["id"] == "acme#charge#kéy"
    assert request["idHash"] == hashlib.sha256("acme#charge#kéy".encode()).hexdigest()
    assert made(state, LEAST)["request"]["id"] == "default#charge#k"


# ---- where a request is kept ----

INLINE = 4096
"""InlineLimitBytes, by default."""


def kept(state: States, given: Any) -> Any:
    return made(state, given)["kept"]


@pytest.mark.parametrize("given", [LEAST, [LEAST], {"body": LEAST}, {**LEAST, "payload": {"a": "é😀", "n": 1.25}}])
def test_a_small_request_is_kept_as_exact_text(given: Any, state: States) -> None:
    """What a copy can ask besides is not in it."""
    request = (given[0] if isinstance(given, list) else given).get("body", given if isinstance(given, dict) else LEAST)
    for asked in (given, *([] if "operation" not in given else [{**given, "onCrash": "quarantine"}])):
        found = kept(state, asked)
        assert (json.loads(found["text"]), found["isLarge"]) == ({**request, "tenant": "default"}, False)


def test_a_request_that_would_make_the_record_large_is_kept_as_an_object(state: States) -> None:
    left = INLINE - 1200 - 4 * len("k") - size_of({**with_payload(""), "tenant": "default"})
    for text, is_large in (("x" * left, False), ("x" * (left + 1), True), ("é" * (left // 4), False)):
        assert kept(state, with_payload(text))["isLarge"] is is_large
    assert kept(state, with_payload("é" * (left // 4 + 1)))["isLarge"]


@pytest.mark.parametrize("number", [1234567890.1234567, 0.1 + 0.2, 1.0000000000000002])
def test_a_request_that_text_would_round_is_kept_as_an_object(number: float, state: States) -> None:
    assert kept(state, {**LEAST, "payload": {"n": number}}) == {"isLarge": True}
