"""The first test of docs/testing.md, as it is written there; and the names that its tables have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from oncekit import testing
from oncekit.testing.cloud import TestCloud

PAGE = (Path(__file__).parents[3] / "docs" / "testing.md").read_text()


def test_the_first_test_of_the_page_passes(once_cloud: TestCloud) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    written: dict[str, Any] = {}
    exec(code, written)
    written["test_an_order_is_placed"](once_cloud)


def test_the_page_tells_of_every_fault_and_what_the_cloud_does_is_there(once_cloud: TestCloud) -> None:
    assert set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE)) >= set(testing.__all__)
    table = PAGE.partition("| `once_cloud` | does |")[2].partition("\n\n")[0]
    for name in re.findall(r"`(\w+)[(`.]", table.replace("`.status`, `.output`, `.error`, `.states`", "")):
        assert hasattr(once_cloud, name), name
