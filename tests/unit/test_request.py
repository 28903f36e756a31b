"""The event of the state machine becomes a request, or an error that names the field."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once import InvalidEventError, InvalidWriteError, Lock, Request
from once.ticket import Ticket

Event = dict[str, Any]


def test_every_member_of_the_event_is_in_the_request(event: Callable[..., Event]) -> None:
    request = Request.from_event(event("greet", {"name": "Ada"}, fence=3))
    assert request == Request(
        operation="greet",
        tenant="acme",
        idempotency_key="key-1",
        payload={"name": "Ada"},
        attempt=3,
        lock=Lock(
            table="IdempotencyTable",
            id="acme#greet#key-1",
            owner="arn:aws:states:us-east-1:123456789012:execution:Operation:one",
            fence=3,
            lease_expires_at=1_795_255_200,
            ticket=f"2026-11-21T08:00:00.000Z {'f' * 64} acme#greet#key-1",
        ),
        retention_days=30,
        response_bucket="responses",
        reply_token="token",
    )
    assert request.id == "acme#greet#key-1"


def test_a_key_with_the_separator_in_it_is_a_key_like_any_other(event: Callable[..., Event]) -> None:
    assert Request.from_event(event(key="a#b#c")).id == "acme#greet#a#b#c"


def test_a_whole_number_may_be_written_as_a_fraction(event: Callable[..., Event]) -> None:
    given_event = event()
    given_event["lock"]["fence"] = 7.0
    fence = Request.from_event(given_event).lock.fence
    assert (fence, type(fence)) == (7, int)


def test_what_a_newer_state_machine_adds_is_left_alone(event: Callable[..., Event]) -> None:
    newer = event()
    newer["deadline"] = 1
    newer["lock"]["zone"] = "b"
    assert Request.from_event(newer) == Request.from_event(event())


FIELDS = ["operation", "tenant", "idempotencyKey", "payload", "attempt", "lock"]
FIELDS += ["retentionDays", "responseBucket", "replyToken"]
FIELDS += [f"lock.{each}" for each in ("table", "id", "owner", "fence", "leaseExpiresAt", "ticket")]


@pytest.mark.parametrize("field", FIELDS)
def test_a_missing_field_is_named(event: Callable[..., Event], field: str) -> None:
    given_event = event()
    *outer, name = field.split(".")
    del (given_event[outer[0]] if outer else given_event)[name]
    with pytest.raises(InvalidEventError, match=rf"event\.{field} is missing"):
        Request.from_event(given_event)


def test_who_gets_a_payload_alone_is_told_where_that_comes_from_and_what_to_do() -> None:
    with pytest.raises(InvalidEventError, match=r"payload alone.* PayloadOnlyOperations .*`once retry ID`"):
        Request.from_event({"name": "Ada"})


@pytest.mark.parametrize(
    ("field", "value", "must"),
    [
        ("operation", 1, "be a string"),
        ("payload", [], "be an object"),
        ("attempt", True, "be a whole number"),
        ("attempt", 1.5, "be a whole number"),
        ("lock", "mine", "be an object"),
        ("replyToken", 1, "be a string"),
        ("tenant", "other", "be tenant#operation#idempotencyKey"),
    ],
)
def test_a_wrong_field_is_named_with_what_it_must_be(
    event: Callable[..., Event], field: str, value: object, must: str
) -> None:
    with pytest.raises(InvalidEventError, match=rf"event\.({field}|lock\.id) must {must}"):
        Request.from_event({**event(), field: value})


@pytest.mark.parametrize("not_an_event", [None, "charge it", [], 1])
def test_something_that_is_no_event_is_refused(not_an_event: object) -> None:
    with pytest.raises(InvalidEventError, match="event must be an object"):
        Request.from_event(not_an_event)


def test_a_providers_key_is_the_same_in_every_attempt_of_every_owner(event: Callable[..., Event]) -> None:
    first, second = event(fence=1), event(fence=2)
    second["lock"]["owner"] += "-other"
    assert Request.from_event(first).provider_key("charge") == Request.from_event(second).provider_key("charge")


def test_a_providers_key_is_known_beforehand_for_ever(event: Callable[..., Event]) -> None:
    # Frozen: a release that computed it differently would charge everything in flight again.
    expected = "d10cf98cab8a7ea0fd9ecd4926c4951515f08e30955cf732ef69ad7ff4a94257"
    assert Request.from_event(event()).provider_key("charge") == expected


@given(
    one=st.tuples(st.text(min_size=1), st.text(min_size=1)), other=st.tuples(st.text(min_size=1), st.text(min_size=1))
)
def test_two_calls_share_a_providers_key_only_if_they_are_the_same(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    def key(idempotency_key: str, name: str) -> str:
        lock = Lock("table", f"acme#greet#{idempotency_key}", "owner", 1, 0, "ticket")
        return Request("greet", "acme", idempotency_key, {}, 1, lock, 30, "responses", "token").provider_key(name)

    assert (key(*one) == key(*other)) == (one == other)


def test_a_providers_key_needs_a_name(event: Callable[..., Event]) -> None:
    with pytest.raises(ValueError, match="name of the call"):
        Request.from_event(event()).provider_key("")


# ---- work that goes on elsewhere ----


@given(key=st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=256))
def test_a_ticket_can_stand_in_a_link_whatever_the_key_is(key: str) -> None:
    lock = Lock("table", f"acme#greet#{key}", "owner", 1, 0, f"2026-11-21T08:00:00.000Z {'f' * 64} acme#greet#{key}")
    ticket = Request("greet", "acme", key, {}, 1, lock, 30, "responses", "token").ticket
    assert re.fullmatch(r"[\w-]+", ticket, re.ASCII)
    read = Ticket.read(ticket)
    assert (read.table, read.bucket, read.days, read.of) == ("table", "responses", 30, lock.ticket)
    assert (read.acquired_at, read.fingerprint, read.id) == ("2026-11-21T08:00:00.000Z", "f" * 64, lock.id)


def test_work_elsewhere_has_one_name_in_all_attempts_of_a_try(event: Callable[..., Event]) -> None:
    first, later = event(fence=1), event(fence=2) | {"retentionDays": 7, "responseBucket": "another"}
    later["lock"]["owner"] += "-other"
    name = Request.from_event(first).work_name
    assert Request.from_event(later).work_name == name
    assert re.fullmatch(r"[0-9a-f]{64}", name)
    again = event()
    again["lock"]["ticket"] = again["lock"]["ticket"].replace("08:00", "08:01")
    assert Request.from_event(again).work_name != name


@pytest.mark.parametrize("seconds", [0, -1, 3600.0, True, "60", None, 90 * 86_400 + 1])
def test_a_time_for_which_nothing_can_be_pending_is_refused(event: Callable[..., Event], seconds: Any) -> None:
    with pytest.raises(InvalidWriteError, match="a whole number of seconds, 1 to 7776000"):
        Request.from_event(event()).pending(seconds)


def test_a_try_cannot_be_pending_for_ever(event: Callable[..., Event]) -> None:
    old = event()
    old["lock"]["leaseExpiresAt"] += 100 * 86_400
    assert Request.from_event(old).pending(49 * 86_400).seconds == 49 * 86_400
    with pytest.raises(InvalidWriteError, match="until 150 days after that"):
        Request.from_event(old).pending(51 * 86_400)
