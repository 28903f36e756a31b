"""Records whose attributes are not as Once writes them: a function with fenced steps may have."""

from __future__ import annotations

from typing import Any

import pytest
from operating import ID, Operator

from oncekit.cli.deployed.attributes import odd_attributes, tamed

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
]
COMMANDS = (("show",), ("retry",), ("resolve", "--failed", "no"), ("release", "--yes"), ("redrive",))


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


def test_a_record_as_once_writes_it_is_not_odd() -> None:
    assert odd_attributes(SANE) == []
    assert tamed(SANE) is SANE


@pytest.mark.parametrize(("name", "value"), ODD)
def test_an_odd_attribute_is_named_and_a_list_does_without_it(name: str, value: dict[str, Any]) -> None:
    spoilt = SANE | {name: value}
    assert odd_attributes(spoilt) == [name]
    assert odd_attributes(tamed(spoilt)) == []
    assert tamed(spoilt)["status"] == {"S": "QUARANTINED"}


@pytest.mark.parametrize("name", ["status", "owner", "fence", "attempts", "acquiredAt"])
def test_an_attribute_that_every_record_has_is_odd_where_it_is_missing(name: str) -> None:
    spoilt = {key: value for key, value in SANE.items() if key != name}
    assert odd_attributes(spoilt) == [name]
    assert odd_attributes(tamed(spoilt)) == []


@pytest.mark.parametrize(("name", "value"), ODD[:1])
def test_a_command_refuses_an_odd_record_by_name_and_changes_nothing(
    operator: Operator, name: str, value: dict[str, Any]
) -> None:
    item = spoil(operator, name, value)
    for command, *options in COMMANDS:
        done = operator.once(command, ID, *options)
        assert done.code == 2
        assert f"attributes that Once does not write so: {name};" in done.err
        assert len(done.err.splitlines()) == 1
    table = operator.cloud.resources["IdempotencyTable"]
    assert operator.cloud.client("dynamodb").get_item(TableName=table, Key={"id": {"S": ID}})["Item"] == item


@pytest.mark.parametrize(("name", "value"), ODD[4:6])
def test_an_odd_record_is_listed_with_what_is_odd(operator: Operator, name: str, value: dict[str, Any]) -> None:
    spoil(operator, name, value)
    [row] = operator.once("ls", "--json").answer["operations"]
    assert (row["id"], row["status"]) == (ID, "QUARANTINED")
    assert row["error"] == {"name": "OddRecord", "message": f"attributes that Once does not write so: {name}"}
