"""What DynamoDB's error for a step's transaction means: whether it may have happened, and whether to send it again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from once.errors import ConditionFailed, InvalidWriteError, OnceError, Refusal, StepConflictError
from once.values import from_dynamodb

if TYPE_CHECKING:
    from once.step import Step

IN_THE_WAY: Final = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
"""Reasons of a cancelled transaction that go away by themselves."""
UNKNOWN: Final = {
    "TransactionInProgressException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "ProvisionedThroughputExceededException",
    "RequestTimeout",
    "RequestTimeoutException",
}
"""Error codes after which an earlier send may have been applied, besides internal errors of the server (5xx)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How to continue with the step, unless the record says that it is done."""

    error: Exception
    """Raised when the answer is final, or after the last try."""
    is_final: bool
    nothing_happened: bool
    """True when the send that got this answer was not applied. False: it may have been, or may still be."""


def may_still_happen(error: ClientError | BotoCoreError) -> bool:
    """Whether a send may still be applied after this answer. botocore repeats sends, and shows the last answer."""
    if isinstance(error, ParamValidationError):
        return False
    if isinstance(error, BotoCoreError):  # a timeout, a connection that was lost: there is no answer
        return True
    return was_sent_again(error) or _is_unknown(error)


def was_sent_again(error: ClientError) -> bool:
    """Whether botocore repeated the call before it got this answer: an earlier send may still be applied."""
    return error.response["ResponseMetadata"].get("RetryAttempts", 0) > 0


def _is_unknown(error: ClientError) -> bool:
    return error.response["Error"]["Code"] in UNKNOWN or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500


def answer_to(error: ClientError | BotoCoreError, step: "Step") -> Answer:
    """Reads the error. Raises it when neither the step nor the connection is its cause: AccessDenied..."""
    if isinstance(error, ParamValidationError):
        raise InvalidWriteError(f"step {step.name!r} cannot be sent to DynamoDB: {error}") from error
    if isinstance(error, BotoCoreError):
        return Answer(error, is_final=False, nothing_happened=False)
    code = error.response["Error"]["Code"]
    if code == "TransactionCanceledException":
        return _cancelled(error, step)
    if _is_unknown(error):
        return Answer(error, is_final=False, nothing_happened=False)
    if code == "ValidationException":
        refused = InvalidWriteError(f"DynamoDB refuses step {step.name!r}: {error.response['Error']['Message']}")
        return Answer(refused, is_final=True, nothing_happened=True)
    raise error


def _cancelled(error: ClientError, step: "Step") -> Answer:
    """Reasons are in the order of the actions. The first one is the record's; it is skipped, for the record is read."""
    reasons = cast("list[dict[str, Any]]", error.response.get("CancellationReasons", []))
    codes = [reason.get("Code", "None") for reason in reasons]
    of_actions = codes[1:]
    if "ValidationError" in of_actions:
        place = of_actions.index("ValidationError")
        final: OnceError = InvalidWriteError(
            f"DynamoDB refuses action {place + 1} ({step.actions[place]}) of step {step.name!r}: "
            f"{reasons[place + 1].get('Message', '')}"
        )
        return Answer(final, is_final=True, nothing_happened=True)
    if "ConditionalCheckFailed" in of_actions:
        refusals = [
            _refusal(step, place, reasons[place + 1])
            for place, code in enumerate(of_actions)
            if code == "ConditionalCheckFailed"
        ]
        return Answer(ConditionFailed(f"step {step.name!r}", refusals), is_final=True, nothing_happened=True)
    if strange := set(codes) - IN_THE_WAY - {"None", "ConditionalCheckFailed"}:
        final = InvalidWriteError(f"DynamoDB cancels step {step.name!r}: {', '.join(sorted(strange))}")
        return Answer(final, is_final=True, nothing_happened=True)
    busy = StepConflictError(
        f"step {step.name!r} was cancelled in every try, because others wrote to the same items; nothing was written"
    )
    return Answer(busy, is_final=False, nothing_happened=True)


def _refusal(step: "Step", place: int, reason: dict[str, Any]) -> Refusal:
    action = step.actions[place]
    item = reason.get("Item")
    return Refusal(
        action=place + 1,
        kind=action.kind,
        table=action.table,
        target=action.target,
        condition=action.condition,
        item=from_dynamodb(item) if item else None,
    )
