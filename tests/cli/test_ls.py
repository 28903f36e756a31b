"""`once ls`."""

from __future__ import annotations

import hashlib
import itertools
import re
from typing import Any

from operating import ID, Operator, put


def in_one_shard(count: int) -> list[str]:
    ids = (f"acme#told#{n}" for n in itertools.count())
    return list(itertools.islice((id for id in ids if hashlib.sha256(id.encode()).hexdigest()[0] == "7"), count))


def listed(operator: Operator, *options: str) -> tuple[list[str], bool]:
    answer = operator.once("ls", "--json", *options).answer
    assert list(answer) == ["operations", "isComplete"]
    return [each["id"] for each in answer["operations"]], answer["isComplete"]


def test_ls_pages_through_a_shard_and_shows_the_oldest_lease_first(operator: Operator) -> None:
    ids = in_one_shard(30)
    for number, id in enumerate(ids):
        put(operator, id, "IN_PROGRESS", 1000 - number)
    assert listed(operator, "--limit", "7") == (ids[::-1][:7], False)
    assert listed(operator, "--limit", "30") == (ids[::-1], True)
    assert listed(operator) == (ids[::-1], True)


def test_ls_reads_no_more_than_it_shows(operator: Operator) -> None:
    for number, id in enumerate(in_one_shard(30)):
        put(operator, id, "IN_PROGRESS", number + 1)
    sizes: list[int] = []

    def count(model: Any, params: Any, **_: Any) -> None:
        if model.name == "BatchGetItem":
            sizes.append(str(params["body"]).count("acme#told#"))

    connect = operator._connect

    def watched(*place: Any, **needed: Any) -> Any:
        stack = connect(*place, **needed)
        operator.hear(stack.client("dynamodb"), "before-call", count)
        return stack

    operator._connect = watched  # type: ignore[method-assign]
    assert len(listed(operator, "--limit", "3")[0]) == 3
    assert sum(sizes) == 3


def test_ls_chooses_by_status_lease_tenant_and_operation(operator: Operator) -> None:
    late = int(operator.cloud.clock.now()) + 999
    for id, status, lease in (
        ("acme#told#late", "IN_PROGRESS", 5),
        ("acme#other#now", "IN_PROGRESS", late),
        ("b#told#q", "QUARANTINED", 6),
    ):
        put(operator, id, status, lease)
    assert listed(operator)[0] == ["acme#told#late", "b#told#q", "acme#other#now"]
    assert listed(operator, "--overdue")[0] == ["acme#told#late"]
    assert listed(operator, "--status", "QUARANTINED")[0] == ["b#told#q"]
    assert listed(operator, "--tenant", "acme")[0] == ["acme#told#late", "acme#other#now"]
    assert listed(operator, "--operation", "other")[0] == ["acme#other#now"]


def test_ls_table_has_its_columns(operator: Operator) -> None:
    put(operator, "acme#told#late", "IN_PROGRESS", int(operator.cloud.clock.now()) - 300)
    head, row = operator.once("ls").out.splitlines()
    assert " ".join(head.split()) == "status lane attempts age pending overdue error id"
    assert re.fullmatch(r"↻ +IN_PROGRESS +full +1 +\d+ \w+ +- +5 min +- +acme#told#late", row)


def test_ls_says_how_long_what_is_pending_has_waited_and_how_much_longer_it_may(operator: Operator) -> None:
    record = operator.pending(seconds=7300, lane="fast")
    operator.cloud.clock.advance(60)  # type: ignore[attr-defined]
    text = operator.once("ls").out
    assert re.search(r"IN_PROGRESS +fast +1 +\d+ \w+ +1 min, 2 h more +- +- +default#told#k\n", text)
    assert "its ticket ends it, or a person does" in text
    [told] = operator.once("ls", "--json").answer["operations"]
    assert (told["pendingSince"], told["overdue"]) == (record["pendingSince"], False)
    assert operator.once("ls", "--overdue", "--json").answer["operations"] == []
    operator.cloud.clock.advance(7300)  # type: ignore[attr-defined]
    text = operator.once("ls", "--overdue").out
    assert re.search(r"IN_PROGRESS +fast +1 +2 h +2 h +1 min +- +default#told#k\n", text) and "ticket" not in text


def test_ls_says_what_it_was_asked_for_when_nothing_matches(operator: Operator) -> None:
    assert operator.once("ls", "--tenant", "acme").out == "Nothing is open that matches.\n"


def test_ls_says_the_lane_of_each_owner(operator: Operator) -> None:
    operator.died_fast_in("Finalize")
    put(operator, "acme#told#other", "IN_PROGRESS", 4_000_000_000)
    told = operator.once("ls", "--json").answer["operations"]
    assert {each["id"]: each["lane"] for each in told} == {ID: "fast", "acme#told#other": "full"}
