"""Whatever lies on the queue or the bus is executed, refused and kept, or in a dead-letter queue; it is never lost."""

from __future__ import annotations

import json
from typing import Any

import odd
from botocore.exceptions import ClientError
from hypothesis import assume, example, given
from hypothesis import strategies as st
from odd import ENDS, OPERATION, REFUSALS, cases
from scenario import operations

from oncekit.local import LocalCloud, VirtualClock

SANE = json.dumps({"operation": OPERATION, "idempotencyKey": "k", "payload": {}})
TURNS, SECONDS = 12, 3700
"""Of the clock, until a message that starts nothing is in its dead-letter queue."""
DEAD_LETTERS = ("RequestDeadLetterQueue", "EventDeadLetterQueue")

bodies = st.one_of(
    odd.inputs().map(json.dumps),
    odd.texts.map(lambda text: text or " "),
    st.builds(lambda text, at: text[:at] or " ", odd.inputs().map(json.dumps), st.integers(0, 60)),
    odd.texts.map(lambda name: f'{{"operation": "{OPERATION}", "operation": {json.dumps(name)}, ' + SANE[1:]),
)


@cases(15)
@given(body=bodies, way=st.sampled_from(("queue", "bus")))
@example(body=SANE, way="queue")
@example(body=json.dumps({"body": SANE}), way="bus")
@example(body=SANE[:-1] + ', "x": ' + "[" * 500 + "]" * 500 + "}", way="queue")
def test_any_message_is_executed_refused_and_kept_or_dead(cloud: LocalCloud, body: str, way: str) -> None:
    assert isinstance(cloud.clock, VirtualClock)
    with odd.empty(cloud), cloud.delivering():
        assume(send(cloud, body, way))
        for _ in range(TURNS):
            cloud.settle()
            if operations(cloud) or dead(cloud):
                break
            cloud.clock.advance(SECONDS)
        ended = operations(cloud)
        assert ended or dead(cloud), "lost"
        for each in ended:
            assert each.status != "RUNNING" and each.error in ENDS, (each.error, each.cause)
            assert each.error not in REFUSALS or cloud.rejected()
        odd.assert_touched_only(cloud, read(body))


def send(cloud: LocalCloud, body: str, way: str) -> bool:
    """Whether the service takes it."""
    entry = {"Source": "odd", "DetailType": "OperationRequested", "Detail": body}
    try:
        if way == "queue":
            cloud.client("sqs").send_message(QueueUrl=cloud.outputs["RequestQueueUrl"], MessageBody=body)
            return True
        answer = cloud.client("events").put_events(Entries=[{**entry, "EventBusName": cloud.outputs["EventBusName"]}])
    except ClientError:
        return False
    return not answer["FailedEntryCount"]


def dead(cloud: LocalCloud) -> int:
    name, urls = "ApproximateNumberOfMessages", [cloud.resources[each] for each in DEAD_LETTERS]
    asked = [cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=[name]) for url in urls]
    return sum(int(each["Attributes"][name]) for each in asked)


def read(body: str) -> Any:
    """The request that it is to a strict parser, of names that come twice the last one."""
    try:
        return odd.opened(json.loads(body))
    except (ValueError, RecursionError):
        return None
