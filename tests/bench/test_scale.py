"""docs/scale.md says what AWS's quotas divided by the counted calls come to."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import botocore.session
import pytest
from botocore.validate import ParamValidator

from oncekit.bench.cost.paths import Costs
from oncekit.bench.scale import EVERYWHERE, REGIONS, TABLES, carried, scale_table
from oncekit.local.templates.template import load

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def test_the_pages_table_is_what_was_counted(costs: Costs) -> None:
    assert scale_table(costs) in PAGE, "put in what `make bench PARTS=scale` prints"


def test_the_quota_that_is_used_up_first_is_the_limit() -> None:
    assert carried({"a": 100.0, "b": 10.0, "c": 1.0}, {"a": 30, "b": 2, "c": 0}) == "3 (a)"


@pytest.mark.parametrize("name", ["Standard starts", "DescribeExecution", "transitions", "Express starts"])
def test_the_pages_quotas_are_those_of_the_table(name: str) -> None:
    of_a_region = [{**EVERYWHERE, **regional}[name] for regional in REGIONS.values()]
    line = re.findall(rf"^\| {name}.*? \|(.*)\|$", PAGE, re.MULTILINE)[0]
    said = [float(re.sub(",", "", re.findall(r"[\d,]*\d", cell)[0])) for cell in line.split("|")]
    assert said == of_a_region


def test_the_pages_call_that_enlarges_a_new_table_is_one_of_awss_and_large_enough(costs: Costs) -> None:
    [line] = re.findall(r"^\$ (aws dynamodb update-table .*)$", PAGE, re.MULTILINE)
    words = shlex.split(line)
    given = dict(zip(words[3::2], words[4::2], strict=True))
    table = {name: int(units) for name, units in re.findall(r"(\w+)=(\d+)", given["--warm-throughput"])}
    updates = json.loads(given["--global-secondary-index-updates"])
    shape = botocore.session.get_session().get_service_model("dynamodb").operation_model("UpdateTable").input_shape
    call = {"TableName": "once", "WarmThroughput": table, "GlobalSecondaryIndexUpdates": updates}
    assert not ParamValidator().validate(call, shape).has_errors()
    [index] = [each["Update"] for each in updates]
    [named] = load(ROOT / "template.yaml").section("Resources")["IdempotencyTable"]["Properties"][
        "GlobalSecondaryIndexes"
    ]
    assert index["IndexName"] == named["IndexName"]
    new, rate = costs["fast", "new request, 1 KB result"], EVERYWHERE["Express starts"]
    assert f"is for {rate:,.0f} new requests a second" in PAGE
    assert table["WriteUnitsPerSecond"] == rate * (new.write_units - new.index_units)
    assert index["WarmThroughput"]["WriteUnitsPerSecond"] == rate * new.index_units
    assert table["ReadUnitsPerSecond"] == index["WarmThroughput"]["ReadUnitsPerSecond"] == TABLES["new"]["table reads"]
