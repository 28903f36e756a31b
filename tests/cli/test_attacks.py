"""Operators' commands in between that break a promise: each test says what ought to be."""

from __future__ import annotations

from operating import ID, Operator

from local.faults import before


def test_release_refuses_an_owner_that_was_revived_though_its_description_is_old(operator: Operator) -> None:
    """DescribeExecution is eventually consistent: `once redrive` asks the history for an end, `once release` does not.

    A duplicate has redriven the dead owner, which is about to keep its answer; the operator is told that it is FAILED.
    The lock is released, the answer thrown away, and the next request has the effect a second time.
    """
    owner = operator.died_in("Finalize")
    operator.lease_over()
    codes: list[int] = []

    def release() -> None:
        with operator.cloud.stale():
            codes.append(operator.once("release", ID, "--yes").code)

    with operator.cloud.intercept(before(release, state="Finalize")):
        operator.cloud.run(operator.request())
        operator.cloud.wait(owner.arn)
    operator.cloud.run(operator.request())
    assert (codes, operator.starts) == ([3], 1)
