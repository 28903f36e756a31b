"""Rules for deployments: what is new is tried out before it gets every request, and goes back when it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from template_parts import OWN_FUNCTIONS, TEMPLATE, all_resources, references, resolver, values_for

from oncekit.local.templates.template import Template, load

GRADUAL = {"Canary": "Canary10Percent10Minutes", "Linear": "Linear10PercentEvery1Minute"}


def deployed(rollout: str, file: Path = TEMPLATE) -> Template:
    return load(file, values_for(file, Rollout=rollout))


def aliases(template: Template) -> dict[str, dict[str, Any]]:
    """The aliases of functions, by the function's logical id."""
    found = template.section("Resources").items()
    return {name.removesuffix("Aliaslive"): each for name, each in found if each.get("Type") == "AWS::Lambda::Alias"}


def alias_of_machine(rollout: str, lane: str = "Operation") -> dict[str, Any]:
    """The alias's deployment preference as CloudFormation resolves it; a resource is called by its logical id."""
    template = deployed(rollout)
    written = template.section("Resources")[f"{lane}StateMachineAlias"]["Properties"]["DeploymentPreference"]
    preference: dict[str, Any] = resolver(template).resolve(written)
    return preference


@pytest.mark.parametrize("rollout", GRADUAL)
@pytest.mark.parametrize("file", OWN_FUNCTIONS, ids=["core", "examples"])
def test_a_gradual_rollout_moves_every_function_and_goes_back_on_errors(rollout: str, file: Path) -> None:
    template = deployed(rollout, file)
    made = template.section("Resources")
    assert OWN_FUNCTIONS[file] <= set(aliases(template))
    for name, alias in aliases(template).items():
        group = made[alias["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]["DeploymentGroupName"]["Ref"]]["Properties"]
        assert GRADUAL[rollout] in str(group["DeploymentConfigName"]), name
        alarm = f"{name.removesuffix('Function')}ErrorsAlarm"
        assert resolver(template).resolve(group["AlarmConfiguration"]) == {"Enabled": True, "Alarms": [{"Name": alarm}]}
        assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
        assert "FunctionRolloutRole" in references(group["ServiceRoleArn"])


@pytest.mark.parametrize("rollout", GRADUAL)
@pytest.mark.parametrize("lane", ["Operation", "Fast"])
def test_a_gradual_rollout_moves_both_lanes_and_goes_back_when_executions_die(rollout: str, lane: str) -> None:
    preference = alias_of_machine(rollout, lane)
    assert (preference["Type"], preference["Alarms"]) == (rollout.upper(), ["DeadExecutionsAlarm"])


def test_a_version_of_a_machine_waits_for_what_allows_its_role_to_invoke() -> None:
    """Else its first requests could not invoke a function that its Operations names anew."""
    made = all_resources()
    versions = {name: each for name, each in made.items() if each["Type"] == "AWS::StepFunctions::StateMachineVersion"}
    assert len(versions) == 2
    for name, version in versions.items():
        machine = made[version["Properties"]["StateMachineArn"]["Ref"]]["Properties"]
        [role, _] = machine.get("Role", machine.get("RoleArn"))["Fn::GetAtt"]
        policies = [(policy, each["Properties"]) for policy, each in made.items() if each["Type"] == "AWS::IAM::Policy"]
        allow = [policy for policy, p in policies if {"Ref": role} in p["Roles"] and "lambda:InvokeFunction" in str(p)]
        assert allow == [version.get("DependsOn")], name


def test_a_lane_moves_after_the_one_to_which_it_hands_over() -> None:
    """Else a new operation is accepted by HTTP, handed over, and unknown there for the minutes of a rollout."""
    assert all_resources()["FastStateMachineAlias"]["DependsOn"] == "OperationStateMachineAlias"


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
