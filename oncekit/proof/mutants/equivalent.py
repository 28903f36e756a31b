"""Changes that nobody can notice, each with its reason; one that names no mutant any more is a finding."""

from __future__ import annotations

from collections.abc import Mapping

_SHORTCUT = "it only spares a short payload the work of the clause behind it"
_NOTHING_COMPARED = "a comparison with what is not there does not hold, either"
_SHORTER = "a message that fills the record to the last byte loses 25 characters"
_MILLISECOND = "a millisecond of a sweep's time"
_PLAIN_RECOVERY = "a recovery's kept request has no choices of its sender, so that it has the defaults"
EQUIVALENT: Mapping[tuple[str, str], str] = {
    ("ReadRequest.Items", ">= in econds': $min("): "the least of nothing and 25 is 25",
    ("ReceiveRequest.Choices[0].Condition", "without $type($states.input) = 'array'"): "all but an array counts as one",
    ("ReceiveRequest.Choices[6].Condition", "without $exists($r.tenant)"): _NOTHING_COMPARED,
    ("ReceiveRequest.Choices[15].Condition", "without $length($text) > 55000"): _SHORTCUT,
    ("ReceiveRequest.Choices[15].Condition", ">= in est}.payload); $length($text) > 55000"): _SHORTCUT,
    ("ReceiveRequest.Choices[16].Condition", "without $contains($replace($text, /[\\uD800"): (
        "here $string writes half of a pair as an escape; whether AWS's engine does is unconfirmed"
    ),
    ("ReceiveRequest.Choices[17].Condition", "without $length($text) > 4000"): _SHORTCUT,
    ("ReceiveRequest.Choices[17].Condition", ">= in est}.payload); $length($text) > 4000"): _SHORTCUT,
    ("ReceiveRequest.Choices[18].Condition", "without $length($brackets) > 20"): _SHORTCUT,
    ("ReceiveRequest.Choices[18].Condition", ">= in \\}]/, ''); $length($brackets) > 20"): _SHORTCUT,
    ("AcquireLock.Arguments.ConditionExpression", "<= in _not_exists(id) AND expiresAt < :now"): "it never holds",
    ("ExecuteBusinessLogic.Catch[0].Assign.failure.message", "< in , $count), /[^ -~]/, '....')) <= 440"): _SHORTER,
    ("ExecuteBusinessLogic.Catch[1].Assign.failure.message", "< in , $count), /[^ -~]/, '....')) <= 530"): _SHORTER,
    ("ReadRecord.Assign.found", "without $exists($item.expiresAt)"): _NOTHING_COMPARED,
    ("ReadRecord.Assign.found", "without $isRecovery"): _PLAIN_RECOVERY,
    ("ExistingStatus.Choices[12].Condition", "without $isRecovery"): _PLAIN_RECOVERY,
    ("IsOwnerAlive.Choices[0].Condition", "without $isRecovery"): _PLAIN_RECOVERY,
    ("RefuseRequest.Arguments.Body", "without $exists($request)"): "what has a name of first- was read before",
    ("RefuseRequest.Arguments.Body", "without $exists($fingerprint)"): "what has a name of first- was read before",
    ("RefuseInFullLane.Retry[0]", "without States.QueryEvaluationError"): "an expression fails each time alike",
    ("IsShardSwept.Choices[0].Condition", "<= in .context.Execution.StartTime) < ($kind"): _MILLISECOND,
    ("IsThereTime.Choices[0].Condition", "<= in .context.Execution.StartTime) < 150000"): _MILLISECOND,
    ("IsTimeToCount.Choices[0].Condition", "<= in .context.Execution.StartTime) < 180000"): _MILLISECOND,
    ("AreAllCounted.Choices[0].Condition", "<= in .context.Execution.StartTime) < 210000"): _MILLISECOND,
}
"""By state with the place in it, and by what is changed, or how that begins."""


def reason(name: str) -> tuple[str, str] | None:
    """The entry of a mutant, by its name; None of one that must be noticed."""
    where, _, what = name.partition(":")[2].partition(": ")
    return next((each for each in EQUIVALENT if each[0] == where and what.startswith(each[1])), None)
