"""`once sdk node`: npm is a stand-in here, which keeps what it was asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from commands import Done
from commands import once as command

from oncekit.local.lambda_runtime import node_sdk

NPM = """#!/bin/sh
case "$(cat package.json)" in *client-nothing*) echo "npm error 404 no such package" >&2; exit 1;; esac
mkdir -p node_modules && cp package.json node_modules/asked.json
"""


def no_stack(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing of this needs a deployed stack")


def once(*arguments: str) -> Done:
    return command(no_stack, "sdk", "node", *arguments)


@pytest.fixture(autouse=True)
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin/npm"
    program.parent.mkdir()
    program.write_text(NPM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return program


def asked() -> dict[str, str]:
    found: dict[str, str] = json.loads((node_sdk.folder() / "node_modules/asked.json").read_text())["dependencies"]
    return found


def test_npm_installs_one_version_of_the_packages_and_of_those_that_are_added() -> None:
    done = once()
    assert done.code == 0, done.err
    usual = asked()
    assert done.out.splitlines() == sorted(usual) and "@aws-sdk/client-dynamodb" in usual
    assert once("@aws-sdk/client-athena").code == 0
    assert once("@aws-sdk/client-glue").code == 0
    assert asked().keys() == usual.keys() | {"@aws-sdk/client-athena", "@aws-sdk/client-glue"}
    assert set(asked().values()) == {node_sdk.VERSION}


def test_a_package_that_npm_does_not_find_is_told_and_forgotten() -> None:
    done = once("@aws-sdk/client-nothing")
    assert done.code == 2 and "npm error 404 no such package" in done.err and "Traceback" not in done.err
    assert once().code == 0


def test_a_package_of_somebody_else_belongs_to_the_function() -> None:
    done = once("left-pad")
    assert done.code == 2 and "left-pad is not of AWS's SDK" in done.err


def test_a_machine_without_npm_is_told(npm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(npm.parent.parent))
    done = once()
    assert done.code == 2 and "there is no npm on this machine's PATH" in done.err
