"""The capabilities in samconfig.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from oncekit.adoption.sam_config import CAPABILITIES, with_capabilities
from oncekit.problem import Problem

BOTH = " ".join(CAPABILITIES)


def changed(tmp_path: Path, text: str) -> str | None:
    path = tmp_path / "samconfig.toml"
    path.write_text(text)
    return with_capabilities(path)


def test_a_file_that_is_missing_is_made(tmp_path: Path) -> None:
    text = with_capabilities(tmp_path / "samconfig.toml")
    assert text is not None and tomllib.loads(text)["default"]["deploy"]["parameters"]["capabilities"] == BOTH


@pytest.mark.parametrize("given", [f'"{BOTH}"', '["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]'])
def test_what_has_them_is_left_alone(tmp_path: Path, given: str) -> None:
    assert changed(tmp_path, f"[default.deploy.parameters]\ncapabilities = {given}\n") is None


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("capabilities = 'CAPABILITY_IAM' # why", "capabilities = 'CAPABILITY_IAM CAPABILITY_AUTO_EXPAND' # why"),
        ('capabilities=""', f'capabilities="{BOTH}"'),
    ],
)
def test_each_section_of_deploy_gets_them_and_keeps_the_rest(tmp_path: Path, line: str, new: str) -> None:
    text = (
        "# head\n[default.deploy.parameters]\n{}\n\n[default.build.parameters]\nx = 1\n\n[prod.deploy.parameters]\n{}\n"
    )
    assert changed(tmp_path, text.format(line, line)) == text.format(new, new)


@pytest.mark.parametrize("text", ["version = 0.1\n", '[prod.deploy.parameters]\ncapabilities = ["CAPABILITY_IAM"]\n'])
def test_what_cannot_be_edited_is_said_with_what_to_add(tmp_path: Path, text: str) -> None:
    with pytest.raises(Problem, match="add CAPABILITY_IAM CAPABILITY_AUTO_EXPAND to the capabilities of each deploy"):
        changed(tmp_path, text)
