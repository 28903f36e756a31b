"""What a developer has set for real accounts neither leads calls of the local cloud away nor goes along."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from operating import ID, Operator, put

from oncekit.local import LocalCloud
from oncekit.local.once_cloud import PREFIX
from oncekit.stack.session import LED_ELSEWHERE, local_endpoint

FUNCTIONS = Path(__file__).parents[1] / "functions"
TOKEN = "a-real-session-token"
REFUSAL = b"<ErrorResponse><Error><Code>No</Code><Message>no</Message></Error></ErrorResponse>"
COMMAND = "from oncekit.cli.main import main; main()"


class Stranger:
    """A server on this machine that remembers what it is asked, and refuses it: as a proxy, or as an endpoint."""

    def __init__(self) -> None:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65536)
                if self.raw_requestline and self.parse_request():
                    asked.append(f"{self.requestline}\n{self.headers}")
                    self.send_response(403)
                    self.send_header("Content-Length", str(len(REFUSAL)))
                    self.end_headers()
                    self.wfile.write(REFUSAL)
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self.asked = asked
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    stranger = Stranger()
    yield stranger
    stranger.close()


def of_a_developer(stranger: Stranger, folder: Path) -> dict[str, str]:
    """A terminal that is set up for a real account, behind a proxy."""
    config = folder / "config"
    config.write_text(
        "[profile work]\nregion = eu-central-1\nservices = all\n"
        f"[default]\nignore_configured_endpoint_urls = true\nendpoint_url = {stranger.url}\n"
        f"[services all]\nsfn =\n  endpoint_url = {stranger.url}\n"
    )
    (folder / "credentials").write_text("[work]\naws_access_key_id = AKIAREAL\naws_secret_access_key = s\n")
    proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"), stranger.url)
    endpoints = {name: stranger.url for name in LED_ELSEWHERE if name.startswith("AWS_ENDPOINT_URL_")}
    return {
        **{name: value for name, value in os.environ.items() if not re.search("^AWS_|proxy$", name, re.IGNORECASE)},
        **proxies,
        **endpoints,
        "AWS_SESSION_TOKEN": TOKEN,
        "AWS_SECURITY_TOKEN": TOKEN,
        "AWS_PROFILE": "gone",
        "AWS_DEFAULT_PROFILE": "gone",
        "AWS_CONFIG_FILE": str(config),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
    }


def local(cloud: LocalCloud) -> dict[str, str]:
    """The lines of `once env`, without those that clean up a terminal: `once` has to do without them."""
    names = ("AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    return {name: cloud.environment[name] for name in names}


def run(environment: Mapping[str, str], *arguments: str, code: str = COMMAND) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=dict(environment), capture_output=True, text=True, timeout=120, check=False)


def test_once_goes_to_the_local_cloud_past_proxies_profiles_and_other_endpoints(
    cloud: LocalCloud, stranger: Stranger, tmp_path: Path
) -> None:
    done = run({**of_a_developer(stranger, tmp_path), **local(cloud)}, "ls", "--json")
    assert (done.returncode, json.loads(done.stdout)["isComplete"]) == (0, True), done.stderr
    assert stranger.asked == []


def test_once_hands_no_token_of_a_real_account_to_a_loopback_address(
    cloud: LocalCloud, stranger: Stranger, tmp_path: Path
) -> None:
    endpoint = {"AWS_ENDPOINT_URL": stranger.url}
    done = run({**of_a_developer(stranger, tmp_path), **local(cloud), **endpoint}, "ls")
    assert done.returncode == 2 and stranger.asked
    told = "".join(stranger.asked)
    assert TOKEN not in told and "security-token" not in told.lower() and "AKIAREAL" not in told
    assert cloud.environment["AWS_ACCESS_KEY_ID"] in told


def test_keys_of_a_profile_are_not_taken_for_the_local_cloud(
    cloud: LocalCloud, stranger: Stranger, tmp_path: Path
) -> None:
    without = {name: value for name, value in local(cloud).items() if "KEY" not in name}
    developers = of_a_developer(stranger, tmp_path)
    done = run({**developers, **without}, "ls")
    assert done.returncode == 2 and "once env" in done.stderr
    done = run({**developers, **local(cloud)}, "ls", "--profile", "work")
    assert done.returncode == 2 and "--profile work" in done.stderr
    assert stranger.asked == []


def test_client_of_aws_after_the_lines_of_up_meets_no_proxy_and_hands_over_no_token(
    cloud: LocalCloud, stranger: Stranger, tmp_path: Path
) -> None:
    """What the terminal is after `unset` and `export`, for `aws` and boto3."""
    left = {name: v for name, v in of_a_developer(stranger, tmp_path).items() if name not in LED_ELSEWHERE}
    code = (
        "import boto3\n"
        "for service in ('dynamodb', 'stepfunctions', 's3', 'sqs', 'lambda', 'events', 'cloudformation'):\n"
        "    client = boto3.client(service)\n"
        "    client.meta.events.register('before-send', lambda request, **_: print(request.headers))\n"
        "    print(client.meta.endpoint_url)\n"
        "print(boto3.client('dynamodb').list_tables()['TableNames'])\n"
    )
    (tmp_path / "config").write_text(
        f"[default]\nignore_configured_endpoint_urls = true\nendpoint_url = {stranger.url}\n"
    )
    done = run({**left, **cloud.environment}, code=code)
    assert cloud.outputs["TableName"] in done.stdout, done.stderr
    assert done.stdout.count(cloud.endpoint_url) == 7
    assert TOKEN not in done.stdout and stranger.asked == []


def test_function_of_the_local_cloud_meets_no_proxy_and_no_other_endpoint(
    cloud: LocalCloud, stranger: Stranger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in of_a_developer(stranger, tmp_path).items():
        monkeypatch.setenv(name, value)
    cloud.add_function("caller", FUNCTIONS / "caller", timeout=30)
    payload = json.dumps({"service": "dynamodb", "method": "list_tables", "parameters": {}})
    answer = cloud.functions.invoke(FunctionName=f"{PREFIX}caller", Payload=payload)
    assert json.loads(answer["Payload"].read())["Code"] == "OK"
    cloud.add_function("probe", FUNCTIONS / "probe", timeout=30)
    answer = cloud.functions.invoke(FunctionName=f"{PREFIX}probe", Payload=json.dumps({"do": "variables"}))
    variables = json.loads(answer["Payload"].read())
    assert TOKEN not in variables.values() and stranger.url not in variables.values()
    assert stranger.asked == []


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://127.0.0.1:4599", True),
        ("http://localhost:4599", True),
        ("https://dynamodb.eu-west-1.amazonaws.com", False),
        ("http://127.0.0.1.evil.example", False),
        ("", False),
    ],
)
def test_only_a_loopback_address_is_the_local_cloud(monkeypatch: pytest.MonkeyPatch, url: str, is_local: bool) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    assert (local_endpoint() is not None) == is_local


def test_a_lease_is_over_by_the_clock_of_the_local_cloud(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the page may have moved ahead."""
    put(operator, ID, "IN_PROGRESS", int(time.time()) + 3300)
    monkeypatch.setattr(operator.cloud.clock, "now", lambda: time.time() + 3600)
    shown = run({**os.environ, **operator.cloud.environment}, "show", ID)
    assert "lease       over since 5 min" in shown.stdout
