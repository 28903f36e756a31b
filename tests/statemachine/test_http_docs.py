"""The first lines of docs/http.md, done as it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scenario import rows

from oncekit.local import LocalCloud

PAGE = Path(__file__).parents[2] / "docs" / "http.md"
OF_EVERY_SERVER = ("connection", "content-length", "date", "server", "x-amzn-requestid")


def spoken(text: str) -> tuple[str, set[str], str]:
    """The first line, the headers and the body of what `curl -i` prints."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    first, *headers = head.strip().split("\n")
    return first, {each for each in headers if each.lower().partition(":")[0] not in OF_EVERY_SERVER}, body.strip()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_two_lines_that_the_page_begins_with_get_the_answers_that_it_shows(cloud: LocalCloud) -> None:
    [block] = re.findall(r"```console\n\$ eval \"\$\(once env\)\"\n(.*?)```", PAGE.read_text(), re.DOTALL)
    shown = re.findall(r"\$ (curl (?:.*\\\n)*.*)\n((?:.*\n)+?)(?=\$|\Z)", block)
    assert len(shown) == 2
    for command, answer in shown:
        line = command.replace("http://127.0.0.1:4601", cloud.http_url).replace("curl -i", "curl -sS -i")
        done = subprocess.run(
            ["bash", "-c", line], env=os.environ | cloud.environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.endswith("}\n"), "the next prompt of the terminal begins a line"
        status, headers, body = spoken(answer)
        real = spoken(done.stdout)
        assert (status, headers, body) == real
    assert rows(cloud, "ProviderLedgerTable") == 1
