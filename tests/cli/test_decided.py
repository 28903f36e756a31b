"""Who decided that: an operator's act is kept with the record, by whom, when and why, within its 4 KiB."""

from __future__ import annotations

import datetime
import getpass
import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError
from invoking import A_LEASE, DIRECT, Direct, ask
from operating import ID, Operator

from oncekit.contract.quotas import MOST_INLINE_BYTES
from oncekit.stack.acts import who
from oncekit.stack.session import Place, session_at
from oncekit.stack.stack import Stack

WHY = "the provider says that it was charged"
ACTS = pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("retry", ["retry"]),
        ("resolve", ["resolve", "--result", "-"]),
        ("fail", ["resolve", "--failed", "refunded"]),
        ("release", ["release", "--yes"]),
        ("forget", ["release", "--forget", "--yes"]),
    ],
)
ON_AWS = "arn:aws:cloudformation:eu-west-1:123456789012:stack/once/1"


def act(operator: Operator, given: Sequence[str], *because: str, stdin: str = "7") -> Any:
    command, *more = given
    return operator.once(command, ID, *more, *because, stdin=stdin)


def decided(operator: Operator) -> list[Mapping[str, str]]:
    found: list[Mapping[str, str]] = operator.record.get("decisions", [])
    return found


@ACTS
def test_the_record_says_who_decided_when_and_why(operator: Operator, verb: str, given: list[str]) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    now = operator.cloud.clock.now()
    assert act(operator, given, "--because", WHY).code == 0
    [kept] = decided(operator)
    assert (kept["verb"], kept["who"], kept["because"]) == (verb, getpass.getuser(), WHY)
    assert abs(datetime.datetime.fromisoformat(kept["at"]).timestamp() - now) < 60


def test_a_reason_that_is_no_text_is_refused_before_anything_is_done(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    done = act(operator, ["retry"], "--because", "caf\udce9")
    assert done.code == 2 and "not UTF-8" in done.err and operator.record["status"] == "QUARANTINED"


@pytest.mark.parametrize("lane", ["full", "fast"])
@ACTS
def test_who_decided_is_known_after_the_next_request(
    operator: Operator, verb: str, given: list[str], lane: Any
) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()
    assert act(operator, given).code == 0
    operator.cloud.settle()
    operator.cloud.run(operator.request(), lane=lane)
    assert operator.record["status"] == ("FAILED" if verb == "fail" else "COMPLETED")
    assert [(each["verb"], "because" in each) for each in decided(operator)] == [(verb, False)]


def test_who_decided_is_known_after_the_next_request_in_the_direct_lane(operator: Operator) -> None:
    function = Direct(operator.cloud)
    function.invoke(ask("k", {"die": "after"}))
    operator.cloud.clock.advance(A_LEASE + 3600)  # type: ignore[attr-defined]
    assert operator.once("release", DIRECT, "--yes", "--because", WHY).code == 0
    function.invoke(ask("k"))
    record = operator.cloud.record(DIRECT) or {}
    assert record["status"] == "COMPLETED" and record["decisions"][0]["because"] == WHY


def test_the_newest_decisions_are_kept_as_far_as_there_is_room(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    for number in range(8):
        assert act(operator, ["retry"], "--because", f"try {number}").code == 0
        operator.cloud.settle()
    said = [each["because"] for each in decided(operator)]
    assert 1 < len(said) < 8 and said == [f"try {number}" for number in range(8)][-len(said) :]


@pytest.mark.parametrize("why", ["", "as the provider says"])
def test_beside_a_request_of_the_most_bytes_the_record_stays_small(operator: Operator, why: str) -> None:
    operator.script({"raise": "NeedsAttention"})
    payload = {"a": "x" * 2800}
    assert operator.cloud.run({**operator.request(), "payload": payload}).error == "NeedsAttention"
    assert len(operator.record["request"]) > 2800
    done = act(operator, ["retry"], *(["--because", why * 8] if why else []))
    operator.cloud.settle()
    if why:
        assert done.code == 2 and "room for" in done.err and "decisions" not in operator.record
    else:
        assert done.code == 0 and decided(operator)[-1]["verb"] == "retry"
    assert len(json.dumps(operator.record, default=str)) < MOST_INLINE_BYTES + 200  # quotes and commas


def test_a_reason_that_does_not_fit_is_refused_and_nothing_is_done(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    before = operator.quarantined()
    refused = act(operator, ["release", "--yes"], "--because", "é" * 300)
    assert (refused.code, operator.record) == (2, before) and "room for" in refused.err and ID in refused.err


def test_whoever_forgets_a_request_forgets_why_others_decided(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    act(operator, ["resolve", "--failed", "no"], "--because", "Jane Doe asked for it")
    act(operator, ["release", "--forget", "--yes"])
    assert [each["verb"] for each in decided(operator)] == ["forget"]


@pytest.mark.parametrize("given", [["retry", "--rejected"], ["release", "--rejected", "--error", "E", "--yes"]])
def test_a_refused_request_has_no_record_that_keeps_a_reason(operator: Operator, given: list[str]) -> None:
    done = operator.once(*given, "--because", WHY)
    assert done.code == 2 and "--because" in done.err


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As a command has it on AWS."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    return session_at(Place("once", region="eu-west-1"))


def test_on_aws_it_is_the_caller_whom_sts_names(session: Any) -> None:
    jane = "arn:aws:sts::123456789012:assumed-role/Operator/jane"
    answer = f"<R><GetCallerIdentityResult><Arn>{jane}</Arn></GetCallerIdentityResult></R>"
    raw = SimpleNamespace(stream=lambda: [answer.encode()])
    session.events.register("before-send.sts", lambda **_: AWSResponse("", 200, {}, raw))
    assert who(Stack("once", {}, {}, session, id=ON_AWS)) == jane


def test_a_decision_does_not_wait_for_sts_to_answer(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked once, for a few seconds."""
    asked: list[str] = []
    clients: list[Any] = []
    client = session.client

    def hangs(request: Any, **_: Any) -> None:
        asked.append(request.url)
        raise ReadTimeoutError(endpoint_url=request.url)

    def made(*about: Any, **more: Any) -> Any:
        clients.append(client(*about, **more))
        return clients[-1]

    monkeypatch.setattr(session, "client", made)
    session.events.register("before-send.sts", hangs)
    told = who(Stack("once", {}, {}, session, id=ON_AWS))
    assert told.startswith(getpass.getuser()) and "STS did not answer" in told
    [config] = [each.meta.config for each in clients]
    assert len(asked) == 1 and config.connect_timeout + config.read_timeout < 10
