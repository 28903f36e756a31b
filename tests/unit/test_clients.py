"""A client waits no longer than the function that uses it has time, and is made with no work that nobody needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore import loaders
from once import clients
from once.clients import client

SHORTEST_PROMISED = 30
"""Seconds: the default of BusinessTimeoutSeconds, and what the function that keeps large results has."""


def test_an_answer_that_is_lost_leaves_a_function_time_to_ask_once_more(aws: None) -> None:
    config = client("dynamodb").meta.config
    assert 2 * (config.connect_timeout + config.read_timeout) < SHORTEST_PROMISED
    assert config.retries["total_max_attempts"] == 4, "sends, the first one included"


@pytest.fixture
def first_ones(aws: None) -> Iterator[None]:
    """Clients are made as in a process that has just started."""
    for each in (client, clients._models):
        each.cache_clear()
    yield
    for each in (client, clients._models):
        each.cache_clear()


@pytest.mark.usefixtures("first_ones")
def test_the_folders_of_other_services_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    listdir = loaders.os.listdir
    monkeypatch.setattr(loaders.os, "listdir", lambda path: listed.append(path) or listdir(path))
    for service in ("dynamodb", "s3"):
        client(service)
    assert {Path(folder).name for folder in listed} == {"dynamodb", "s3"}
