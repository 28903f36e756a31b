"""Rules for the dashboard and the saved queries: made of the template's own resources, and valid for CloudWatch."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="session", params=[True, False], ids=["all", "nothing switched on"])
def source_of_dashboard(resources: Resources, request: pytest.FixtureRequest) -> str:
    return _put_in(resources["Dashboard"]["Properties"]["DashboardBody"], request.param)


def _put_in(part: Any, holds: bool) -> str:
    """The text with its parts in their places, and whether each condition holds; what AWS knows stays named."""
    if isinstance(part, str):
        return part
    if "Fn::If" in part:
        return _put_in(part["Fn::If"][1 if holds else 2], holds)
    text, parts = part["Fn::Sub"] if isinstance(part["Fn::Sub"], list) else (part["Fn::Sub"], {})
    for name, each in parts.items():
        text = text.replace(f"${{{name}}}", _put_in(each, holds))
    return text


@pytest.fixture(scope="session")
def widgets(source_of_dashboard: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(re.sub(r"\$\{[^}]+\}", "x", source_of_dashboard))["widgets"]
    return found


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


@pytest.mark.parametrize("source_of_dashboard", [True], indirect=True)
def test_what_a_metric_of_an_alarm_is_about_is_shown(source_of_dashboard: str, resources: Resources) -> None:
    seen_elsewhere = {
        "ApproximateAgeOfOldestMessage",  # the number of those that wait is shown
        "Errors",  # of functions, which can be anybody's: the alarms name them
        "Throttles",
        "ReadThrottleEvents",
        "IteratorAge",  # of what no request waits for
    }
    for name, alarm in resources.items():
        if alarm["Type"] == "AWS::CloudWatch::Alarm":
            given = alarm["Properties"]
            inner = [each["MetricStat"]["Metric"] for each in given.get("Metrics", ()) if "MetricStat" in each]
            for each in inner or [given]:
                given_name = each["MetricName"]
                metric = given_name if isinstance(given_name, str) else given_name["Fn::Sub"].rpartition("}")[2]
                assert metric in source_of_dashboard or metric in seen_elsewhere, name


def test_every_log_group_of_a_machine_and_of_the_api_has_a_saved_query(resources: Resources) -> None:
    queries = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::Logs::QueryDefinition"]
    asked = {group["Ref"] for query in queries for group in query.get("LogGroupNames", ())}
    groups = {name for name, r in resources.items() if r["Type"] == "AWS::Logs::LogGroup"}
    # Two queries are for functions, whose groups are chosen when they are run; the pipe's log has nothing to choose.
    functions = {name.removesuffix("Function") for name, r in resources.items() if r["Type"].endswith("::Function")}
    assert groups - asked - {f"{each}LogGroup" for each in functions} == {"RequestPipeLogGroup"}
    assert all(query["QueryString"].strip() for query in queries)
