"""Operator commands on the local cloud: what they do, and that they do nothing to a record that changed meanwhile."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import interventions, operators, records
from cli.main import app
from cli.stack import connect
from local import LocalCloud

FUNCTION = Path(__file__).parents[1] / "functions" / "scripted"
ID = "default#scripted#k"


@pytest.fixture(autouse=True)
def scripted(cloud: LocalCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "connect", lambda *place: replace(connect(*place), now=cloud.clock.now))
    cloud.add_function("scripted", FUNCTION, environment={"GATES": str(tmp_path)})


def once(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def request(*script: Any, **policy: str) -> dict[str, Any]:
    return {"operation": "scripted", "idempotencyKey": "k", "payload": {"script": script}, **policy}


def quarantine(cloud: LocalCloud, *then: Any, on_crash: str = "quarantine") -> dict[str, Any]:
    first = {"raise": "NeedsAttention"} if on_crash == "retry" else {"exit": 1}
    assert cloud.run(request(first, *then, onCrash=on_crash)).error == "NeedsAttention"
    record = cloud.record(ID)
    assert record is not None and record["status"] == "QUARANTINED"
    return record


@pytest.mark.parametrize("command", ["retry", "resolve", "release", "redrive"])
def test_a_record_that_is_not_open_is_left_alone_with_exit_3(cloud: LocalCloud, command: str) -> None:
    cloud.run(request({"return": 1}))
    before = cloud.record(ID)
    more = {"resolve": ["--failed", "no"], "release": ["--yes"]}.get(command, [])
    assert once(command, ID, *more).exit_code == 3
    assert cloud.record(ID) == before


def test_retry_starts_business_logic_exactly_once_more_under_a_higher_fence(cloud: LocalCloud) -> None:
    before = quarantine(cloud, {"exit": 1})
    done = once("retry", ID, "--json")
    assert done.exit_code == 0, done.output
    cloud.wait(json.loads(done.stdout)["executionArn"])
    after = cloud.record(ID)
    assert after is not None
    assert after["status"] == "QUARANTINED"  # it crashed again, and the operator's word was for one start
    assert after["fence"] > before["fence"]
    assert len(cloud.invocations("scripted")) == 2


def test_retry_completes_and_duplicates_get_its_answer(cloud: LocalCloud) -> None:
    quarantine(cloud, *[{"return": 7}] * 9)
    cloud.wait(json.loads(once("retry", ID, "--json").stdout)["executionArn"])
    assert cloud.record(ID)["result"] == "7"  # type: ignore[index]
    assert len(cloud.invocations("scripted")) == 2


@pytest.mark.parametrize("command", ["retry", "resolve", "release"])
def test_the_old_owner_cannot_write_after_the_operators_word(cloud: LocalCloud, command: str) -> None:
    before = quarantine(cloud, {"return": 7}, on_crash="retry")
    more = {"resolve": ["--failed", "no"], "release": ["--yes"]}.get(command, [])
    done = once(command, ID, *more, "--json")
    assert done.exit_code == 0, done.output
    if command == "retry":
        cloud.wait(json.loads(done.stdout)["executionArn"])
    after = cloud.record(ID)
    assert after is not None
    assert after["fence"] > before["fence"] and after["owner"] != before["owner"]


@pytest.mark.parametrize("command", ["retry", "resolve", "release"])
def test_a_record_that_changed_after_it_was_read_is_left_alone(
    cloud: LocalCloud, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = quarantine(cloud, {"return": 7})
    stale = {**record, "fence": record["fence"] - 1}
    monkeypatch.setattr(interventions, "read", lambda *_: stale)
    monkeypatch.setattr(records, "read", lambda *_: stale)
    more = {"resolve": ["--failed", "no"], "release": ["--yes"]}.get(command, [])
    done = once(command, ID, *more)
    assert done.exit_code == 3
    assert ID in done.output
    assert cloud.record(ID) == record


@pytest.mark.parametrize("result", ['{"a": 1}', json.dumps("x" * 9000)], ids=["small", "large"])
def test_resolve_gives_every_duplicate_the_result(cloud: LocalCloud, tmp_path: Path, result: str) -> None:
    quarantine(cloud)
    (tmp_path / "result.json").write_text(result)
    assert once("resolve", ID, "--result", str(tmp_path / "result.json")).exit_code == 0
    again = cloud.run(request({"exit": 1}, onCrash="quarantine"))
    assert again.output is not None and again.output["disposition"] == "REPLAYED"
    if "resultRef" in again.output:
        ref = again.output["resultRef"]
        assert cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read().decode() == result
    else:
        assert again.output["result"] == result
    assert once("ls", "--json").stdout.strip() and json.loads(once("ls", "--json").stdout) == {"operations": []}


def test_release_asks_and_the_next_request_starts_afresh_under_a_higher_fence(cloud: LocalCloud) -> None:
    before = quarantine(cloud)
    refused = once("release", ID)
    assert refused.exit_code != 0 and cloud.record(ID) == before
    assert once("release", ID, "--yes").exit_code == 0
    again = cloud.run({**request({"return": 2}), "payload": {"script": [{"return": 2}]}})
    assert again.output is not None and again.output["disposition"] == "EXECUTED"
    assert cloud.record(ID)["fence"] > before["fence"]  # type: ignore[index]


def test_ls_and_show_tell_what_is_open(cloud: LocalCloud) -> None:
    quarantine(cloud)
    (found,) = json.loads(once("ls", "--status", "QUARANTINED", "--tenant", "default", "--json").stdout)["operations"]
    assert (found["id"], found["error"]["name"]) == (ID, cloud.record(ID)["error"]["name"])  # type: ignore[index]
    assert json.loads(once("ls", "--operation", "other", "--json").stdout) == {"operations": []}
    assert json.loads(once("ls", "--overdue", "--json").stdout) == {"operations": []}
    shown = json.loads(once("show", ID, "--json").stdout)
    assert list(shown) == ["record", "ownerStatus", "console"]
    assert shown["record"] == cloud.record(ID) and shown["ownerStatus"] == "FAILED"


def test_replay_starts_each_message_once_and_does_not_run_after_its_own_refusals(cloud: LocalCloud) -> None:
    for key in ("a", "b"):
        cloud.run({"operation": "scripted", "idempotencyKey": key, "payload": 1})
    dry = json.loads(once("replay-rejected", "--dry-run", "--json").stdout)["messages"]
    assert [each["outcome"] for each in dry] == ["WOULD_START"] * 2
    assert json.loads(once("replay-rejected", "--error", "Unavailable", "--json").stdout) == {"messages": []}
    done = json.loads(once("replay-rejected", "--json").stdout)["messages"]
    assert [each["outcome"] for each in done] == ["STARTED"] * 2
    for each in done:
        assert cloud.wait(each["executionArn"]).error == "InvalidRequest"
    assert len(cloud.rejected()) == 2


def test_no_such_stack_or_record_is_said_plainly(cloud: LocalCloud) -> None:
    assert "there is no stack other" in str(once("ls", "--stack", "other").exception)
    assert "there is no record" in str(once("show", "default#scripted#none").exception)
    assert connect("once", None, None).table == cloud.resources["IdempotencyTable"]
