"""A failure is tried again for a sender who asks for it, never for others: the checker sees when the machine does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oncekit.proof.simulation.paths import hard

RECOVERS = f"recover-{'a' * 32}-2-0"
RETRY = {"onFailed": "retry"}

# What is replaced by what, and the name of an execution for which it is then wrong.
ASKS = "$status = 'FAILED' and $request.onFailed = 'retry' and $not($ran or $isRecovery)"
BREAKAGES = {
    "a failure is tried again for everybody": (ASKS, "$status = 'FAILED'", "sender", {}, "did not ask"),
    "recovery tries a failure again": ("/^recover-", "/^recovers-", RECOVERS, RETRY, "recovery took a free lock"),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_failure_that_is_tried_again_without_being_asked_for_is_told(
    in_world: Callable[..., Any], broken: Callable[[str, str], Path], breakage: str
) -> None:
    old, new, name, more, told = BREAKAGES[breakage]
    requests = [[hard("PermanentError"), "first"], [hard("PermanentError", **more), name]]
    assert in_world("sent", requests) == []
    assert told in " ".join(in_world("sent", requests, root=broken(old, new)))
