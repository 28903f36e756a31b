"""A real browser with an enemy's page in it, beside the local cloud; skipped where there is no browser."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browsers import BROWSERS, installed_browser
from scenario import charge, rows

from oncekit.local import LocalCloud

pytestmark = pytest.mark.ours

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--virtual-time-budget=5000",
)

PAGE = """<!doctype html><body><pre></pre><script>
const told = [], endpoint = %(endpoint)s, key = %(key)s, table = %(table)s
const scope = service => `AWS4-HMAC-SHA256 Credential=${key}/20260101/us-east-1/${service}/aws4_request, ` +
  'SignedHeaders=host, Signature=0'
async function tries(name, path, options) {
  try {
    const answer = await fetch(path.startsWith('/own') ? path : endpoint + path, options)
    told.push([name, answer.type == 'opaque' ? 'sent' : answer.status + ' ' + await answer.text()])
  } catch (error) { told.push([name, 'blocked']) }
}
(async () => {
  await tries('own', '/own')
  await tries('make', '/2015-03-31/functions', {method: 'POST', body: '{}',
    headers: {Authorization: scope('lambda'), 'Content-Type': 'application/json'}})
  await tries('scan', '/', {method: 'POST', body: JSON.stringify({TableName: table}), headers: {
    Authorization: scope('dynamodb'), 'X-Amz-Target': 'DynamoDB_20120810.Scan',
    'Content-Type': 'application/x-amz-json-1.0'}})
  await tries('reset', '/moto-api/reset', {method: 'POST', mode: 'no-cors'})
  await tries('form', '/', {method: 'POST', mode: 'no-cors', body: 'Action=ListStacks&Version=2010-05-15',
    headers: {'Content-Type': 'application/x-www-form-urlencoded'}})
  await tries('read', '/moto-api/data.json')
  document.querySelector('pre').textContent = JSON.stringify(Object.fromEntries(told))
})()
</script></body>"""


@pytest.fixture
def browse(tmp_path: Path) -> Callable[..., str]:
    """What a page at an address has become after its scripts ran, as HTML."""
    found = installed_browser()
    if found is None:
        pytest.skip(f"no browser is here ({', '.join(BROWSERS)}): the attacks of a page are not tried in a real one")

    def browse(address: str, *options: str) -> str:
        command = [found, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", *options, "--dump-dom", address]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    return browse


class _Page(BaseHTTPRequestHandler):
    def __init__(self, page: str, *args: object) -> None:
        self._page = page
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        body = b"mine" if self.path == "/own" else self._page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def page(cloud: LocalCloud) -> Iterator[str]:
    """The address of a page of another origin, on this machine as a developer's other project may be.

    It knows even the key: that it is a page is enough to keep it out.
    """
    given = {
        "endpoint": json.dumps(cloud.endpoint_url),
        "key": json.dumps(cloud.environment["AWS_ACCESS_KEY_ID"]),
        "table": json.dumps(cloud.outputs["TableName"]),
    }
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Page, PAGE % given)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_page_of_another_origin_can_read_nothing_and_change_nothing(
    cloud: LocalCloud, page: str, browse: Callable[..., str]
) -> None:
    cloud.run(charge())
    shown = browse(page).partition("<pre>")[2].partition("</pre>")[0]
    assert json.loads(shown) == {
        "own": "200 mine",  # it ran
        "make": "blocked",
        "scan": "blocked",
        "reset": "sent",  # a browser sends such a one, and does not show the answer
        "form": "sent",
        "read": "blocked",
    }
    assert rows(cloud, "IdempotencyTable") == 1


def test_name_of_an_enemy_that_leads_to_this_machine_gets_no_answer(
    cloud: LocalCloud, browse: Callable[..., str]
) -> None:
    port = urlsplit(cloud.endpoint_url).port
    key = cloud.environment["AWS_ACCESS_KEY_ID"]
    path = f"?AWSAccessKeyId={key}&Signature=x&Expires=9999999999"
    leads_here = "--host-resolver-rules=MAP rebound.example 127.0.0.1"
    shown = browse(f"http://rebound.example:{port}/{path}", leads_here)
    assert "the Host of the request is 'rebound.example" in shown and "<Buckets>" not in shown
    assert "<Buckets>" in browse(f"http://127.0.0.1:{port}/{path}").replace("&lt;", "<").replace("&gt;", ">")
