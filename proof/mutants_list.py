"""The deliberate breakages, and the tests that each must be caught by.

A mutant replaces texts, each of which must be there exactly once: when the code moves on, the list fails until it has
moved on too.
"""

from __future__ import annotations

from dataclasses import dataclass

OPERATION = "statemachine/operation.asl.yaml"
RECOVERY = "statemachine/recovery.asl.yaml"
STEP_LOG = "shared/once/step_log.py"

STATE_MACHINE = "tests/statemachine/"
SCENARIOS = "tests/scenarios/"
CONDITIONS = "tests/model/test_conditions.py"
MODEL = "tests/model/test_model.py::test_every_promise_is_kept_and_an_end_is_in_reach_from_every_state"
NAMED = f"{CONDITIONS}::test_write_goes_through_for_the_lock_that_it_names_and_for_no_other"


@dataclass(frozen=True)
class Mutant:
    """A breakage: texts to replace in a file, and the tests that see it."""

    name: str
    file: str
    edits: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]


def _mutant(name: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    return Mutant(name, file, ((old, new),), tests)


def _model(*cases: str) -> tuple[str, ...]:
    return tuple(f"{MODEL}[{case}]" for case in cases)


_ACQUIRE = '''"attribute_not_exists(id) OR expiresAt < :now OR (#owner = :me AND #status = :inProgress)"'''
_FINALIZE = '"#owner = :me AND fence = :mine AND #status IN (:inProgress, :completed)"'
_RECORD_FAILURE = '"#owner = :me AND fence = :mine AND #status IN (:inProgress, :failed)"'
_RENEW = '"#status = :inProgress AND #owner = :me AND (fence = :mine OR fence = :next)"'
_TAKE_OVER = "((#owner = :theirs AND fence = :read AND leaseExpiresAt = :over) OR (#owner = :me AND fence = :next))"
_QUARANTINE = '"#status = :inProgress AND #owner = :about AND fence = :fence"'
_LEASE_OVER = (
    "{% $record.status.S = 'IN_PROGRESS' and $number($record.leaseExpiresAt.N) < $floor($millis() / 1000) %}\"\n"
    "        Next: CheckOwner"
)
_REDRIVABLE = "'Finalize', 'RecordFailure', 'KeepRequest', 'RecordQuarantine']\n          and"
_KEEP_FIRST = (
    ("  KeepRequest:\n    Type: Task\n    Comment: Keeps", "  Swapped:\n    Type: Task\n    Comment: Keeps"),
    ("  RecordQuarantine:\n    Type: Task\n    Comment: Stops", "  KeepRequest:\n    Type: Task\n    Comment: Stops"),
    ("  Swapped:\n    Type: Task\n    Comment: Keeps", "  RecordQuarantine:\n    Type: Task\n    Comment: Keeps"),
    ("    Next: RecordQuarantine\n", "    Next: NeedsAttention\n\n"),
    ("    Next: NeedsAttention\n\n  RefuseRequest:", "    Next: RecordQuarantine\n\n  RefuseRequest:"),
)

LOCK = (
    _mutant(
        "an answer may be replaced in the very second in which it expires",
        OPERATION,
        _ACQUIRE,
        _ACQUIRE.replace("<", "<="),
        f"{CONDITIONS}::test_record_is_free_only_after_it_has_expired",
    ),
    _mutant(
        "a lost answer of AcquireLock is not recognised",
        OPERATION,
        _ACQUIRE,
        _ACQUIRE.replace(
            " OR (#owner = :me AND #status = :inProgress)", " OR (#owner = :me AND #status <> :inProgress)"
        ),
        f"{STATE_MACHINE}test_lost_answers.py::test_call_of_an_owner_may_be_lost",
    ),
    _mutant(
        "anybody acquires",
        OPERATION,
        _ACQUIRE,
        _ACQUIRE.replace("#owner = :me", "#owner <> :me"),
        f"{STATE_MACHINE}test_duplicates_in_progress.py",
    ),
    _mutant(
        "an open record has a TTL",
        OPERATION,
        "openShard = :openShard\n        REMOVE #result, resultRef, #error, requestRef, recoveries, #steps, "
        "finishedAt, expiresAt",
        "openShard = :openShard, expiresAt = :lease\n        REMOVE #result, resultRef, #error, requestRef, "
        "recoveries, #steps, finishedAt",
        *_model("large"),
    ),
    _mutant(
        "AcquireLock begins every life with fence 1",
        OPERATION,
        "fence = if_not_exists(fence, :zero) + :one",
        "fence = :zero + :one",
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_expired_record_counts_as_gone_and_the_operation_runs_again",
    ),
    Mutant(
        "AcquireLock keeps the steps of an expired record",
        OPERATION,
        (
            ("recoveries, #steps, finishedAt, expiresAt\n", "recoveries, finishedAt, expiresAt\n"),
            ('"#error": error, "#steps": steps }\n', '"#error": error }\n'),
        ),
        _model("expiry"),
    ),
    _mutant(
        "AcquireLock keeps the count of recoveries of an expired record",
        OPERATION,
        "requestRef, recoveries, #steps",
        "requestRef, #steps",
        *_model("expiry"),
        f"{CONDITIONS}::test_new_life_of_an_id_begins_with_nothing_of_the_last_one",
    ),
    _mutant(
        "Finalize without the fence", OPERATION, _FINALIZE, _FINALIZE.replace("fence = :mine", "fence >= :mine"), NAMED
    ),
    _mutant(
        "Finalize without the owner", OPERATION, _FINALIZE, _FINALIZE.replace("#owner = :me", "#owner >= :me"), NAMED
    ),
    _mutant(
        "Finalize whatever the status",
        OPERATION,
        _FINALIZE,
        _FINALIZE.replace("#status IN (:inProgress, :completed)", "(#status = :inProgress OR #status <> :completed)"),
        NAMED,
    ),
    _mutant(
        "a lost answer of Finalize is not recognised",
        OPERATION,
        _FINALIZE,
        _FINALIZE.replace("IN (:inProgress, :completed)", "= :inProgress AND :completed = :completed"),
        NAMED,
        f"{STATE_MACHINE}test_lost_answers.py::test_call_of_an_owner_may_be_lost",
    ),
    _mutant(
        "RecordFailure without the fence",
        OPERATION,
        _RECORD_FAILURE,
        _RECORD_FAILURE.replace("fence = :mine", "fence >= :mine"),
        NAMED,
    ),
    _mutant("RenewLock without the owner", OPERATION, _RENEW, _RENEW.replace("#owner = :me", "#owner >= :me"), NAMED),
    _mutant("RenewLock whatever the status", OPERATION, _RENEW, _RENEW.replace("#status = ", "#status <= "), NAMED),
    _mutant(
        "RenewLock under the same fence",
        OPERATION,
        '":next": { N: "{% $string($lock.fence + 1) %}" }',
        '":next": { N: "{% $string($lock.fence) %}" }',
        f"{STATE_MACHINE}test_errors.py::test_passing_error_is_retried_under_a_new_fence_until_it_succeeds",
    ),
    _mutant(
        "RenewLock forgets the steps",
        OPERATION,
        "openShard = :openShard, #error = :error\n",
        "openShard = :openShard, #error = :error REMOVE steps\n",
        *_model("errors"),
    ),
    _mutant(
        "RenewLock does not renew the lease",
        OPERATION,
        "SET fence = :next, attempts = :attempts, acquiredAt = :at, leaseExpiresAt = :lease, openShard",
        "SET fence = :next, attempts = :attempts, acquiredAt = :at, "
        "leaseExpiresAt = if_not_exists(leaseExpiresAt, :lease), openShard",
        f"{CONDITIONS}::test_acquisition_has_a_lease_of_its_own",
    ),
    _mutant(
        "TakeOverLock without the owner",
        OPERATION,
        _TAKE_OVER,
        _TAKE_OVER.replace("#owner = :theirs", "#owner <= :theirs"),
        NAMED,
    ),
    _mutant(
        "TakeOverLock without the fence",
        OPERATION,
        _TAKE_OVER,
        _TAKE_OVER.replace("fence = :read", "fence >= :read"),
        NAMED,
    ),
    _mutant(
        "TakeOverLock without the lease",
        OPERATION,
        _TAKE_OVER,
        _TAKE_OVER.replace("leaseExpiresAt = :over", "leaseExpiresAt <> :next"),
        f"{CONDITIONS}::test_lock_is_taken_over_only_with_the_lease_that_was_read",
    ),
    _mutant(
        "TakeOverLock does not raise the fence",
        OPERATION,
        '":next": { N: "{% $string($number($record.fence.N) + 1) %}" }',
        '":next": { N: "{% $record.fence.N %}" }',
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_lock_of_a_dead_owner_is_taken_over_after_its_lease",
    ),
    _mutant(
        "TakeOverLock does not count the attempt",
        OPERATION,
        '":attempts": { N: "{% $string($number($record.attempts.N) + 1) %}" }',
        '":attempts": { N: "{% $record.attempts.N %}" }',
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_lock_of_a_dead_owner_is_taken_over_after_its_lease",
    ),
    _mutant(
        "RecordQuarantine without the owner",
        OPERATION,
        _QUARANTINE,
        _QUARANTINE.replace("#owner = ", "#owner <= "),
        NAMED,
    ),
    _mutant(
        "a record in quarantine can expire",
        OPERATION,
        "finishedAt = :at, leaseExpiresAt = :now, openShard = :openShard",
        "finishedAt = :at, leaseExpiresAt = :now, expiresAt = :now, openShard = :openShard",
        f"{SCENARIOS}test_errors.py::test_business_logic_that_asks_for_attention_is_quarantined",
    ),
)

DECISIONS = (
    Mutant(
        "an operator is asked before the request is kept",
        OPERATION,
        _KEEP_FIRST,
        (f"{CONDITIONS}::test_request_is_kept_before_the_record_says_that_an_operator_is_needed",),
    ),
    _mutant(
        "a Lambda service error is retried",
        OPERATION,
        "- { ErrorEquals: [Lambda.TooManyRequestsException], IntervalSeconds",
        "- { ErrorEquals: [Lambda.TooManyRequestsException, Lambda.ServiceException], IntervalSeconds",
        f"{CONDITIONS}::test_business_logic_that_may_have_started_is_not_called_again",
    ),
    _mutant(
        "the fingerprint is not looked at",
        OPERATION,
        '''      - Condition: "{% $not($record.fingerprint.S = $request.fingerprint) %}"''',
        '''      - Condition: "{% $not($record.fingerprint.S = $record.fingerprint.S) %}"''',
        f"{STATE_MACHINE}test_requests.py::test_different_payload_under_the_same_key_is_refused",
    ),
    _mutant(
        "the fingerprint is that of the payload as it was written",
        OPERATION,
        "$hash($canonical($lookup($r, 'payload')), 'SHA-256')",
        "$hash($string($lookup($r, 'payload')), 'SHA-256')",
        f"{STATE_MACHINE}test_fingerprint.py",
    ),
    _mutant(
        "the tenant is left out of the id",
        OPERATION,
        "$id := $tenant & '#' & $r.operation",
        "$id := 'default#' & $r.operation",
        f"{SCENARIOS}test_answers.py::test_tenants_and_operations_are_apart_under_the_same_key",
    ),
    _mutant(
        "ReadRecord may read what was there before",
        OPERATION,
        "ConsistentRead: true\n",
        "ConsistentRead: false\n",
        *_model("large"),
    ),
    _mutant(
        "an expired record is an answer",
        OPERATION,
        "$exists($item) and $not($expired) ? $item",
        "$exists($item) ? $item",
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_zombie_whose_record_has_expired_says_that_it_lost_the_lock",
    ),
    _mutant(
        "a zombie whose record has expired starts again",
        OPERATION,
        "{% $ran and ($not($exists($record.id))",
        "{% $not($ran) and $ran and ($not($exists($record.id))",
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_zombie_whose_record_has_expired_says_that_it_lost_the_lock",
    ),
    _mutant(
        "a lease is over in its last second",
        OPERATION,
        _LEASE_OVER,
        _LEASE_OVER.replace("<", "<="),
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_lock_of_a_dead_owner_is_left_alone_within_its_lease",
    ),
    _mutant(
        "an owner that cannot be asked counts as dead",
        OPERATION,
        "[States.ALL]\n        Assign: { ownerStatus: UNKNOWN, history: { succeeded: false } }",
        "[States.ALL]\n        Assign: { ownerStatus: ABORTED, history: { succeeded: false } }",
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_owner_that_cannot_be_asked_counts_as_alive",
    ),
    _mutant(
        "an owner that waits for its redrive counts as dead",
        OPERATION,
        "{% $ownerStatus in ['FAILED',",
        "{% $ownerStatus in ['PENDING_REDRIVE', 'FAILED',",
        f"{CONDITIONS}::test_owner_counts_as_dead_only_when_it_is_known_to_have_ended",
    ),
    _mutant(
        "an owner that succeeded is not redriven but replaced",
        OPERATION,
        "and $not($redriveRefused) %}\n        Next: RedriveOwner",
        "and $not($redriveRefused) %}\n        Next: TakeOverLock",
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_owner_that_died_after_success_is_redriven_and_finishes",
    ),
    _mutant(
        "an owner that waits to start again is redriven",
        OPERATION,
        _REDRIVABLE,
        _REDRIVABLE.replace("]", ", 'BackOff']"),
        *_model("careful"),
    ),
    _mutant(
        "a success that the owner did not take is forgotten",
        OPERATION,
        '''      - Condition: "{% $history.succeeded %}"''',
        '''      - Condition: "{% $history.succeeded and false %}"''',
        *_model("large"),
    ),
    _mutant(
        "onCrash is ignored on a crash",
        OPERATION,
        "{% $record.onCrash.S = 'quarantine' and",
        "{% $record.onCrash.S = 'never' and",
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_operation_of_a_dead_owner_that_must_not_run_again_is_quarantined",
    ),
    _mutant(
        "onCrash is ignored on an error",
        OPERATION,
        "or $lock.onCrash = 'quarantine' or",
        "or",
        f"{STATE_MACHINE}test_errors.py::test_operation_that_must_not_run_again_is_quarantined_at_the_first_error",
    ),
    _mutant(
        "attempts are not counted",
        OPERATION,
        '''        attempts: "{% $lock.attempts + ($throttled ? 0 : 1) %}"''',
        '''        attempts: "{% $lock.attempts %}"''',
        f"{STATE_MACHINE}test_errors.py::test_passing_error_is_retried_under_a_new_fence_until_it_succeeds",
    ),
    _mutant(
        "a throttled call counts as an attempt",
        OPERATION,
        '''        attempts: "{% $lock.attempts + ($throttled ? 0 : 1) %}"''',
        '''        attempts: "{% $lock.attempts + 1 %}"''',
        f"{STATE_MACHINE}test_errors.py::test_throttled_call_is_not_a_start_and_waits_whatever_on_crash_says",
    ),
    _mutant(
        "take-overs have no end",
        OPERATION,
        '''      - Condition: "{% $number($record.attempts.N) >= $number('${MaxAttempts}') %}"''',
        '''      - Condition: "{% $number($record.attempts.N) >= 1000 * $number('${MaxAttempts}') %}"''',
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_take_overs_end_in_quarantine_when_attempts_are_used_up",
    ),
    _mutant(
        "recoveries have no end",
        OPERATION,
        "$number($record.recoveries.N) > $number('${MaxRecoveries}')",
        "$number($record.recoveries.N) > 1000 * $number('${MaxRecoveries}')",
        f"{STATE_MACHINE}test_recovery.py::test_recoveries_are_bounded_and_end_in_quarantine",
    ),
    _mutant(
        "a permanent error is tried again",
        OPERATION,
        "$failure.name = 'PermanentError'",
        "$failure.name = 'NoSuchError'",
        f"{SCENARIOS}test_errors.py::test_permanent_error_is_recorded_and_replayed_to_every_duplicate",
    ),
    _mutant(
        "a result that Step Functions cannot carry is tried again",
        OPERATION,
        "['NeedsAttention', 'States.DataLimitExceeded',",
        "['NeedsAttention',",
        f"{STATE_MACHINE}test_results.py::test_plain_result_that_step_functions_cannot_carry_is_quarantined",
    ),
    _mutant(
        "Finalize gives up and ends green without a write",
        OPERATION,
        "      - { ErrorEquals: [DynamoDB.ConditionalCheckFailedException], Next: ReadRecord }\n    End: true\n",
        "      - { ErrorEquals: [DynamoDB.ConditionalCheckFailedException], Next: ReadRecord }\n"
        "      - ErrorEquals: [States.ALL]\n"
        "        Assign: { record: { attempts: { N: '1' } } }\n"
        "        Next: AcknowledgeDuplicate\n"
        "    End: true\n",
        f"{STATE_MACHINE}test_recovery_by_duplicates.py::test_owner_that_died_after_success_is_redriven_and_finishes",
    ),
    _mutant(
        "the result is replayed as Step Functions would write it",
        OPERATION,
        "{ 'result': $record.result.S }",
        "{ 'result': $string($parse($record.result.S)) }",
        f"{CONDITIONS}::test_stored_text_is_the_answer_as_it_is",
    ),
    _mutant(
        "a plain result is kept though its text is not exact",
        OPERATION,
        "$fits($text) and $parse($text) = $reply ?",
        "$fits($text) ?",
        f"{CONDITIONS}::test_plain_result_is_kept_as_text_only_where_that_is_exact",
    ),
    _mutant(
        "the limit of a record does not count the id",
        OPERATION,
        "+ $request.idBytes + 1024 <=",
        "+ 0 <=",
        f"{STATE_MACHINE}test_results.py::test_record_with_its_result_stays_within_the_inline_limit",
    ),
)

RECOVERIES = (
    _mutant(
        "recovery ends a lease whatever the fence",
        RECOVERY,
        "#status = :inProgress AND #owner = :theirs AND fence = :fence\n",
        "#status = :inProgress AND #owner = :theirs AND fence <> :zero AND fence >= :fence\n",
        NAMED,
    ),
    _mutant(
        "recovery ends a lease whatever the status",
        RECOVERY,
        "#status = :inProgress AND #owner = :theirs AND fence = :fence\n",
        "#status >= :inProgress AND #owner = :theirs AND fence = :fence\n",
        NAMED,
    ),
    _mutant(
        "recovery does not count itself",
        RECOVERY,
        """          Assign: { recoveries: "{% $record.recoveries + 1 %}" }""",
        """          Assign: { recoveries: "{% $record.recoveries + 0 %}" }""",
        f"{STATE_MACHINE}test_recovery.py::test_owner_that_died_is_recovered_by_its_event_without_waiting_for_the_lease",
    ),
    _mutant(
        "recovery looks for owners that live",
        RECOVERY,
        "{% $not($owner.status in ['FAILED', 'TIMED_OUT', 'ABORTED', 'SUCCEEDED']) %}",
        "{% $not($owner.status in ['RUNNING', 'FAILED', 'TIMED_OUT', 'ABORTED', 'SUCCEEDED']) %}",
        f"{STATE_MACHINE}test_recovery.py::test_live_owner_is_left_alone_however_old_its_lease",
    ),
    _mutant(
        "recovery looks at leases that are not over",
        RECOVERY,
        "($sweeps and $record.lease >= $floor($millis() / 1000))",
        "($sweeps and $record.lease >= 2 * $floor($millis() / 1000))",
        f"{CONDITIONS}::test_sweep_leaves_a_lease_alone_that_is_not_over",
    ),
    _mutant(
        "recovery skips a shard",
        RECOVERY,
        "{% $map(['0', '1', '2', '3', '4', '5', '6', '7', '8',",
        "{% $map(['0', '1', '2', '3', '4', '5', '6', '8',",
        f"{STATE_MACHINE}test_recovery.py::test_sweep_goes_through_the_pages_of_every_shard",
    ),
    _mutant(
        "recovery reads the first page of a shard only",
        RECOVERY,
        "{% [$states.result[$exists(from)].{ 'shard': shard, 'from': from }] %}",
        "{% [$states.result[$exists(nothing)].{ 'shard': shard, 'from': from }] %}",
        f"{STATE_MACHINE}test_recovery.py::test_sweep_goes_through_the_pages_of_every_shard",
    ),
    _mutant(
        "recovery starts an execution as often as it runs",
        RECOVERY,
        "& '-' & $record.fence & '-' & $string($recoveries) %}",
        "& '-' & $substring($uuid(), 0, 8) %}",
        f"{STATE_MACHINE}test_recovery.py::test_events_and_sweeps_at_once_recover_once",
    ),
    _mutant(
        "recovery asks with what is no request of the owner",
        RECOVERY,
        '''            Input: "{% $owner.input %}"''',
        '''            Input: "{% $string($parse($owner.input)) %}"''',
        f"{CONDITIONS}::test_recovery_passes_the_owners_request_on_as_it_was_written",
    ),
    _mutant(
        "a request that died without a record is forgotten",
        RECOVERY,
        "          Default: StartAgain\n",
        "          Default: NothingLeftToDo\n",
        f"{STATE_MACHINE}test_recovery.py::test_request_that_died_before_it_had_a_record_starts_once_more",
    ),
)

LIBRARY = (
    _mutant(
        "a step without the fence",
        STEP_LOG,
        '"#owner = :owner AND fence = :fence AND #status = :inProgress"',
        '"#owner = :owner AND fence >= :fence AND #status = :inProgress"',
        *_model("errors"),
    ),
    _mutant(
        "a step without the owner",
        STEP_LOG,
        '"#owner = :owner AND fence = :fence AND #status = :inProgress"',
        '"#owner >= :owner AND fence = :fence AND #status = :inProgress"',
        f"{CONDITIONS}::test_step_goes_through_for_the_lock_that_it_names_and_once",
    ),
    _mutant(
        "a step whatever the status",
        STEP_LOG,
        '"#owner = :owner AND fence = :fence AND #status = :inProgress"',
        '"#owner = :owner AND fence = :fence AND #status >= :inProgress"',
        f"{CONDITIONS}::test_step_goes_through_for_the_lock_that_it_names_and_once",
    ),
    _mutant(
        "a first step though it was done",
        STEP_LOG,
        '"attribute_not_exists(#steps)"',
        '"attribute_not_exists(nothing) AND NOT contains(nothing, #steps)"',
        f"{CONDITIONS}::test_step_goes_through_for_the_lock_that_it_names_and_once",
    ),
    _mutant(
        "a second step though it was done",
        STEP_LOG,
        '"attribute_exists(#steps) AND attribute_not_exists(#steps.#name)"',
        '"attribute_exists(#steps)"',
        f"{CONDITIONS}::test_step_goes_through_for_the_lock_that_it_names_and_once",
    ),
    _mutant(
        "a lost answer of a step is a success",
        STEP_LOG,
        "                answer = answer_to(error, step)\n",
        "                if isinstance(error, BotoCoreError):\n                    return wanted\n"
        "                answer = answer_to(error, step)\n",
        *_model("recovery"),
    ),
    _mutant(
        "a lost answer of a step is a failure",
        STEP_LOG,
        "                answer = answer_to(error, step)\n",
        "                if isinstance(error, BotoCoreError):\n                    raise\n"
        "                answer = answer_to(error, step)\n",
        f"{CONDITIONS}::test_lost_answer_of_a_step_is_resolved_by_what_the_record_says",
    ),
    _mutant(
        "a step is looked up where the last write may be missing",
        STEP_LOG,
        "ConsistentRead=True",
        "ConsistentRead=False",
        *_model("large"),
    ),
    _mutant(
        "the provider's key has the attempt in it",
        "shared/once/request.py",
        "json.dumps([self.id, name])",
        "json.dumps([self.id, name, self.attempt])",
        "tests/unit/test_request.py",
    ),
    _mutant(
        "a result in the bucket may be written over",
        "shared/once/result_store.py",
        ', IfNoneMatch="*"',
        "",
        "tests/unit/test_result_store.py",
    ),
    _mutant(
        "results of all attempts have one key in the bucket",
        "shared/once/result_store.py",
        "/{fence}-{_sha256(owner)[:16]}.json",
        "/{_sha256(owner)[:16]}.json",
        "tests/unit/test_result_store.py",
    ),
    _mutant(
        "an error that is permanent and unclear is permanent",
        "shared/once/errors.py",
        "= (LockLostError, NeedsAttention, PermanentError)",
        "= (LockLostError, PermanentError, NeedsAttention)",
        "tests/unit/test_errors.py",
    ),
)

MUTANTS: tuple[Mutant, ...] = (*LOCK, *DECISIONS, *RECOVERIES, *LIBRARY)
