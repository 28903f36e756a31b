"""`once up` as a process of its own: it serves, and an interrupt ends it cleanly."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
from commands import Done, once
from copies import copy_project
from once_up import COMMAND, once_up
from signing import keys

from oncekit.cli.here.env import write, write_private
from oncekit.cli.here.kept_data import FILE, keeping, kept_in
from oncekit.local import LocalCloud
from oncekit.problem import Problem

ROOT = Path(__file__).parents[2]
CHARGE = {"orderId": "k", "amount": 4200, "currency": "EUR"}


def test_up_tells_how_executions_end_and_serves_what_changed_after_it_deployed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_project(tmp_path)
    (tmp_path / "functions/build_report").rename(tmp_path / "reports")  # no folder's name is fixed
    template = tmp_path / "template.yaml"
    examples = tmp_path / "examples/template.yaml"
    examples.write_text(examples.read_text().replace("functions/build_report", "reports"))
    named = ("--parameter", "Operations=report=once_op-build-report:live")
    with once_up(tmp_path, tmp_path, *named) as up:
        lines, given = up.lines, up.given
        *_, machine = next(line for line in lines if "  full lane" in line).split()
        send(given, machine, {"operation": "charge-payment", "idempotencyKey": "k", "payload": CHARGE})
        up.wait_for("✓ EXECUTED  default#charge-payment#k  ")
        *_, fast = next(line for line in lines if "  fast lane" in line).split()
        send(given, fast, {"operation": "charge-payment", "idempotencyKey": "f", "payload": CHARGE})
        up.wait_for("✓ EXECUTED  default#charge-payment#f  fast  ")
        send(given, machine, {"operation": "no-such", "idempotencyKey": "q", "payload": {}})
        up.wait_for("operation no-such has no function")
        assert "✗ InvalidRequest  default#no-such#q" in up.err.read_text()
        send(given, machine, {"operation": "charge-payment", "idempotencyKey": "a\x1b[2J\u202e", "payload": {}})
        up.wait_for(r"✗ InvalidRequest  default#charge-payment#a\x1b[2J\u202e  ")
        functions = boto3.client("lambda", endpoint_url=given["AWS_ENDPOINT_URL"], **keys(given))
        changed = "def handler(event, context):\n    print(event['say'])\n    return {'changed': event['n']}\n"
        save(tmp_path / "reports/app.py", changed)
        (tmp_path / "reports/.app.py.swp").touch()
        up.wait_for("✓ Deployed again: app.py changed.")
        deployable = template.read_text()
        save(template, deployable.replace("\nResources:\n", "\nResources:\n  N: hello\n"))
        up.wait_for("✗ Not deployed, the earlier version stays: ")
        up.wait_for("N: it is a text, and must be an object")
        save(template, deployable)
        up.wait_for("✓ Deployed again: template.yaml changed.")
        say = "\x1b]52;c;aGk=\x07\x1b[2J\u202e\nforged | row"
        invoked = functions.invoke(FunctionName="once_op-build-report", Payload=json.dumps({"n": 5, "say": say}))
        assert json.loads(invoked["Payload"].read()) == {"changed": 5}
        up.wait_for("forged")
        shown = up.err.read_text()
        assert r"report, build-report | \x1b]52;c;aGk=\x07\x1b[2J\u202e" in shown
        assert "\nreport, build-report | forged | row" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
        assert "RequestId: " not in shown, "the marks of invocations are in the log only"


def save(file: Path, text: str) -> None:
    """At once, as most editors do: a file that is written in two steps may be seen between them."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(text)
    new.replace(file)


def send(given: dict[str, str], machine: str, request: dict[str, Any]) -> None:
    client = boto3.client("stepfunctions", endpoint_url=given["AWS_ENDPOINT_URL"], **keys(given))
    client.start_execution(stateMachineArn=machine, input=json.dumps(request))


def env_here() -> Done:
    return once(no_stack, "env", "--template", str(ROOT / "template.yaml"))


def no_stack(*_: Any, **__: Any) -> Any:
    raise AssertionError("no stack is looked up")


def test_env_says_that_nothing_is_up_also_after_an_end_that_left_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):
        done = env_here()
        assert (done.code, done.out) == (2, "") and "no `once up` runs for" in done.err
        with socket.create_server(("127.0.0.1", 0)) as free:
            gone = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{free.getsockname()[1]}"}
        write(ROOT / "template.yaml", gone)


def test_up_serves_its_stack_and_an_interrupt_ends_it_with_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with once_up(ROOT, tmp_path) as up:
        lines, given = up.lines, up.given
        assert "  once send events/charge-payment.json --wait" in lines and len(lines) < 10
        page = lines[-1].removeprefix("Watch it in a browser: ")
        assert requests.get(page, timeout=20).text.count("No request has come yet") == 1
        assert given["NO_PROXY"] == given["no_proxy"] == "127.0.0.1,localhost"
        assert len(given["AWS_ACCESS_KEY_ID"]) > 30 and len(given["AWS_SECRET_ACCESS_KEY"]) > 30
        unset, *exports = env_here().out.splitlines()
        assert {"AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"} < set(unset.split())
        assert "AWS_ENDPOINT_URL_DYNAMODB" in unset.split()
        assert {line.removeprefix("export ").split("=")[0] for line in exports} == set(given)
        [kept] = (tmp_path / "cache").rglob("*.json")
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600, "the access key is its user's alone"
        url = given["AWS_ENDPOINT_URL"]
        (stack,) = boto3.client("cloudformation", endpoint_url=url, **keys(given)).describe_stacks(StackName="once")[
            "Stacks"
        ]
        assert "TableName" in {each["OutputKey"] for each in stack["Outputs"]}
        invoked = boto3.client("lambda", endpoint_url=url, **keys(given)).invoke(FunctionName="once_op-charge-payment")
        assert invoked["FunctionError"] == "Unhandled"  # it ran, and refused an event without a lock
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(20) == 0
        assert up.err.read_text().endswith("The local cloud is down.\n")
    assert not list((tmp_path / "cache").rglob("*.json"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_up_still_starts_ends_it(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    def opening(*_: object) -> None:
        signal.raise_signal(number)
        raise AssertionError("it went on")

    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr("oncekit.cli.here.up.local_cloud", opening)
    try:
        done = once(no_stack, "up", "--template", str(ROOT / "template.yaml"))
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert done.code == 130 and "Traceback" not in done.err


def test_data_and_keys_and_what_the_page_lists_are_there_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    large = {"operation": "build-report", "idempotencyKey": "k", "payload": {"bytes": 9000}}
    given, pages, listed = [], [], []
    for outcome in ("EXECUTED", "REPLAYED"):
        with once_up(ROOT, tmp_path, "--data", str(tmp_path / "data")) as up:
            given.append({name: up.given[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")})
            page = up.lines[-1].removeprefix("Watch it in a browser: ")
            pages.append(page.partition("?key=")[2])
            listed.append("default#build-report#k" in requests.get(page, timeout=20).text)
            *_, machine = next(line for line in up.lines if "  full lane" in line).split()
            send(up.given, machine, large)
            up.wait_for(f"{outcome}  default#build-report#k  ")
            s3 = boto3.client("s3", endpoint_url=up.given["AWS_ENDPOINT_URL"], **keys(up.given))
            [bucket] = [each["Name"] for each in s3.list_buckets()["Buckets"]]
            [answer] = s3.list_objects_v2(Bucket=bucket, Prefix="responses/")["Contents"]
            assert answer["Size"] == 9000
            beside = [*COMMAND, "--data", str(tmp_path / "data"), "--template", str(ROOT / "template.yaml")]
            done = subprocess.run(beside, capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == 2 and "another `once up` keeps its data in" in done.stderr
    assert given[0] == given[1] and pages[0] == pages[1] and listed == [False, True]
    assert stat.S_IMODE((tmp_path / "data" / FILE).stat().st_mode) == 0o600


def test_binary_values_are_kept_too(cloud: LocalCloud, tmp_path: Path) -> None:
    item = {"orderId": {"S": "a"}, "seal": {"B": b"\x00\xff"}, "seals": {"BS": [b"a", b"b"]}, "bytes": {"S": "text"}}
    table, client = cloud.resources["OrdersTable"], cloud.client("dynamodb")
    with keeping(cloud, tmp_path, kept_in(tmp_path)):
        client.put_item(TableName=table, Item=item)
    cloud.reset()
    with keeping(cloud, tmp_path, kept_in(tmp_path)):
        assert client.scan(TableName=table)["Items"] == [item]


def test_a_file_that_up_has_not_written_is_said(tmp_path: Path) -> None:
    file = tmp_path / FILE
    write_private(file, '{"accessKey": {"id": "a", "secret": "b"}, "tables": [], "buckets": {}}')
    done = once(no_stack, "up", "--data", str(tmp_path))
    assert done.code == 2 and f"{file} is not what `once up --data` writes" in done.err


def test_an_access_key_that_others_may_know_is_not_taken(tmp_path: Path) -> None:
    """A folder that came with somebody's repository has a key that this person knows."""
    keys = '"accessKey": {"id": "a", "secret": "b"}, "pageKey": "c"'
    (brought := tmp_path / FILE).write_text(f'{{{keys}, "tables": {{}}, "buckets": {{}}}}')
    brought.chmod(0o644)
    with pytest.raises(Problem, match=f"{FILE} .*others may read it"):
        kept_in(tmp_path)
    brought.chmod(0o600)
    assert kept_in(tmp_path)["accessKey"]["id"] == "a"
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / FILE).symlink_to(brought)
    with pytest.raises(Problem, match="is not what"):
        kept_in(elsewhere)


def test_what_is_private_takes_the_place_of_a_link_and_of_what_is_there(tmp_path: Path) -> None:
    (bystander := tmp_path / "bystander").write_text("mine")
    (file := tmp_path / FILE).symlink_to(bystander)
    (tmp_path / f"{FILE}.{os.getpid()}").symlink_to(bystander)
    for text in ("one", "two"):
        write_private(file, text)
        assert (file.read_text(), bystander.read_text()) == (text, "mine")
        assert stat.S_IMODE(file.lstat().st_mode) == 0o600 and not file.is_symlink()
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]
