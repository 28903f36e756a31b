"""`once run` as a script or a person meets it, on the shared cloud; tests/e2e gives it in a process of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import Done
from commands import once as command
from operating import Operator

from oncekit.cli.here.ends import Ends, tell_end
from oncekit.cli.paper import Paper
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.interceptors import fails

ROOT = Path(__file__).parents[2]
FIELDS = [
    "name",
    "lane",
    "status",
    "disposition",
    "error",
    "cause",
    "attempt",
    "result",
    "resultRef",
    "states",
    "transitions",
]


def no_stack(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing of this needs a deployed stack")


@pytest.fixture
def here(cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """`once` in this process, where it finds the shared cloud open."""

    @contextmanager
    def opened(*_: Any, **__: Any) -> Iterator[LocalCloud]:
        yield cloud

    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("oncekit.cli.here.run.local_cloud", opened)
    return lambda *arguments: command(no_stack, *arguments)


def test_json_is_one_object_with_what_happened(here: Callable[..., Done]) -> None:
    done = here("run", "events/charge-payment.json", "--times", "2", "--json")
    assert done.code == 0, done.err
    report = done.answer
    first, second = report["executions"]
    assert list(first) == FIELDS
    assert (first["disposition"], second["disposition"]) == ("EXECUTED", "REPLAYED")
    assert first["result"] == second["result"]
    assert report["sideEffects"]["businessLogicStarts"] == {"charge-payment": 1}
    assert report["sideEffects"]["tables"]["ProviderLedgerTable"] == 1


def test_table_says_what_each_execution_came_to(here: Callable[..., Done]) -> None:
    done = here("run", "events/charge-payment.json", "--times", "5", "--concurrently")
    assert done.code == 0, "the duplicates that did not wait have an answer, too"
    assert done.out.count("EXECUTED") == 1
    assert "started once" in done.out
    assert "\x1b" not in done.out + done.err


def test_every_bad_event_fails_with_a_message_and_exits_with_one(here: Callable[..., Done]) -> None:
    events = sorted(str(path) for path in (ROOT / "events/bad").glob("*.json"))
    done = here("run", *events, "--json")
    assert done.code == 1
    for event, execution in zip(events, json.loads(done.out)["executions"], strict=True):
        assert execution["error"] in ("InvalidRequest", "NeedsAttention", "OperationFailed"), event
        assert json.loads(execution["cause"])["message"], event


@pytest.mark.parametrize(
    ("event", "is_told"),
    [
        ({"Records": [{"body": "{}"}]}, True),
        ({"httpMethod": "POST", "path": "/orders", "body": "{}"}, True),
        ([{"orderId": "1"}, {"orderId": "2"}], True),
        ({"operation": "charge-payment", "payload": {}}, False),
        ({"event": {"detail": {}}, "once": {"operation": "charge-payment", "key": ["id"], "payload": []}}, False),
    ],
)
def test_an_event_of_a_functions_own_is_said_with_what_sends_it(
    here: Callable[..., Done], tmp_path: Path, event: object, is_told: bool
) -> None:
    (tmp_path / "pay-own-event.json").write_text(json.dumps(event))
    told = " ".join(here("run", str(tmp_path / "pay-own-event.json")).err.split())
    assert ("pay-own-event.json is no request: it has neither operation nor idempotencyKey." in told) is is_told
    assert ("its test sends it, or its trigger, whose address `once up` prints" in told) is is_told


def test_a_file_that_is_not_there_is_answered_with_one_that_is(
    here: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "events").mkdir()
    for name in ("bill-event.json", "bill.json"):
        (tmp_path / "events" / name).touch()
    monkeypatch.chdir(tmp_path)
    done = here("run", "events/bil.json", "--template", str(ROOT / "template.yaml"))
    assert done.code == 2 and "give the path of a request, such as events/bill.json" in done.err, done.err


def test_conflict_exits_with_three(here: Callable[..., Done], tmp_path: Path) -> None:
    request = json.loads((ROOT / "events/charge-payment.json").read_text())
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**request, "payload": {**request["payload"], "amount": 1}}))
    done = here("run", "events/charge-payment.json", str(other))
    assert done.code == 3, done.err
    assert "PayloadMismatch" in done.out


IN_FAST = {"Lane": "fast", "FullLaneOperations": "charge-payment"}


def test_lane_is_that_of_the_template_and_what_it_hands_over_is_shown_with_its_end(
    cloud: LocalCloud, here: Callable[..., Done]
) -> None:
    with cloud.deployed_with(IN_FAST):
        done = here("run", "events/charge-payment.json", "--json")
    assert done.code == 0, "the full lane has completed it: " + done.err
    door, worker = done.answer["executions"]
    assert (door["lane"], door["disposition"]) == ("fast", "IN_PROGRESS")
    assert (worker["lane"], worker["disposition"]) == ("full", "EXECUTED")


def test_what_fails_in_the_fast_lane_is_followed_to_its_end_in_the_full_lane(
    cloud: LocalCloud, here: Callable[..., Done]
) -> None:
    with cloud.intercept(fails("Lambda.Unknown", state="ExecuteBusinessLogic", nth=1)):
        done = here("run", "events/charge-payment.json", "--lane", "fast", "--json")
    assert done.code == 0, done.err
    door, worker = done.answer["executions"]
    assert (door["lane"], door["disposition"]) == ("fast", "IN_PROGRESS")
    assert (worker["lane"], worker["disposition"], worker["attempt"]) == ("full", "EXECUTED", 2)
    [told] = done.answer["summaries"].values()
    assert "The fast lane tried once, and handed it over. The full lane went on with it. Your function ran (" in told


def test_why_a_request_is_in_progress_is_said_below_it(operator: Operator, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []

    def tell(execution: Execution) -> None:
        tell_end(execution, Paper(error=True))
        told.append(capsys.readouterr().err.splitlines()[-1].strip())

    operator.died_in("Finalize")  # nobody knows before its lease is over
    tell(operator.cloud.run(operator.request(), lane="fast"))
    operator.script({"pending": 60})
    pending = operator.request() | {"idempotencyKey": "pending"}
    for lane in ("fast", "full"):
        tell(operator.cloud.run(pending, lane=lane))
    with operator.cloud.deployed_with({"FullLaneOperations": "told"}):
        tell(operator.cloud.run(operator.request() | {"idempotencyKey": "handed over"}, lane="fast"))
    operator.cloud.settle()
    assert told == [
        "somebody else is at work on it",
        *["pending: work elsewhere ends it"] * 2,
        "handed over: the full lane goes on with it",
    ]


def test_the_terminal_has_each_owner_and_its_duplicates_in_one_line(
    operator: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    ends, request = Ends(Paper(error=True)), operator.request()
    operator.died_in("Finalize")  # so that the others come while it is in progress
    for _ in range(40):
        ends.tell(operator.cloud.run(request))
        ends.look()
    assert not capsys.readouterr().err, "more may come"
    ends.tell(operator.cloud.run({**request, "idempotencyKey": "another"}))
    assert "✓ EXECUTED  default#told#another" in capsys.readouterr().err, "an owner is told at once"
    ends.look()
    assert capsys.readouterr().err == "↻ default#told#k  40 duplicates came while it was in progress\n"
    ends.tell(operator.cloud.run(request))
    ends.look(is_last=True)
    assert "↻ IN_PROGRESS  default#told#k" in capsys.readouterr().err, "one alone has its path"


def test_lane_that_is_given_is_taken_whatever_the_template_says(cloud: LocalCloud, here: Callable[..., Done]) -> None:
    with cloud.deployed_with(IN_FAST):
        done = here("run", "events/charge-payment.json", "--lane", "full", "--json")
    [execution] = done.answer["executions"]
    assert (execution["lane"], execution["disposition"]) == ("full", "EXECUTED")


def test_execution_has_one_name_wherever_it_is_shown(cloud: LocalCloud, here: Callable[..., Done]) -> None:
    with cloud.deployed_with(IN_FAST):
        done = here("run", "events/charge-payment.json", "--times", "2")
    on_the_way = re.findall(r"^([0-9a-f]{8})  ReadRequest", done.err, re.MULTILINE)
    rows = re.findall(r"^\S  (\S+) +(fast|full)  ", done.out, re.MULTILINE)
    assert [name for name, lane in rows if lane == "fast"] == on_the_way and len(on_the_way) == 2
    [*names] = [name for name, lane in rows if lane == "full"]
    assert names and all(re.fullmatch(r"first-[0-9a-f]{8}", name) for name in names)


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["events/charge-payment.json", "--lane", "slow"], "", ["--lane", "slow", "full", "fast"]),
        (["no-such-file.json"], "", ["no-such-file.json", "No such file"]),
        (["-"], "{not json", ["not JSON", "line 1"]),
        (["-"], '{"n": NaN}', ["standard input: not JSON: NaN is not a number in JSON"]),
        (["-"], '{"n": -Infinity}', ["standard input: not JSON: -Infinity is not a number in JSON"]),
        (["-"], '{"n": -1e999}', ["standard input: -1e999: no double holds it", "as a string"]),
        (["-"], '{"n": 1' + "0" * 400 + ".5}", ["standard input: 1000", "...: no double holds it"]),
        (["-"], '{"n": 9007199254740993}', ["9007199254740993", "as a string"]),
        (["-"], '{"n": [-1e16]}', ["-1e16", "as a string"]),
        (["-"], '{"n": 1' + "0" * 400 + "}", ["1000", "as a string"]),
        (["events/charge-payment.json", "--template", "nowhere.yaml"], "", ["nowhere.yaml"]),
    ],
)
def test_what_a_user_can_fix_is_said_without_a_traceback(
    arguments: list[str], stdin: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    done = command(no_stack, "run", *arguments, stdin=stdin)
    assert (done.code, done.out) == (2, "")
    assert all(word in done.err for word in words)
    assert "Traceback" not in done.err
