"""A client waits no longer than the function that uses it has time."""

from __future__ import annotations

from once.clients import client

SHORTEST_PROMISED = 30
"""Seconds: the default of BusinessTimeoutSeconds, and what the function that keeps large results has."""


def test_an_answer_that_is_lost_leaves_a_function_time_to_ask_once_more(aws: None) -> None:
    config = client("dynamodb").meta.config
    assert 2 * (config.connect_timeout + config.read_timeout) < SHORTEST_PROMISED
    assert config.retries["total_max_attempts"] == 4, "sends, the first one included"


def test_a_client_is_made_once_and_kept(aws: None) -> None:
    assert client("dynamodb") is client("dynamodb")
    assert client("dynamodb") is not client("s3")
