"""The example of a fenced step in the README works as it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from once import PermanentError, operation
from once.clients import client

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_example_of_a_step_in_the_readme_does_what_it_says(
    acquire: Callable[[dict[str, Any]], dict[str, Any]],
    event: Callable[..., dict[str, Any]],
    rows: Callable[[str], list[dict[str, Any]]],
) -> None:
    [example] = [code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "request.step(" in code]
    names: dict[str, Any] = {}
    exec(example, names)
    handler = operation()(names["place"])
    client("dynamodb").put_item(TableName="stock", Item={"sku": {"S": "mug"}, "n": {"N": "1"}})
    for fence in (1, 2):
        reply = handler(acquire(event("place", key="first", fence=fence)))
        assert json.loads(str(reply["onceResult"])) == {"status": "placed"}
    with pytest.raises(PermanentError, match="out of stock"):
        handler(acquire(event("place", key="second")))
    assert len(rows("orders")) == 1
    assert rows("stock")[0]["n"] == {"N": "0"}
