"""Rules for deployments: what is new is tried out before it gets every request, and goes back when it fails."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
import yaml
from metric_math import evaluate
from template_parts import references, resolver

from oncekit.local.template import Template, load

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
GRADUAL = {"Canary": "Canary10Percent10Minutes", "Linear": "Linear10PercentEvery1Minute"}
Resources = Mapping[str, dict[str, Any]]


def deployed(rollout: str, template: Path = TEMPLATE) -> Template:
    return load(template, {"Rollout": rollout})


def aliases(template: Template) -> dict[str, dict[str, Any]]:
    """The aliases of functions, by the function's logical id."""
    found = template.section("Resources").items()
    return {name.removesuffix("Aliaslive"): each for name, each in found if each.get("Type") == "AWS::Lambda::Alias"}


def alias_of_machine(rollout: str) -> dict[str, Any]:
    """The alias's deployment preference as CloudFormation resolves it; a resource is called by its logical id."""
    template = deployed(rollout)
    written = template.section("Resources")["OperationStateMachineAlias"]["Properties"]["DeploymentPreference"]
    preference: dict[str, Any] = resolver(template).resolve(written)
    return preference


@pytest.mark.parametrize("rollout", GRADUAL)
def test_a_gradual_rollout_moves_every_function_and_goes_back_on_errors(rollout: str, functions: Resources) -> None:
    template = deployed(rollout)
    made = template.section("Resources")
    assert set(aliases(template)) == set(functions)
    for name, alias in aliases(template).items():
        group = made[alias["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]["DeploymentGroupName"]["Ref"]]["Properties"]
        assert GRADUAL[rollout] in str(group["DeploymentConfigName"]), name
        alarm = f"{name.removesuffix('Function')}RolloutAlarm"
        assert resolver(template).resolve(group["AlarmConfiguration"]) == {"Enabled": True, "Alarms": [{"Name": alarm}]}
        assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
        assert group["ServiceRoleArn"]["Fn::If"][1] == {"Fn::GetAtt": ["FunctionRolloutRole", "Arn"]}


@pytest.mark.parametrize(("rollout", "kind", "minutes"), [("Canary", "CANARY", 10), ("Linear", "LINEAR", 1)])
def test_a_gradual_rollout_moves_the_state_machine_and_goes_back_on_failures(
    rollout: str, kind: str, minutes: int
) -> None:
    assert alias_of_machine(rollout) == {
        "StateMachineVersionArn": "OperationStateMachineVersion",
        "Type": kind,
        "Percentage": 10,
        "Interval": minutes,
        "Alarms": ["OperationRolloutAlarm", "DeadExecutionsAlarm"],
    }


def rollout_alarms(rollout: str = "Canary") -> dict[str, dict[str, Any]]:
    made = deployed(rollout).section("Resources").items()
    return {name: each for name, each in made if name.endswith("RolloutAlarm")}


def test_a_rollout_looks_at_the_new_version_and_at_all_that_came_by_the_alias(functions: Resources) -> None:
    found = rollout_alarms()
    assert set(found) == {
        "OperationRolloutAlarm",
        "FastRolloutAlarm",
        *(f"{name.removesuffix('Function')}RolloutAlarm" for name in functions),
    }
    versions = {name for name, each in deployed("Canary").section("Resources").items() if "Version" in each["Type"]}
    for name, alarm in found.items():
        is_example = name.startswith(("ChargePayment", "PlaceOrder", "BuildReport"))
        assert alarm["Condition"] == ("HasGradualExamples" if is_example else "IsGradual")
        newest, everything = {}, {}
        for each in alarm["Properties"]["Metrics"][1:]:
            of = {d["Name"]: d["Value"] for d in each["MetricStat"]["Metric"]["Dimensions"]}
            (everything if each["Id"].startswith("all") else newest)[each["Id"]] = of
        for of in newest.values():
            version = of.get("Version") or of["ExecutedVersion"]
            [logical_id] = set(references(version))
            assert logical_id in versions, name
        for of in everything.values():
            assert set(of) in ({"StateMachineArn", "Alias"}, {"FunctionName", "Resource"}), name
        assert (set(newest), set(everything)) == ({"failed", "started"}, {"allFailed", "allStarted"})


ROLLOUTS: dict[str, tuple[tuple[int | None, int | None, int | None, int | None], bool]] = {
    "nothing fails": ((0, 100, 0, 1000), False),
    "a client's requests fail in both versions": ((30, 100, 300, 1000), False),
    "the new version fails": ((50, 100, 50, 1000), True),
    "the new version fails, and some requests in both": ((60, 100, 150, 1000), True),
    "as few failures as a rollout bears": ((3, 3, 3, 30), False),
    "the old version fails more": ((10, 100, 810, 1000), False),
    "twice as often": ((20, 100, 110, 1000), True),
    "not quite twice as often": ((19, 100, 109, 1000), False),
    "no rollout, and requests fail": ((400, 1000, 400, 1000), False),
    "a new stack, and all of a few requests fail": ((4, 4, 4, 4), False),
    "what was started before fails, and nothing new was started": ((5, None, 5, 90), True),
    "nobody told how many failed": ((None, 100, None, 1000), False),
    "nobody told how many failed by the alias": ((50, 100, None, 1000), False),
    "nobody told how many the alias started": ((50, 100, 50, None), False),
    "no data at all": ((None, None, None, None), False),
}
"""What failed and was started by the new version and by the alias, in five minutes. None: the metric has no point."""


@pytest.mark.parametrize("alarm", rollout_alarms())
@pytest.mark.parametrize(("counts", "goes_back"), ROLLOUTS.values(), ids=ROLLOUTS)
def test_a_rollout_goes_back_by_faults_of_the_new_version_only(
    alarm: str, counts: tuple[int | None, ...], goes_back: bool
) -> None:
    given = rollout_alarms()[alarm]["Properties"]
    written = str(resolver(deployed("Canary")).resolve(given["Metrics"][0]["Expression"]))
    point = evaluate(written, dict(zip(("failed", "started", "allFailed", "allStarted"), counts, strict=True)))
    assert (point is not None and point > given["Threshold"]) is goes_back


def test_all_at_once_needs_no_codedeploy_and_no_alarm() -> None:
    template = deployed("AllAtOnce")
    assert not [r["Type"] for r in template.section("Resources").values() if r["Type"].startswith("AWS::CodeDeploy")]
    assert not [name for name, alias in aliases(template).items() if "UpdatePolicy" in alias]
    assert alias_of_machine("AllAtOnce") == {
        "StateMachineVersionArn": "OperationStateMachineVersion",
        "Type": "ALL_AT_ONCE",
    }


def test_a_function_that_a_user_adds_is_rolled_out_like_the_others(tmp_path: Path) -> None:
    added = {
        "Type": "AWS::Serverless::Function",
        "Properties": {"FunctionName": "added", "CodeUri": "functions/build_report/"},
    }
    text = TEMPLATE.read_text().replace(
        "\nOutputs:\n", f"\n  AddedFunction: {yaml.safe_dump(added, default_flow_style=True)}\nOutputs:\n"
    )
    (tmp_path / "template.yaml").write_text(text)
    assert "UpdatePolicy" in aliases(deployed("Canary", tmp_path / "template.yaml"))["AddedFunction"]


@pytest.mark.parametrize("rollout", ["AllAtOnce", *GRADUAL])
def test_no_resources_refer_to_each_other_in_a_circle(rollout: str) -> None:
    """As an alarm on the state machine would, when it stopped the rollout of a function that the machine names."""
    made = deployed(rollout).section("Resources")
    named = {name: set(references(list(each.values()))) & set(made) for name, each in made.items()}
    assert len(list(TopologicalSorter(named).static_order())) == len(made)
