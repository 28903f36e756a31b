"""A decorated function is the function of an operation: payload in, exact result or a known error out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aws_lambda_powertools.utilities.data_classes import SQSEvent, event_source
from once import JSON, InvalidEventError, Pending, PermanentError, Request, operation
from once.clients import client

Event = dict[str, Any]


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_text(
        json.dumps(
            {
                "type": "object",
                "required": ["name"],
                "additionalProperties": False,
                "properties": {"name": {"type": "string"}},
            }
        )
    )
    return path


def raising(error: Exception) -> Callable[..., Any]:
    @operation()
    def handler(request: Request) -> JSON:
        raise error

    return handler


def test_a_small_result_comes_back_as_its_exact_text(event: Callable[..., Event], schema: Path) -> None:
    @operation(schema=schema)
    def handler(request: Request) -> JSON:
        return {"greeting": f"Hello, {request.payload['name']}", "share": 0.1 + 0.2, "big": 2**63}

    assert handler(event("greet", {"name": "Zoë"}), None) == {
        "onceResult": '{"greeting":"Hello, Zo\\u00eb","share":0.30000000000000004,"big":9223372036854775808}',
        "replyToken": "token",
    }


def test_work_that_goes_on_elsewhere_is_told_in_place_of_a_result(
    event: Callable[..., Event], capsys: pytest.CaptureFixture[str]
) -> None:
    @operation()
    def handler(request: Request) -> JSON | Pending:
        return request.pending(3600)

    assert handler(event(), None) == {"oncePending": 3600, "replyToken": "token"}
    told = json.loads(capsys.readouterr().out)
    assert (told["disposition"], told["Pending"]) == ("PENDING", 1)


def test_the_token_is_in_no_text_of_a_request(event: Callable[..., Event]) -> None:
    request = Request.from_event({**event(), "replyToken": "a-secret"})
    assert "a-secret" not in repr(request)


def test_the_plain_function_can_be_called_without_the_library(event: Callable[..., Event]) -> None:
    @operation()
    def handler(request: Request) -> JSON:
        """Greets."""
        return request.tenant

    assert handler.__wrapped__(Request.from_event(event())) == "acme"  # type: ignore[attr-defined]
    assert handler.__doc__ == "Greets."


def test_a_refused_payload_never_reaches_business_logic(event: Callable[..., Event], schema: Path) -> None:
    started = []

    @operation(schema=schema)
    def handler(request: Request) -> JSON:
        started.append(request)
        return None

    with pytest.raises(PermanentError, match=f"payload refused by {schema.name}: /name is missing"):
        handler(event("greet", {}))
    assert started == []


def test_an_event_of_somebody_else_never_reaches_business_logic() -> None:
    with pytest.raises(InvalidEventError):
        raising(AssertionError("business logic was started"))({"name": "Ada"}, None)


def test_a_large_result_goes_to_the_bucket_byte_for_byte(aws: None, event: Callable[..., Event]) -> None:
    @operation()
    def handler(request: Request) -> JSON:
        return {"text": "é" * 100_000}

    reply = handler(event("greet", fence=4))
    text = json.dumps({"text": "é" * 100_000}, separators=(",", ":")).encode()
    ref: Any = reply["onceResultRef"]
    assert reply["replyToken"] == "token"
    assert ref["key"].startswith(f"responses/30d/acme/greet/{hashlib.sha256(b'acme#greet#key-1').hexdigest()}/4-")
    assert (ref["bytes"], ref["sha256"]) == (len(text), hashlib.sha256(text).hexdigest())
    assert client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read() == text


def test_what_is_logged_of_a_result_says_whether_it_went_to_the_bucket(
    aws: None, event: Callable[..., Event], capsys: pytest.CaptureFixture[str]
) -> None:
    @operation()
    def handler(request: Request) -> JSON:
        return "x" * int(request.payload["size"])

    for size in (10, 250_000):
        handler(event("greet", {"size": size}))
    small, large = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (small["ResultBytes"], "offloaded" in small) == (12, False)
    assert (large["ResultBytes"], large["offloaded"]) == (250_002, True)


class Declined(PermanentError):
    pass


def test_an_error_leaves_under_a_name_that_the_state_machine_catches(event: Callable[..., Event]) -> None:
    declined, unknown = Declined("no"), KeyError("no")
    with pytest.raises(PermanentError, match=r"^Declined: no$") as raised:
        raising(declined)(event())
    assert type(raised.value) is PermanentError and raised.value.__cause__ is declined
    for error in (PermanentError("no"), unknown):
        with pytest.raises(type(error)) as raised_as_it_is:
            raising(error)(event())
        assert raised_as_it_is.value is error and error.__cause__ is None


def test_a_broken_schema_is_known_before_the_first_request(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "objekt"}')
    with pytest.raises(ValueError, match=r"schema\.json"):
        operation(schema=path)


def test_an_event_of_another_operation_never_comes_to_the_handler(event: Callable[..., Event]) -> None:
    @operation()
    def greet(request: Request) -> JSON:
        return "logic"

    @operation()
    def wave(request: Request) -> JSON:
        return "waved"

    @greet.entry
    def handler(event: Any, context: Any) -> str:
        return "handler"

    both = wave.entry(handler)
    for entered in (handler, both):
        with pytest.raises(InvalidEventError, match="of operation 'bow'; this function has 'greet'"):
            entered(event("bow"), SimpleNamespace())
    assert [json.loads(both(event(name), None)["onceResult"]) for name in ("greet", "wave")] == ["logic", "waved"]


def test_what_recovery_could_not_reach_is_not_begun() -> None:
    """Its record would wait for a function that takes the event for another operation's."""

    @operation()
    def greet(request: Request) -> JSON:
        return "logic"

    @operation()
    def wave(request: Request) -> JSON:
        return "waved"

    handler = greet.entry(lambda event, context: wave.once({}, key="k"))
    with pytest.raises(RuntimeError, match="wave belongs into a handler with its entry above it"):
        handler({}, None)


def test_a_machines_event_in_a_wrapper_never_comes_to_the_handler(event: Callable[..., Event]) -> None:
    """Its answer would be the operation's. A decorator above `entry` has wrapped it."""

    @operation()
    def greet(request: Request) -> JSON:
        return "logic"

    @event_source(data_class=SQSEvent)
    @greet.entry
    def handler(event: Any, context: Any) -> str:
        return "handler"

    with pytest.raises(InvalidEventError):
        handler(event("greet"), SimpleNamespace())
