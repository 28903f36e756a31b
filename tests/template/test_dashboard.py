"""Rules for the dashboard and the saved queries: made of the template's own resources, and valid for CloudWatch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from template_parts import resolver, was_added

from oncekit.local.template import load

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def source_of_dashboard(resources: Resources) -> str:
    """With everything in it that some parameter adds."""
    return _put_in(resources["Dashboard"]["Properties"]["DashboardBody"])


def _put_in(part: Any) -> str:
    """The text with its parts in their places; what AWS knows stays named."""
    if "Fn::If" in part:
        part = part["Fn::If"][1]
    text, parts = part["Fn::Sub"] if isinstance(part["Fn::Sub"], list) else (part["Fn::Sub"], {})
    for name, each in parts.items():
        text = text.replace(f"${{{name}}}", _put_in(each))
    return str(text)


@pytest.fixture(scope="session")
def widgets(source_of_dashboard: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(re.sub(r"\$\{[^}]+\}", "x", source_of_dashboard))["widgets"]
    return found


@pytest.mark.parametrize("on", ["true", "false"])
def test_dashboard_is_json_whichever_triggers_are_on(on: str) -> None:
    template = load(
        TEMPLATE, {"EventBusName": "own" if on == "true" else "none", "QueueTrigger": on, "HttpTrigger": on}
    )
    body = resolver(template).resolve(template.section("Resources")["Dashboard"]["Properties"]["DashboardBody"])
    shown = json.dumps(json.loads(body)["widgets"])
    parts = ("RequestQueue.QueueName", "EventDeadLetterQueue.QueueName", "AWS/EventBridge/Pipes", "AWS/ApiGateway")
    assert [part in shown for part in parts] == [on == "true"] * 4


def test_dashboard_names_no_region_and_no_account(source_of_dashboard: str) -> None:
    assert not re.search(r"\b[a-z]{2}-[a-z]+-\d\b|\b\d{12}\b", source_of_dashboard)


def test_dashboard_shows_known_metrics_without_overlap(widgets: list[dict[str, Any]]) -> None:
    places = set()
    for widget in widgets:
        for x in range(widget["x"], widget["x"] + widget["width"]):
            for y in range(widget["y"], widget["y"] + widget["height"]):
                assert x < 24
                assert (x, y) not in places
                places.add((x, y))


def test_what_a_metric_of_an_alarm_is_about_is_shown(widgets: list[dict[str, Any]], resources: Resources) -> None:
    metrics = [each for widget in widgets for each in widget["properties"].get("metrics", [])]
    shown = {(each[0], each[1]) for each in metrics if len(each) > 1}
    seen_elsewhere = {
        ("AWS/SQS", "ApproximateAgeOfOldestMessage"),  # the number of those that wait is shown
        ("AWS/SQS", "NumberOfMessagesSent"),
        ("AWS/DynamoDB", "ReadThrottleEvents"),
        ("AWS/Lambda", "Throttles"),
    }
    for name, alarm in resources.items():
        if alarm["Type"] == "AWS::CloudWatch::Alarm":
            given = alarm["Properties"]
            inner = [each["MetricStat"]["Metric"] for each in given.get("Metrics", ()) if "MetricStat" in each]
            looked_at = {(each["Namespace"], _name(each["MetricName"])) for each in (inner or [given])}
            assert looked_at <= shown | seen_elsewhere, name


def _name(metric: str | dict[str, str]) -> str:
    """As the widgets have it, in which what AWS knows is an x."""
    return metric if isinstance(metric, str) else re.sub(r"\$\{[^}]+\}", "x", metric["Fn::Sub"])


def test_every_log_group_of_once_has_a_saved_query(resources: Resources) -> None:
    queries = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::Logs::QueryDefinition"]
    assert len(queries) >= 4
    asked = {group["Ref"] for query in queries for group in _with_all(query["LogGroupNames"])}
    groups = {name for name, r in resources.items() if r["Type"] == "AWS::Logs::LogGroup"}
    unasked = {each for each in groups - asked if not was_added(each, resources)}
    assert unasked == {"CacheResponseLogGroup"}  # it has one line to say, and no attempt of its own
    assert all(query["QueryString"].strip() for query in queries)


def _with_all(names: Any) -> list[dict[str, str]]:
    """The log groups that are there when the condition, if there is one, holds."""
    groups: list[dict[str, str]] = names["Fn::If"][1] if isinstance(names, dict) else names
    return groups
