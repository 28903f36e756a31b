"""What `once new` writes runs in `sam local invoke`: on the processor of this machine, and led to `once up`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from adoption.conftest import PAGE, Application, tool
from as_sam import as_sam

from oncekit.local.template import parse

ENDPOINT = "http://host.docker.internal:4599"


def began(application: Application, name: str) -> Application:
    """With a new operation, `pay`."""
    for command in (("init",), ("new", name)):
        done = application.once(*command)
        assert done.code == 0, done.err
    return application


@pytest.fixture(params=["empty", "foreign"])
def ours(request: pytest.FixtureRequest) -> Application:
    """An application that began with Once, and one that was there before."""
    return began(request.getfixturevalue(request.param), "pay")


def test_sam_runs_new_functions_and_those_of_once_on_the_processor_that_is_given(
    ours: Application, tmp_path: Path
) -> None:
    tool(".venv-sam/bin/sam")
    variables = {"PayFunction": {"AWS_ENDPOINT_URL": ENDPOINT}}
    architectures = ("arm64", "x86_64")
    asked = as_sam(
        ours.folder / "template.yaml", variables, tmp_path, *({"Architecture": each} for each in architectures)
    )
    for architecture, made in zip(architectures, asked, strict=True):
        assert {tuple(made[name][0]) for name in ("PayFunction", "CacheResponseFunction")} == {(architecture,)}
        assert made["PayFunction"][1]["AWS_ENDPOINT_URL"] == ENDPOINT


def test_a_parameter_and_a_condition_that_are_there_stay_as_they_are(foreign: Application) -> None:
    template, own = foreign.folder / "template.yaml", "Architecture: {Type: String, Default: x86_64}"
    text = template.read_text()
    template.write_text(
        text.replace("Globals:", f"Parameters:\n    {own}\nConditions:\n    A: !Equals [1, 1]\nGlobals:")
    )
    value = parse(began(foreign, "pay").text("template.yaml"), template)
    assert value["Parameters"] == {"Architecture": {"Type": "String", "Default": "x86_64"}}
    assert list(value["Conditions"]) == ["A", "RunsInSamLocal"]


def test_lines_of_the_page_lead_the_functions_of_an_application_to_once_up(
    foreign: Application, tmp_path: Path
) -> None:
    (block,) = (each for each in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if each.startswith("Conditions:"))
    lines, template = parse(f"{block}Resources: {{}}", tmp_path), foreign.folder / "template.yaml"
    value = parse(template.read_text(), template)
    value["Globals"]["Function"] |= lines["Globals"]["Function"]
    template.write_text(yaml.safe_dump({**value, "Conditions": lines["Conditions"]}))
    tool(".venv-sam/bin/sam")
    variables = {name: {"AWS_ENDPOINT_URL": ENDPOINT} for name in ("BillCustomer", "WriteReceipt")}
    [made] = as_sam(template, variables, tmp_path, {})
    assert [made[name][1]["AWS_ENDPOINT_URL"] for name in (*variables, "Warehouse")] == [ENDPOINT, ENDPOINT, ""]
