"""Rules for the template as a whole: parameters, functions, timeouts, substitutions, outputs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from template_parts import OWN_FUNCTIONS, TEMPLATE, references, resolver, values_for

from oncekit.local.templates.template import load, parameter_values, parse

ROOT = Path(__file__).parents[2]
Resources = dict[str, dict[str, Any]]

PSEUDO = {"AWS::AccountId", "AWS::NoValue", "AWS::Partition", "AWS::Region", "AWS::StackName", "AWS::URLSuffix"}


def test_there_are_no_more_parameters_than_somebody_would_set(source: Mapping[str, Any]) -> None:
    assert len(source["Parameters"]) <= 26


def test_every_parameter_is_described_has_a_default_and_bounds(source: Mapping[str, Any]) -> None:
    for name, parameter in source["Parameters"].items():
        assert len(parameter["Description"]) > 20, name
        assert "Default" in parameter, name
        bounds = {"AllowedValues", "AllowedPattern", "MinValue", "MaxValue"} & set(parameter)
        assert bounds in ({"AllowedValues"}, {"AllowedPattern"}, {"MinValue", "MaxValue"}), name


def test_nothing_is_named_that_only_sam_would_make(source: Mapping[str, Any]) -> None:
    # LanguageExtensions comes before SAM, and may refuse a Ref to a resource that is not there yet.
    written = set(references([source["Resources"], source["Globals"], source["Outputs"]]))
    there = {*source["Resources"], *source["Parameters"], *PSEUDO}
    assert written <= there


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
def test_functions_and_their_layer_run_on_python_3_13_and_one_architecture(architecture: str) -> None:
    layers = []
    for file, names in OWN_FUNCTIONS.items():
        template = load(file, values_for(file, Architecture=architecture))
        made, known = template.section("Resources"), resolver(template)
        functions = {n: known.resolve(r["Properties"]) for n, r in made.items() if r["Type"] == "AWS::Lambda::Function"}
        assert names <= set(functions)
        for name, function in functions.items():
            assert (function["Runtime"], function["Architectures"]) == ("python3.13", [architecture])
            assert made[f"{name}Aliaslive"]["Type"] == "AWS::Lambda::Alias"
        layers += [known.resolve(r["Properties"]) for r in made.values() if r["Type"] == "AWS::Lambda::LayerVersion"]
    for layer in layers:
        assert (layer["CompatibleRuntimes"], layer["CompatibleArchitectures"]) == (["python3.13"], [architecture])


@pytest.mark.parametrize("file", OWN_FUNCTIONS, ids=["core", "examples"])
def test_what_a_parameter_changes_in_a_function_is_seen_by_sam(file: Path) -> None:
    # The values are put into resources, not into globals, and before SAM looks. How to deploy changes no function.
    written = parse(file.read_text(), file)
    assert written["Transform"] == ["AWS::LanguageExtensions", "AWS::Serverless-2016-10-31"]
    everywhere = {k: v for k, v in written["Globals"]["Function"].items() if k != "DeploymentPreference"}
    # The architecture is another layer, too, and so another version of each function that has the layer.
    assert set(references(everywhere)) & set(written["Parameters"]) <= {"Architecture", "StackName"}
    assert "Architecture" in set(references(written["Resources"]["OnceLayer"]["Properties"]))
    assert {"Ref": "OnceLayer"} in everywhere["Layers"]
    for name in OWN_FUNCTIONS[file]:
        assert written["Resources"][name]["Properties"]["AutoPublishAliasAllProperties"] is True


def test_another_architecture_is_another_layer(tmp_path: Path) -> None:
    layers, text = [], TEMPLATE.read_text()
    for value in ("arm64", "x86_64"):
        put_in = tmp_path / f"{value}.yaml"  # as LanguageExtensions does
        put_in.write_text(text.replace("Architectures: [!Ref Architecture]", f"Architectures: [{value}]"))
        made = load(put_in).section("Resources")
        layers += [name for name, r in made.items() if r["Type"] == "AWS::Lambda::LayerVersion"]
    assert len(set(layers)) == 2


def test_one_word_names_an_operation_everywhere(functions: Resources) -> None:
    for name, function in functions.items():
        properties = function["Properties"]
        folder = Path(properties["CodeUri"]).name
        assert (ROOT / "functions" / folder / "app.py").is_file(), name
        if name in ("CacheResponseFunction", "AnnounceEndFunction"):  # no operation: a state, and a stream, call them
            continue
        operation = properties["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
        assert properties["FunctionName"]["Fn::Sub"].endswith(f"StackName}}_op-{operation}")
        assert folder == operation.replace("-", "_")
        assert name == "".join(word.capitalize() for word in operation.split("-")) + "Function"


def test_the_page_says_how_long_a_stack_name_can_be_with_the_examples(functions: Resources) -> None:
    """A function's name has at most 64 characters (CreateFunction)."""
    named = [each["Properties"].get("FunctionName", {"Fn::Sub": ""})["Fn::Sub"] for each in functions.values()]
    longest = 64 - max(len(name.partition("}")[2]) for name in named)
    page = (ROOT / "docs" / "deploy.md").read_text()
    assert f"**A stack with the examples has a name of at most {longest} characters**" in page


@pytest.mark.parametrize("environment", ["default", "dev", "prod"])
def test_samconfig_sets_parameters_that_exist_to_values_that_are_allowed(
    environment: str, source: Mapping[str, Any]
) -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())[environment]
    given = dict(pair.split("=", 1) for pair in config["deploy"]["parameters"]["parameter_overrides"].split())
    values = parameter_values(source["Parameters"], given)
    assert values["Stage"] == ("prod" if environment == "prod" else "dev")
    assert values["ExecutionLog"] == "ERROR", "payloads stay out of the log unless somebody says so"


@pytest.mark.parametrize("page", ["deploy.md", "upgrading.md"])
def test_the_lists_of_parameters_in_the_pages_are_allowed(page: str, source: Mapping[str, Any]) -> None:
    """sam takes such a list in place of the one in samconfig.toml."""
    blocks = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.DOTALL | re.MULTILINE)
    [shown, kept] = [
        dict(
            pair.split("=", 1)
            for pair in tomllib.loads(text)["prod"]["deploy"]["parameters"]["parameter_overrides"].split()
        )
        for text in (*blocks, (ROOT / "samconfig.toml").read_text())
    ]
    assert parameter_values(source["Parameters"], shown)["Lane"] == "fast"
    assert shown.items() > kept.items()
