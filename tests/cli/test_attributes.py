"""Records whose attributes are not as Once writes them: a function with fenced steps may have."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from operating import ID, Operator, put

from oncekit.cli.deployed.records.attributes import listable, odd_attributes

ODD: list[tuple[str, dict[str, Any]]] = [
    ("fence", {"S": "1"}),
    ("attempts", {"N": "0.5"}),
    ("recoveries", {"N": "1E+40"}),
    ("expiresAt", {"S": "never"}),
    ("leaseExpiresAt", {"N": "999999999999"}),
    ("owner", {"NULL": True}),
    ("status", {"L": []}),
    ("acquiredAt", {"M": {}}),
    ("error", {"S": "no"}),
    ("error", {"M": {"name": {"N": "1"}, "message": {"S": ""}}}),
    ("requestRef", {"S": "s3://"}),
    ("requestRef", {"M": {"bucket": {"B": b"\xff"}, "key": {"NS": ["1"]}}}),
    ("resultRef", {"M": {"bucket": {"S": "b"}, "key": {"SS": ["a"]}}}),
    ("steps", {"M": {"a": {"M": {"result": {"BS": [b"x"]}}}}}),
    ("another", {"L": [{"B": b"x"}]}),
    ("request", {"M": {}}),
    ("mayStartAgain", {"S": "true"}),
    ("status", {"S": "GONE"}),
    ("owner", {"S": "o" * 1025}),
]
COMMANDS = (("show",), ("retry",), ("resolve", "--failed", "no"), ("release", "--yes"))


def spoil(operator: Operator, name: str, value: dict[str, Any]) -> dict[str, Any]:
    operator.script({"raise": "NeedsAttention"})
    operator.quarantined()
    table, client = operator.cloud.resources["IdempotencyTable"], operator.cloud.client("dynamodb")
    item: dict[str, Any] = client.get_item(TableName=table, Key={"id": {"S": ID}})["Item"] | {name: value}
    if name == "leaseExpiresAt":
        item["openShard"] = {"S": "QUARANTINED#0"}
    client.put_item(TableName=table, Item=item)
    return item


SANE: dict[str, dict[str, Any]] = {
    "id": {"S": ID},
    "status": {"S": "QUARANTINED"},
    "owner": {"S": "theirs"},
    "fence": {"N": "1"},
    "attempts": {"N": "2"},
    "acquiredAt": {"S": "2026-01-01T00:00:00.000Z"},
    "leaseExpiresAt": {"N": "1767225600"},
    "openShard": {"S": "QUARANTINED#0"},
    "error": {"M": {"name": {"S": "E"}, "message": {"S": ""}}},
    "requestRef": {"M": {"bucket": {"S": "b"}, "key": {"S": "k"}}},
}


@pytest.mark.parametrize("request_", [{"S": "{}"}, {"NULL": True}], ids=["of a fast owner", "of one that has it"])
def test_a_lock_as_each_lane_takes_it_is_not_odd(request_: dict[str, Any]) -> None:
    assert odd_attributes(SANE | {"request": request_, "mayStartAgain": {"BOOL": True}}) == []


def test_a_record_as_once_writes_it_is_not_odd() -> None:
    assert odd_attributes(SANE) == []
    assert listable(SANE) is SANE


@pytest.mark.parametrize(("name", "value"), ODD)
def test_an_odd_attribute_is_named_and_a_list_does_without_it(name: str, value: dict[str, Any]) -> None:
    spoilt = SANE | {name: value}
    assert odd_attributes(spoilt) == [name]
    assert odd_attributes(listable(spoilt)) == []
    assert listable(spoilt)["status"] == {"S": "QUARANTINED"}


@pytest.mark.parametrize("name", ["status", "owner", "fence", "attempts", "acquiredAt"])
def test_an_attribute_that_every_record_has_is_odd_where_it_is_missing(name: str) -> None:
    spoilt = {key: value for key, value in SANE.items() if key != name}
    assert odd_attributes(spoilt) == [name]
    assert odd_attributes(listable(spoilt)) == []


def test_a_record_that_holds_a_lock_has_a_lease() -> None:
    without = {key: value for key, value in SANE.items() if key != "leaseExpiresAt"}
    assert odd_attributes(without) == ["leaseExpiresAt"]
    assert odd_attributes(listable(without)) == []
    assert odd_attributes(without | {"status": {"S": "FAILED"}}) == []


@pytest.mark.parametrize(("name", "value"), [ODD[0], ODD[11], ODD[15]])
def test_a_command_refuses_an_odd_record_by_name_and_changes_nothing(
    operator: Operator, name: str, value: dict[str, Any]
) -> None:
    item = spoil(operator, name, value)
    for command, *options in COMMANDS:
        done = operator.once(command, ID, *options)
        assert done.code == 2
        assert f"attributes in a form that Once does not write: {name};" in done.err
        assert len(done.err.splitlines()) == 1
    table = operator.cloud.resources["IdempotencyTable"]
    assert operator.cloud.client("dynamodb").get_item(TableName=table, Key={"id": {"S": ID}})["Item"] == item


@pytest.mark.parametrize(("name", "value"), ODD[4:6])
def test_an_odd_record_is_listed_with_what_is_odd(operator: Operator, name: str, value: dict[str, Any]) -> None:
    spoil(operator, name, value)
    [row] = operator.once("ls", "--json").answer["operations"]
    assert (row["id"], row["status"]) == (ID, "QUARANTINED")
    assert row["error"] == {"name": "OddRecord", "message": f"attributes in a form that Once does not write: {name}"}


def test_a_forged_id_is_listed_as_odd_and_no_filter_finds_it(operator: Operator) -> None:
    for id in ("nohash", "one#hash", "default#told#k"):
        put(operator, id, "QUARANTINED", 1)
    rows = {row["id"]: row["error"] for row in operator.once("ls", "--json").answer["operations"]}
    assert {id: error and error["name"] for id, error in rows.items()} == {
        "nohash": "OddRecord",
        "one#hash": "OddRecord",
        ID: None,
    }
    assert len(operator.once("ls").out.splitlines()) == 1 + 3 + 1, "a head, three rows, and the next command"
    for chosen in (("--tenant", "default"), ("--operation", "told"), ("--tenant", "nohash"), ("--operation", "hash")):
        found = operator.once("ls", "--json", *chosen).answer["operations"]
        assert [row["id"] for row in found] == ([ID] if chosen[1] in ("default", "told") else [])


def test_huge_values_are_cut_in_a_terminal_and_whole_in_json(operator: Operator) -> None:
    long = {"S": "e" * 50_000}
    error = {"M": {"name": long, "message": long}}
    steps = {"M": {f"s{n}": {"M": {"result": long if n == 0 else {"S": "1"}}} for n in range(300)}}
    put(operator, ID, "QUARANTINED", 1, error=error, steps=steps, result=long, requestRef={"M": {"key": long}})
    for command in (("show", ID), ("ls",)):
        out = operator.once(*command, columns=140).out
        assert len(out) < 20_000 and "e…" in out
    assert "and 200 more" in operator.once("show", ID).out
    assert operator.once("show", ID, "--json").answer["record"]["error"]["name"] == "e" * 50_000


@pytest.mark.parametrize("body", [b"\xff\xfe\x1b", b'{"operation": "told", "idempotencyKey": "k", "payload": DEEP}'])
def test_a_kept_request_that_cannot_be_shown_is_said_to_be_so(operator: Operator, body: bytes) -> None:
    put(operator, ID, "QUARANTINED", 1)
    key = f"requests/default/{hashlib.sha256(ID.encode()).hexdigest()}/1.json"
    content = body.replace(b"DEEP", b"[" * 900 + b"]" * 900)
    operator.cloud.client("s3").put_object(Bucket=operator.cloud.outputs["ResponseBucketName"], Key=key, Body=content)
    shown = operator.once("show", ID, "--json").answer
    assert shown["request"] is None
    assert ("UTF-8" if body.startswith(b"\xff") else "too deep") in shown["requestMissing"]
    if body.startswith(b"\xff"):
        done = operator.once("retry", ID)
        assert done.code == 2 and "UTF-8" in done.err
