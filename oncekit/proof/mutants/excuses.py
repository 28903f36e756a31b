"""Mutants that may survive, one by one, each with the reason why no test can tell them from what is there.

An excuse that no surviving mutant needs is a finding.
"""

from __future__ import annotations

_ASKING = ("CheckOwner", "ReadOwnerHistory", "RedriveOwner")
_HANDING_OVER = ("KeepInFlight.Retry[0]", "ReleaseLock.Retry[1]", "HandOver.Retry[1]", "RefuseInFullLane.Retry[1]")
_LOOKS = {
    "DescribeDeadExecution": 1,
    "ReadItsEnd": 1,
    "ReadItsRecord": 0,
    "ReadItsHistory": 1,
    "StartAgain": 1,
    "KeepDeadRequest": 1,
    "ReadOpenRecord": 1,
    "AskOwner": 1,
    "ReadOwnerEnd": 1,
    "EndLease": 1,
    "StartRecovery": 1,
    "QuarantineRecord": 1,
}
"""Tasks of recovery, and which of their Retries is for whatever passes."""
_CAP = "the longest of its waits, which double from 1 s, is shorter than either cap"
_BOTH = "no input, or no record, meets both rules"
_SPARES = "what comes after it says the same of a shorter text; it spares the evaluation"
_NOTHING = "no comparison with what is not there holds"
_FIRST = "operation:ReceiveRequest.Choices[{}].Condition: {}"

EXCUSES: dict[str, str] = {
    **{f"operation:{state}.Retry[1].MaxDelaySeconds: 11 for 10": _CAP for state in _ASKING},
    "operation:RedriveOwner.Retry[1].MaxDelaySeconds: 5 for 10": _CAP,
    "recovery:ListExecutions.Retry[0].MaxDelaySeconds: 11 for 10": _CAP,
    **{f"recovery:{state}.Retry[{which}].MaxDelaySeconds: 6 for 5": _CAP for state, which in _LOOKS.items()},
    **{f"operation:{state}.MaxDelaySeconds: 6 for 5": _CAP for state in _HANDING_OVER},
    "recovery:ReadKeptRequest.Retry[1].MaxDelaySeconds: 6 for 5": _CAP,
    "operation:KeepInFlight.Retry[0].MaxDelaySeconds: 2 for 5": "it waits for 1 s and for 2 s at most",
    _FIRST.format(1, "without $type($states.input) = 'array'"): "$count of whatever is no array is 1",
    _FIRST.format(7, "without $exists($tenant)"): _NOTHING,
    **{
        f"template:Rollouts.AllAtOnce.Minutes: {n} for 1": "a rollout in one step asks for no length of steps"
        for n in (0, 2)
    },
    "operation:RefuseRequest.Arguments.MessageBody: without $not($sendable)": (
        "what can be sent and is not sent as it is, is too large as a text, too, or is not what its text says"
    ),
    **dict.fromkeys(
        (
            "operation:ExistingStatus.Choices[19].Condition: $length($record.owner.S) > 256 with >=",
            "operation:ExistingStatus.Choices[19].Condition: 257 for ngth($record.owner.S) > 256",
            "recovery:IsItOverdue.Choices[4].Condition: $length($record.owner) > 256 with >=",
            "recovery:IsItOverdue.Choices[4].Condition: 257 for length($record.owner) > 256",
        ),
        "no ARN is so long: what follows says the same of it",
    ),
    "operation:ClassifyFailure.Choices[1]: before the one above": "no error has both names",
    "operation:ReadOwnerHistory.Assign.history: without $exists($last)": "a member of what is not there is left out",
    "operation:ReadOwnerHistory.Assign.history: without Type = 'TaskSucceeded'": "no other event has these details",
    "recovery:IsOwnerDead.Choices[0].Condition: without $exists($owner.id)": _NOTHING,
    "recovery:IsOwnerDead.Choices[2]: before the one above": "no status meets both rules",
    "operation:ReadRecord.Assign.record: without $exists($item.expiresAt)": _NOTHING,
    "operation:IsOwnerAlive.Choices[0].Condition: without $exists($record.recoveries)": _NOTHING,
    "template:Rollouts.AllAtOnce.Minutes: dropped": "a rollout in one step asks for no length of steps",
    _FIRST.format(
        16, "without $contains($replace($text, /[\\uD800-\\uDBFF][\\uDC00-...\\uD800-\\uDFFF]/)"
    ): "$string here prints such a half as an escape, as the reference does; the other may be AWS's",
    "operation:ReceiveRequest.Choices[5]: before the one above": _BOTH,
    "operation:ExistingStatus.Choices[3].Condition: without $not($exists($record.id))": (
        "the other half holds of a record that is not there, too"
    ),
    **{
        f"operation:ExistingStatus.Choices[{each}]: before the one above": _BOTH
        for each in (4, 5, 6, 7, 12, 14, 15, 18, 22)
    },
    "operation:ExistingStatus.Choices[3]: before the one above": "the rule before both takes what meets both",
    **{f"operation:HandedOver.Choices[{each}]: before the one above": _BOTH for each in (1, 2)},
    **{f"operation:IsOwnerAlive.Choices[{each}]: before the one above": _BOTH for each in (2, 4)},
    "operation:ClassifyFailure.Choices[4]: before the one above": "no error has both names",
    **{
        _FIRST.format(15, change): _SPARES
        for change in (
            "$length($string($states.input)) > 55000 with >=",
            "55001 for tring($states.input)) > 55000",
            "27500 for tring($states.input)) > 55000",
            "without $length($string($states.input)) > 55000",
        )
    },
    **{
        _FIRST.format(17, change): _SPARES
        for change in (
            "$length($string($states.input)) > 4000 with >=",
            "4001 for tring($states.input)) > 4000",
            "2000 for tring($states.input)) > 4000",
            "without $length($string($states.input)) > 4000",
        )
    },
    **{
        _FIRST.format(18, change): _SPARES
        for change in (
            "$length($brackets) > 20 with >=",
            "21 for $length($brackets) > 20",
            "10 for $length($brackets) > 20",
            "without $length($brackets) > 20",
        )
    },
}
