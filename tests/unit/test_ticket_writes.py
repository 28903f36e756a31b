"""What a ticket writes, in each state of the record that it can meet, whatever becomes of its calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from once import InvalidWriteError, Request, TicketError, TicketState, complete, extend, fail
from once.clients import client
from once.ticket import DAY, LONGEST, LONGEST_IN_ALL
from once.values import from_dynamodb, to_dynamodb
from unit.wire import Event, Rows

NOW = int(datetime.now(UTC).timestamp())
"""By the clock of this process, which the mock's answers have, less than a day before any test."""
SINCE = "2026-01-01T00:00:00.000Z"
MACHINE = "arn:aws:states:us-east-1:123456789012:execution:Operation:one"
CALLS: dict[str, Callable[[str], TicketState]] = {
    "complete": lambda ticket: complete(ticket, "shipped"),
    "fail": lambda ticket: fail(ticket, "lost at sea"),
    "extend": lambda ticket: extend(ticket, 20 * DAY),
}
EACH_CALL = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def pending(aws: None, event: Callable[..., Event]) -> Callable[..., str]:
    """Writes a record, as an execution left it an hour ago but for what is told, and returns its ticket."""

    def make(*, began: float = NOW - 3600, key: str = "key-1", **told: Any) -> str:
        given = event("greet", key=key)
        given["lock"]["ticket"] = f"{iso(began)} {'f' * 64} {given['lock']['id']}"
        record = {
            "id": given["lock"]["id"],
            "status": "IN_PROGRESS",
            "owner": MACHINE,
            "fence": 3,
            "attempts": 2,
            "fingerprint": "f" * 64,
            "onCrash": "retry",
            "acquiredAt": iso(began),
            "leaseExpiresAt": NOW + 10 * DAY,
            "openShard": "IN_PROGRESS#0",
            "request": "{}",
            "error": {"name": "Earlier", "message": "the first attempt"},
            "steps": {"pick": {"meaning": "pick", "result": "null"}},
            "pendingSince": iso(began),
            **told,
        }
        kept = {name: value for name, value in record.items() if value is not None}
        client("dynamodb").put_item(TableName="IdempotencyTable", Item=to_dynamodb(kept, "record"))
        return Request.from_event(given).ticket

    return make


Pending = Callable[..., str]


@pytest.fixture
def record(rows: Rows) -> Callable[[], dict[str, Any]]:
    def read() -> dict[str, Any]:
        [found] = rows("IdempotencyTable")
        return from_dynamodb(found)

    return read


Read = Callable[[], dict[str, Any]]


@pytest.fixture
def at_each(monkeypatch: pytest.MonkeyPatch, aws: None) -> Iterator[Callable[..., None]]:
    """Has something happen at calls of DynamoDB, below botocore, which repeats what is not answered."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None))
    events = client("dynamodb").meta.events
    hooks: list[tuple[str, Callable[..., Any]]] = []

    def register(when: str, hook: Callable[..., Any]) -> None:
        hooks.append((f"{when}.dynamodb", hook))
        events.register_first(*hooks[-1])

    yield register
    for each in hooks:  # other tests use the same client
        events.unregister(*each)


def answer_lost(operation: str, sends: int) -> Callable[..., AWSResponse | None]:
    """They arrive, and nobody hears of it: every handler of the event is called, and the first answer counts."""
    left = [operation] * sends

    def lose(request: Any, **_: object) -> AWSResponse | None:
        if not left or not request.headers["X-Amz-Target"].decode().endswith(operation):
            return None
        left.pop()
        return AWSResponse(request.url, 500, {}, SimpleNamespace(stream=lambda: iter((b"{}",))))

    return lose


def refused(operation: str, code: str, status: int) -> Callable[..., Any]:
    """What comes of one call, with all that botocore does about it."""
    left = [operation]

    def refuse(model: Any, **_: object) -> Any:
        if model.name not in left:
            return None
        left.clear()
        error = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
        return SimpleNamespace(status_code=status), error

    return refuse


class TestEnds:
    def test_a_result_ends_it_as_the_state_machine_would(self, pending: Pending, record: Read) -> None:
        assert complete(pending(), {"weight": 0.1}) == TicketState("COMPLETED", changed=True)
        ended = record()
        assert ended["owner"].startswith("ticket:")
        assert (ended["status"], ended["fence"], ended["attempts"]) == ("COMPLETED", 4, 2)
        assert ended["result"] == '{"weight":0.1}'
        gone = {"leaseExpiresAt", "openShard", "request", "error", "steps", "pendingSince"}
        assert not gone & set(ended)
        assert NOW + 30 * DAY <= ended["expiresAt"] <= NOW + 31 * DAY

    def test_a_failure_ends_it_as_a_permanent_error_does(self, pending: Pending, record: Read) -> None:
        assert fail(pending(), "card declined", status=402) == TicketState("FAILED", changed=True)
        ended = record()
        assert (ended["status"], ended["fence"]) == ("FAILED", 4)
        assert ended["error"] == {"name": "PermanentError", "message": "card declined", "status": 402}
        assert "steps" in ended
        assert not {"leaseExpiresAt", "openShard", "request", "pendingSince"} & set(ended)

    @pytest.mark.parametrize("status", [None, 200, 500])
    def test_a_status_that_is_no_refusal_is_left_out(self, pending: Pending, record: Read, status: int | None) -> None:
        fail(pending(), "no", status=status)
        assert "status" not in record()["error"]

    @pytest.mark.parametrize(
        ("message", "kept"),
        [("m" * 600, 500), ("é" * 600, 129), ("\U0001f600" * 600, 64), ("\ud800" * 600, 500)],
        ids=["ascii", "accents", "emojis", "halves"],
    )
    def test_a_message_has_the_room_that_the_state_machine_gives_it(
        self, pending: Pending, record: Read, message: str, kept: int
    ) -> None:
        fail(pending(), message)
        assert len(record()["error"]["message"]) == kept

    @pytest.mark.parametrize(
        "found",
        [
            {"pendingSince": None},
            {"leaseExpiresAt": NOW - 60},
            {"leaseExpiresAt": 0, "pendingSince": None},
            {"status": "QUARANTINED", "openShard": "QUARANTINED#0", "finishedAt": SINCE},
            {"request": None, "requestRef": {"bucket": "responses", "key": "requests/x"}},
        ],
        ids=["before it is pending", "late", "while a lock was released", "out of quarantine", "a large request"],
    )
    def test_it_ends_whatever_goes_on(self, pending: Pending, record: Read, found: dict[str, Any]) -> None:
        assert complete(pending(**found), 1) == TicketState("COMPLETED", changed=True)
        assert not {"leaseExpiresAt", "openShard", "request", "requestRef", "pendingSince"} & set(record())

    def test_the_first_end_wins(self, pending: Pending, record: Read) -> None:
        ticket = pending()
        complete(ticket, "first")
        ended = record()
        assert complete(ticket, "first") == TicketState("COMPLETED", changed=False)
        assert fail(ticket, "too late") == TicketState("COMPLETED", changed=False)
        assert extend(ticket, 60) == TicketState("COMPLETED", changed=False)
        assert record() == ended

    def test_a_result_that_is_not_json_ends_nothing(self, pending: Pending, record: Read) -> None:
        ticket = pending()
        with pytest.raises(ValueError, match="/at is a datetime"):
            complete(ticket, {"at": datetime.now(UTC)})  # type: ignore[dict-item]
        assert record()["status"] == "IN_PROGRESS"

    def test_a_large_result_is_in_the_bucket_and_a_duplicate_can_check_it(self, pending: Pending, record: Read) -> None:
        complete(pending(), "x" * 5000)
        ref = record()["resultRef"]
        assert ref["key"].startswith("responses/30d/acme/greet/") and "/4-" in ref["key"]
        body = client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
        assert (json.loads(body), ref["bytes"]) == ("x" * 5000, len(body))
        assert "result" not in record()

    def test_a_long_key_leaves_less_room_for_the_result(self, pending: Pending, record: Read) -> None:
        complete(pending(key="k" * 256), "x" * 2000)
        assert "resultRef" in record()


class TestAnotherTry:
    @EACH_CALL
    @pytest.mark.parametrize(
        "found",
        [
            {"acquiredAt": iso(NOW)},
            {"fingerprint": "e" * 64},
            {"status": "FAILED", "leaseExpiresAt": None, "expiresAt": NOW - 60},
        ],
        ids=["tried again", "another payload", "released or expired"],
    )
    def test_a_ticket_of_another_try_is_told_so(
        self, pending: Pending, record: Read, call: Callable[[str], TicketState], found: dict[str, Any]
    ) -> None:
        ticket = pending(**found)
        before = record()
        with pytest.raises(TicketError, match=r"acme#greet#key-1: the try that began at .* is over"):
            call(ticket)
        assert record() == before

    @EACH_CALL
    def test_a_ticket_without_a_record_is_told_so(
        self, pending: Pending, rows: Rows, call: Callable[[str], TicketState]
    ) -> None:
        ticket = pending()
        client("dynamodb").delete_item(TableName="IdempotencyTable", Key={"id": {"S": "acme#greet#key-1"}})
        with pytest.raises(TicketError):
            call(ticket)
        assert rows("IdempotencyTable") == []

    @pytest.mark.parametrize("text", ["", "x", "eyJ9", "é", "W10", None])
    def test_what_is_no_ticket_is_told_so(self, aws: None, text: Any) -> None:
        with pytest.raises(TicketError, match=r"no ticket: pass request\.ticket on as it is"):
            complete(text, 1)


class TestCalls:
    def test_an_end_whose_answer_was_lost_is_known_as_its_own(
        self, pending: Pending, record: Read, at_each: Callable[..., None]
    ) -> None:
        ticket = pending()
        at_each("before-send", answer_lost("UpdateItem", 1))
        assert complete(ticket, "once") == TicketState("COMPLETED", changed=True)
        assert record()["fence"] == 4

    def test_an_extension_whose_answer_was_lost_is_known_as_its_own(
        self, pending: Pending, record: Read, at_each: Callable[..., None]
    ) -> None:
        ticket = pending()
        at_each("before-send", answer_lost("UpdateItem", 1))
        assert extend(ticket, 20 * DAY) == TicketState("IN_PROGRESS", True, record()["leaseExpiresAt"])

    @EACH_CALL
    @pytest.mark.parametrize("operation", ["GetItem", "UpdateItem"])
    @pytest.mark.parametrize(("code", "status"), [("ThrottlingException", 400), ("InternalServerError", 500)])
    def test_a_table_that_does_not_answer_is_an_error_and_the_call_can_be_made_again(
        self,
        pending: Pending,
        at_each: Callable[..., None],
        call: Callable[[str], TicketState],
        operation: str,
        code: str,
        status: int,
    ) -> None:
        ticket = pending()
        at_each("before-call", refused(operation, code, status))
        with pytest.raises(ClientError):
            call(ticket)
        assert call(ticket).changed

    def test_an_end_after_all_its_answers_were_lost_is_told_what_is_there(
        self, pending: Pending, record: Read, at_each: Callable[..., None]
    ) -> None:
        ticket = pending()
        at_each("before-send", answer_lost("UpdateItem", 4))
        with pytest.raises(ClientError):
            complete(ticket, "once")
        assert complete(ticket, "once") == TicketState("COMPLETED", changed=False)
        assert record()["fence"] == 4

    @pytest.mark.parametrize("text", ["small", "x" * 5000], ids=["small", "large"])
    def test_an_attempt_that_begins_between_read_and_write_is_ended_too(
        self, pending: Pending, record: Read, at_each: Callable[..., None], text: str
    ) -> None:
        ticket = pending()
        read: list[str] = []

        def next_attempt(model: Any, **_: object) -> None:
            if model.name == "GetItem" and not read:
                read.append(model.name)
                client("dynamodb").update_item(
                    TableName="IdempotencyTable",
                    Key={"id": {"S": "acme#greet#key-1"}},
                    UpdateExpression="SET fence = fence + :one REMOVE pendingSince",
                    ExpressionAttributeValues={":one": {"N": "1"}},
                )

        at_each("after-call", next_attempt)
        assert complete(ticket, text) == TicketState("COMPLETED", changed=True)
        assert record()["fence"] == 5
        if text != "small":
            assert "/5-" in record()["resultRef"]["key"]


class TestExtend:
    def test_it_keeps_the_operation_open_for_longer(self, pending: Pending, record: Read) -> None:
        ticket = pending()
        before = record()
        told = extend(ticket, 20 * DAY)
        assert told == TicketState("IN_PROGRESS", changed=True, lease_expires_at=record()["leaseExpiresAt"])
        assert NOW + 20 * DAY <= record()["leaseExpiresAt"] < NOW + 21 * DAY
        assert record() | {"leaseExpiresAt": 0} == before | {"leaseExpiresAt": 0}

    @pytest.mark.parametrize(
        ("found", "told"),
        [
            ({}, TicketState("IN_PROGRESS", False, NOW + 10 * DAY)),
            ({"leaseExpiresAt": 0, "pendingSince": None}, TicketState("IN_PROGRESS", False, 0)),
            ({"status": "QUARANTINED", "leaseExpiresAt": NOW - 9}, TicketState("QUARANTINED", False, NOW - 9)),
            (
                {"status": "FAILED", "leaseExpiresAt": None, "expiresAt": NOW + DAY},
                TicketState("FAILED", changed=False),
            ),
        ],
        ids=["shorter", "a released lock", "quarantined", "ended"],
    )
    def test_it_never_shortens_and_never_revives(
        self, pending: Pending, record: Read, found: dict[str, Any], told: TicketState
    ) -> None:
        ticket = pending(**found)
        before = record()
        assert extend(ticket, 60) == told
        assert record() == before

    def test_it_extends_one_that_has_run_out_and_no_attempt_that_runs(self, pending: Pending) -> None:
        assert extend(pending(fence=4, leaseExpiresAt=NOW - 60), 60).changed
        assert not extend(pending(fence=4, pendingSince=None, leaseExpiresAt=NOW - 60), 60).changed

    @pytest.mark.parametrize("seconds", [0, -1, 1.5, 60.0, True, "60", None, LONGEST + 1])
    def test_a_time_that_is_none_is_refused(self, pending: Pending, record: Read, seconds: Any) -> None:
        ticket = pending()
        before = record()
        with pytest.raises(InvalidWriteError, match=r"a whole number of seconds, 1 to 7776000 \(90 days\), not"):
            extend(ticket, seconds)
        assert record() == before

    def test_in_all_it_is_open_for_150_days_at_most(self, pending: Pending) -> None:
        ticket = pending(began=NOW - 100 * DAY)
        assert extend(ticket, 49 * DAY).changed
        with pytest.raises(InvalidWriteError, match="until 150 days after that"):
            extend(ticket, 51 * DAY)
        assert timedelta(seconds=LONGEST_IN_ALL) == timedelta(days=150)
