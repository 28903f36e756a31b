"""Which request `once up` shows how to send."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oncekit.cli.here.example import example_of


@pytest.fixture
def events(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "a-message.json").write_text('{"refillId": "r-1"}')
    return tmp_path / "events"


def request(operation: str, key: str = "k 1") -> str:
    return json.dumps({"operation": operation, "idempotencyKey": key, "payload": {"name": "it's"}})


def test_it_is_the_first_request_of_the_application(events: Path) -> None:
    (events / "restock.json").write_text(request("restock"))
    shown = example_of(events.parent / "template.yaml")
    assert (shown.file, shown.id) == ("events/restock.json", "default#restock#k 1")
    assert shown.payload == """'{"name": "it'"'"'s"}'"""


def test_a_key_that_would_end_the_comment_is_not_shown(events: Path) -> None:
    (events / "evil.json").write_text(request("evil", "k\nrm -rf ~"))
    assert example_of(events.parent / "template.yaml").operation == "charge-payment"
