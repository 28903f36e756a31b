"""Errors leave a function under exactly the class names that the state machine catches."""

import pytest
from once import LockLostError, NeedsAttention, OnceError, PermanentError
from once.errors import (
    MESSAGE_LIMIT,
    ConditionFailed,
    InvalidEventError,
    InvalidWriteError,
    StepConflictError,
    StepMismatchError,
    WriteInDoubtError,
    as_caught,
)


class CardDeclined(PermanentError):
    pass


class LedgerUnclear(NeedsAttention):
    pass


class Overtaken(LockLostError):
    pass


class Both(PermanentError, NeedsAttention):
    pass


@pytest.mark.parametrize(
    ("raised", "caught_as"),
    [(CardDeclined, PermanentError), (LedgerUnclear, NeedsAttention), (Overtaken, LockLostError)],
)
def test_a_subclass_leaves_as_its_base_and_is_named_in_the_message(
    raised: type[OnceError], caught_as: type[OnceError]
) -> None:
    caught = as_caught(raised("no"))
    assert type(caught) is caught_as
    assert str(caught) == f"{raised.__name__}: no"


@pytest.mark.parametrize(
    ("raised", "caught_as"),
    [
        (InvalidWriteError("?"), NeedsAttention),
        (StepMismatchError("?"), NeedsAttention),
        (ConditionFailed("a step", []), ConditionFailed),
        (StepConflictError("?"), StepConflictError),
        (WriteInDoubtError("?"), WriteInDoubtError),
        (InvalidEventError("?"), InvalidEventError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_the_library_raises_goes_to_the_operator_or_the_policy(
    raised: OnceError, caught_as: type[OnceError]
) -> None:
    """None of it is the operation's answer: a duplicate must not get it replayed for good."""
    assert type(as_caught(raised)) is caught_as


def test_an_error_that_is_permanent_and_unclear_goes_to_the_operator() -> None:
    assert type(as_caught(Both("?"))) is NeedsAttention


class PaymentRequired(PermanentError):
    status = 402


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (PermanentError("no", status=400), "[400] no"),
        (PermanentError("no", status=499), "[499] no"),
        (PermanentError("no", status=399), "no"),
        (PermanentError("no", status=500), "no"),
        (PermanentError("no", status="402"), "no"),  # type: ignore[arg-type]  # what is no number is none
        (PaymentRequired("no"), "[402] PaymentRequired: no"),
        (PaymentRequired("no", status=409), "[409] PaymentRequired: no"),
    ],
    ids=str,
)
def test_a_status_from_400_to_499_stands_before_the_message(raised: PermanentError, told: str) -> None:
    assert str(as_caught(raised)) == told


def test_an_error_that_is_no_answer_has_no_status() -> None:
    class Unclear(NeedsAttention):
        status = 402

    assert str(as_caught(Unclear("no"))) == "Unclear: no"


@pytest.mark.parametrize("raised", [PermanentError, ValueError])
def test_a_message_of_two_thousand_characters_is_whole_and_one_more_is_too_many(raised: type[Exception]) -> None:
    assert str(as_caught(raised("x" * 2_000))) == "x" * 2_000
    assert str(as_caught(raised("x" * 2_001))).endswith("xxx ...")


def test_the_name_of_a_class_counts_as_a_part_of_its_message() -> None:
    left = 2_000 - len("CardDeclined: ")
    assert str(as_caught(CardDeclined("x" * left))) == f"CardDeclined: {'x' * left}"
    assert str(as_caught(CardDeclined("x" * (left + 1)))) == f"CardDeclined: {'x' * (left - 4)} ..."


@pytest.mark.parametrize("raised", [PermanentError, CardDeclined, ValueError])
def test_a_long_message_is_cut_and_says_so(raised: type[Exception]) -> None:
    caught = as_caught(raised("x" * 10_000))
    assert len(str(caught)) == MESSAGE_LIMIT
    assert str(caught).endswith(" ...")


def test_a_foreign_error_keeps_its_name_in_the_message_and_decides_nothing() -> None:
    caught = as_caught(ValueError("x" * 10_000))
    assert type(caught) is OnceError
    assert str(caught).startswith("ValueError: x")
