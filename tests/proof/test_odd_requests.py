"""Whatever somebody starts an execution with is taken or refused with a reason, kept, and never another's."""

from __future__ import annotations

import json
from typing import Any

import odd
from hypothesis import example, given
from hypothesis import strategies as st
from odd import OPERATION, UNSEEN, cases
from scenario import operations

from oncekit.contract.lanes import Lane
from oncekit.local import Execution, LocalCloud

SANE = {"operation": OPERATION, "idempotencyKey": "k", "payload": {}}
lanes = st.sampled_from(("full", "fast"))


@cases(60)
@given(sent=odd.inputs(), lane=lanes)
@example(sent={**SANE, "payload": {"tenant": "other", "": "${TableName}", "{% $uuid() %}": [-0.0]}}, lane="fast")
@example(sent={"body": SANE}, lane="full")
@example(sent={**SANE, "idempotencyKey": "{% $states.input %}#acme#\u200c"}, lane="full")
@example(sent={**SANE, "payload": {"half": "\ud800"}}, lane="fast")
@example(sent={**SANE, "operation": "another"}, lane="full")
@example(sent={**SANE, "operation": 5}, lane="full")
@example(sent=[SANE, SANE], lane="fast")
def test_any_input_is_executed_or_refused_with_a_reason_and_kept(cloud: LocalCloud, sent: Any, lane: Lane) -> None:
    request = odd.opened(sent)
    with odd.empty(cloud):
        ended = cloud.run(json.dumps(sent), lane=lane)
        if odd.is_request(request) and request["operation"] == OPERATION:
            executed(cloud, ended, request, lane)
        else:
            refused(cloud, ended, sent)
        odd.assert_touched_only(cloud, request)


@cases(60)
@given(sent=odd.inputs())
@example(sent={**SANE, "payload": odd.nested(11, 1)})
@example(sent={**SANE, "payload": {"rows": [0] * 2_001}})
@example(sent={**SANE, "payload": {"text": "x" * 180_000}})
@example(sent={**SANE, "payload": {"text": '"' * 60_000}})
def test_both_lanes_refuse_the_same_requests_with_the_same_words(cloud: LocalCloud, sent: Any) -> None:
    with odd.empty(cloud):
        full, fast = (cloud.run(json.dumps(sent), lane=lane) for lane in ("full", "fast"))
        assert (full.error, full.cause) == (fast.error, fast.cause)


def executed(cloud: LocalCloud, ended: Execution, request: dict[str, Any], lane: Lane) -> None:
    """Its duplicate gets the same answer, and what has another payload gets none."""
    assert ended.status == "SUCCEEDED", (ended.error, ended.cause)
    assert ended.output["disposition"] == "EXECUTED"
    again = cloud.run(json.dumps(request), lane=lane)
    kept = ("result", "resultRef")
    assert [again.output.get(name) for name in kept] == [ended.output.get(name) for name in kept]
    other = cloud.run(json.dumps({**request, "payload": {"other": "payload"}}), lane=lane)
    assert (other.error, len(cloud.invocations())) == ("PayloadMismatch", 1)


def refused(cloud: LocalCloud, ended: Execution, sent: Any) -> None:
    assert ended.error == "InvalidRequest", (ended.error, ended.output)
    message = json.loads(ended.cause or "{}")["message"]
    assert message and not UNSEEN.search(message)
    assert cloud.invocations() == []
    for handed_over in operations(cloud):
        cloud.wait(handed_over.arn)
    [kept] = cloud.rejected()
    assert not UNSEEN.search(kept["message"])
    whole = json.loads(kept["inputText"]) if "inputText" in kept else kept.get("input")
    assert "inputOmitted" in kept or odd.same(sent, whole) or odd.same([sent], [whole]), kept
