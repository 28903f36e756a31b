"""A sample of what the fuzzer sends to the HTTP API: `python -m oncekit.proof.fuzz --only http-api` sends many more."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncekit.local import LocalCloud, VirtualClock
from oncekit.proof.fuzz.cloud import ECHO, Lane
from oncekit.proof.fuzz.http_api import case

CASES = 150
pytestmark = pytest.mark.ours


@pytest.fixture
def lane(cloud: LocalCloud, tmp_path: Path) -> Lane:
    (tmp_path / "app.py").write_text(ECHO)
    assert isinstance(cloud.clock, VirtualClock)
    return Lane(cloud, cloud.clock, tmp_path)


def found(lane: Lane) -> Iterator[str]:
    for number in range(CASES):
        lane.begin()
        yield from (f"case {number}: {what}" for what in case(lane, random.Random(f"8/http-api/{number}")))


def test_whatever_a_sender_writes_is_handed_over_as_a_strict_parser_reads_it_or_refused(lane: Lane) -> None:
    assert list(found(lane)) == []
