"""What docs/testing.md and docs/first-operation.md write down, and the names that tables have."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from oncekit import adoption, testing
from oncekit.testing import function_crashes
from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.plugin import RunMatrix

LONG = 600.0
"""A busy machine is no fault of the page."""

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "testing.md").read_text()
TUTORIAL = (DOCS / "first-operation.md").read_text()


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


def test_the_page_tells_of_all_that_written_tests_use() -> None:
    table = PAGE.partition("| `once_cloud` | does |")[2].partition("\n\n")[0]
    texts = "".join(each.read_text() for each in Path(adoption.__file__).with_name("texts").glob("test*.txt"))
    used = set(re.findall(r"once_cloud\.(\w+)", texts))
    assert used - set(re.findall(r"`(\w+)[(`\[]", table)) == set()


FUNCTION, LINE = re.findall(r'```python title="first/charge_customer/app.py"\n(.*?)```', TUTORIAL, re.DOTALL)
[TEST] = re.findall(r'```python title="first/test_charge_customer.py"\n(.*?)```', TUTORIAL, re.DOTALL)
CHARGE = "call:POST https://api.provider.example/charges"


def run(cloud: TestCloud, folder: Path, function: str, matrix: Callable[[Any], object]) -> None:
    """The tutorial's test, with a function in the folder."""
    (folder / "app.py").write_text(function)
    written: dict[str, Any] = {}
    exec(TEST, written)
    written["Path"] = lambda _: folder
    written["test_a_customer_is_charged_once"](cloud, matrix)


def test_the_tutorials_test_finds_what_the_tutorial_shows(
    once_cloud: TestCloud, once_matrix: RunMatrix, tmp_path: Path
) -> None:
    with pytest.raises(pytest.fail.Exception) as failed:
        run(once_cloud, tmp_path, FUNCTION, partial(once_matrix, states=False, seconds=LONG))
    said = str(failed.value).splitlines()
    assert [each for each in said if each.startswith(("✗", "    →"))] == re.findall(r"^(?:✗|    →) .*$", TUTORIAL, re.M)
    [at] = re.findall(r"^    first/charge_customer/(app.py:\d+ in handler)", TUTORIAL, re.MULTILINE)
    assert any(at in each for each in said)


@pytest.mark.parametrize("line", ["", LINE], ids=["as it was", "corrected"])
def test_a_crash_after_the_tutorials_charge_charges_again_until_it_is_corrected(
    once_cloud: TestCloud, tmp_path: Path, line: str
) -> None:
    function = re.sub(r"^    headers = .*\n", lambda old: line or old[0], FUNCTION, flags=re.MULTILINE)
    with once_cloud.fault(function_crashes(after=CHARGE)):
        run(once_cloud, tmp_path, function, once_cloud.finish)
    sent = [each.effect for each in once_cloud.outside.sent]
    assert sent == [True, not line]


def test_the_readmes_test_is_the_tutorials() -> None:
    readme = (DOCS.parent / "README.md").read_text()
    [shown] = re.findall(r"```python\n(def test_.*?)```", readme, re.DOTALL)
    assert shown in TUTORIAL
