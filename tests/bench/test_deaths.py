"""Ten thousand owners that die at once are followed in time, and docs/scale.md says how long it takes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from oncekit.bench.deaths import (
    LARGE_REGIONS,
    OTHER_REGIONS,
    Figures,
    Quotas,
    figures,
    seconds_until_all_are_followed,
    seconds_until_all_are_handed_over,
)
from oncekit.bench.scale import DESCRIBES, REGIONS, STARTS
from oncekit.local.deployment.deploy import rendered_definitions

ROOT = Path(__file__).parents[2]
DEATHS = 10_000


@pytest.fixture(scope="module")
def given() -> Figures:
    return figures(rendered_definitions(ROOT / "template.yaml"))


@pytest.mark.parametrize("seed", range(3))
def test_ten_thousand_owners_that_die_at_once_are_followed_within_15_minutes(given: Figures, seed: int) -> None:
    assert seconds_until_all_are_followed(DEATHS, given, LARGE_REGIONS, seed) <= 15 * 60


def test_executions_that_give_up_asking_within_seconds_take_longer_than_an_hour(given: Figures) -> None:
    impatient = replace(given, tries=4, longest_wait=10)
    assert seconds_until_all_are_followed(DEATHS, impatient, LARGE_REGIONS) > 3600


def test_the_page_says_what_the_simulation_gives(given: Figures) -> None:
    text = " ".join((ROOT / "docs/scale.md").read_text(encoding="utf-8").split())
    found = re.search(r"10,000 such owners .* after (\d+) minutes, in other regions after (\d+)", text)
    assert found
    minutes = [
        round(seconds_until_all_are_followed(DEATHS, given, quotas) / 60) for quotas in (LARGE_REGIONS, OTHER_REGIONS)
    ]
    assert [int(each) for each in found.groups()] == minutes


def test_the_page_says_how_long_ten_thousand_failures_take_to_be_handed_over(given: Figures) -> None:
    text = " ".join((ROOT / "docs/scale.md").read_text(encoding="utf-8").split())
    found = re.search(r"10,000 attempts that fail .* after (\d+) seconds, in other regions after (\d+)\.", text)
    assert found
    seconds = [
        round(seconds_until_all_are_handed_over(DEATHS, given, quotas)) for quotas in (LARGE_REGIONS, OTHER_REGIONS)
    ]
    assert [int(each) for each in found.groups()] == seconds


def test_the_quotas_of_the_simulation_are_those_of_the_page() -> None:
    text = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
    bursts = {name: re.findall(r"[\d,]+(?= at once)", _row(text, name)) for name in ("Standard starts", DESCRIBES)}
    for place, (quotas, regional) in enumerate(zip((LARGE_REGIONS, OTHER_REGIONS), REGIONS.values(), strict=True)):
        said = Quotas(
            describes=(_number(bursts[DESCRIBES][place]), regional[DESCRIBES]),
            starts=(_number(bursts["Standard starts"][place]), regional[STARTS["full"]]),
        )
        assert quotas == said


def _row(text: str, name: str) -> str:
    [row] = re.findall(rf"^\| {name} .*$", text, re.MULTILINE)
    return str(row)


def _number(text: str) -> float:
    return float(text.replace(",", ""))
