"""What runs on GitHub: who gets the token that deploys, and whose code runs beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
ON_MAIN = "github.ref == 'refs/heads/main'"
OF_A_TAG = "github.ref_type == 'tag'"
# What a person who is no member of the project can choose: titles, branch names, bodies, inputs.
CHOSEN_BY_OTHERS = re.compile(r"\$\{\{[^}]*\b(github\.(event|head_ref|ref_name|actor)|inputs|vars|secrets)\b")
Job = dict[str, Any]


def parsed(path: Path) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text())
    return loaded


def jobs() -> Iterator[tuple[str, Job]]:
    for path in WORKFLOWS:
        for name, job in parsed(path)["jobs"].items():
            yield f"{path.stem}.{name}", job


def used(job: Job) -> list[str]:
    return [step["uses"] for step in job["steps"] if "uses" in step]


def has_token(job: Job) -> bool:
    return "id-token" in job.get("permissions", {})


@pytest.fixture(scope="module")
def deploy() -> dict[str, Job]:
    jobs_of: dict[str, Job] = parsed(ROOT / ".github/workflows/deploy.yml")["jobs"]
    return jobs_of


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_unless_a_job_asks_for_more(path: Path) -> None:
    assert parsed(path)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_workflow_runs_with_rights_on_somebody_elses_pull_request(path: Path) -> None:
    on = parsed(path)[True]  # YAML takes the word `on` for a truth
    started_by = {on} if isinstance(on, str) else set(on)

    assert started_by <= {"push", "pull_request", "workflow_dispatch", "workflow_run"}
    if "workflow_run" in started_by:
        assert on["workflow_run"]["branches"] == ["main"]
        assert all(ON_MAIN in job["if"] for job in parsed(path)["jobs"].values())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_commit_and_says_its_version(path: Path) -> None:
    lines = [line.strip() for line in path.read_text().splitlines() if "uses:" in line]

    assert lines
    for line in lines:
        assert re.fullmatch(r"- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_nothing_that_others_choose_is_put_into_a_command() -> None:
    commands = [step["run"] for _, job in jobs() for step in job["steps"] if "run" in step]

    assert commands
    assert not [command for command in commands if CHOSEN_BY_OTHERS.search(command)]


def test_the_token_is_for_who_deploys_and_for_who_tries_what_is_deployed() -> None:
    assert {name for name, job in jobs() if has_token(job)} == {
        "deploy.deploy",
        "e2e.e2e",
        "release.publish",
    }
    without = {name for name, job in jobs() if "permissions" in job and not has_token(job)}
    assert without == {"deploy.build", "release.build"}


def test_whoever_has_the_token_is_of_an_environment_and_on_main_or_of_a_tag() -> None:
    for name, job in jobs():
        if has_token(job):
            assert "environment" in job, name
            assert (OF_A_TAG if name.startswith("release.") else ON_MAIN) in job["if"], name


def test_what_deploys_runs_nothing_of_the_repository_and_installs_nothing(deploy: dict[str, Job]) -> None:
    steps = deploy["deploy"]["steps"]

    assert [name.split("@")[0] for name in used(deploy["deploy"])] == [
        "actions/download-artifact",
        "aws-actions/configure-aws-credentials",
    ]
    [run] = [step["run"].split() for step in steps if "run" in step]
    assert run[:2] == ["sam", "deploy"]
    assert run[run.index("--config-file") + 1] == '"$GITHUB_WORKSPACE/samconfig.toml"', (
        "without a whole path sam looks beside the template"
    )


def test_what_is_deployed_is_what_was_tested_and_built(deploy: dict[str, Job]) -> None:
    upload = next(step for step in deploy["build"]["steps"] if "upload-artifact" in step.get("uses", ""))
    download = next(step for step in deploy["deploy"]["steps"] if "download-artifact" in step.get("uses", ""))
    commands = [step["run"] for step in deploy["build"]["steps"] if "run" in step]

    assert deploy["deploy"]["needs"] == "build"
    assert upload["with"]["name"] == download["with"]["name"]
    assert upload["with"]["path"].split() == ["build/deploy", "statemachine", "samconfig.toml"]
    assert download["with"]["digest-mismatch"] == "error"
    assert commands == ["make tools cdk test lint audit", ".venv-sam/bin/sam build --build-dir build/deploy"]


def test_what_publishes_runs_nothing_of_the_repository_and_uploads_what_was_checked() -> None:
    release: dict[str, Job] = parsed(ROOT / ".github/workflows/release.yml")["jobs"]
    commands = [step["run"] for step in release["build"]["steps"] if "run" in step]
    assert commands[-1] == 'make release-check TAG="$GITHUB_REF_NAME"'
    assert [name.split("@")[0] for name in used(release["publish"])] == [
        "actions/download-artifact",
        "actions/attest-build-provenance",
        "pypa/gh-action-pypi-publish",
    ]
    [run] = [step["run"].split() for step in release["publish"]["steps"] if "run" in step]
    assert run[:3] == ["gh", "release", "create"] and "--verify-tag" in run and release["publish"]["needs"] == "build"
    upload = next(step["with"] for step in release["build"]["steps"] if "upload-artifact" in step.get("uses", ""))
    download = next(step["with"] for step in release["publish"]["steps"] if "download-artifact" in step.get("uses", ""))
    assert upload["name"] == download["name"] and upload["path"] == "build/release"
    assert download["digest-mismatch"] == "error"


def test_a_release_passes_whatever_a_change_passes() -> None:
    def run(workflow: str) -> set[str]:
        all_jobs = parsed(ROOT / f".github/workflows/{workflow}.yml")["jobs"].values()
        commands = (step["run"] for job in all_jobs for step in job["steps"] if step.get("run", "").startswith("make "))
        return {word for command in commands for word in command.split()[1:] if re.fullmatch(r"[a-z-]+", word)}

    assert run("check") <= run("release") and {"test", "lint"} <= run("check")


def test_no_checkout_leaves_its_token_behind() -> None:
    checkouts = [step for _, job in jobs() for step in job["steps"] if "checkout@" in step.get("uses", "")]

    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("folder", ["npm", "cdk"])
def test_npm_tools_are_locked_by_hash_wherever_they_are_fetched_from(folder: str) -> None:
    manifest = json.loads((ROOT / f"requirements/{folder}/package.json").read_text())
    lock = json.loads((ROOT / f"requirements/{folder}/package-lock.json").read_text())
    packages = {path: package for path, package in lock["packages"].items() if path}
    wanted = manifest["dependencies"]

    assert all(re.fullmatch(r"(npm:\w+@)?\d+\.\d+\.\d+", version) for version in wanted.values())
    assert {path.removeprefix("node_modules/") for path in packages} >= set(wanted)
    for path, package in packages.items():
        # One that another brings inside of it is hashed with that one.
        assert package.get("inBundle") or package["integrity"].startswith("sha512-"), path
        assert "resolved" not in package, (
            f"{path} names a registry's host: lock it with --omit-lockfile-registry-resolved"
        )
        assert "hasInstallScript" not in package, path


def test_every_python_requirement_is_pinned_by_hash() -> None:
    files = [*(ROOT / "requirements").glob("*.txt"), ROOT / "shared/requirements.txt"]

    assert {path.with_suffix(".in").name for path in files[:-1]} == {
        path.name for path in (ROOT / "requirements").glob("*.in") if path.name != "layer.in"
    }
    for path in files:
        for requirement in re.split(r"\n(?=[A-Za-z])", path.read_text()):
            assert re.match(r"[\w.\[\], -]+==\S+", requirement), (path.name, requirement)
            assert "--hash=sha256:" in requirement, (path.name, requirement)


def test_dependabot_looks_wherever_something_is_pinned() -> None:
    updates = parsed(ROOT / ".github/dependabot.yml")["updates"]
    looks = {
        (each["package-ecosystem"], path)
        for each in updates
        for path in each.get("directories", [each.get("directory")])
    }
    manifests = {
        "npm": ROOT.glob("requirements/**/package.json"),
        "pip": [*ROOT.glob("requirements/*.txt"), *ROOT.glob("shared/requirements.txt")],
    }
    pinned = {(kind, f"/{file.parent.relative_to(ROOT)}") for kind, files in manifests.items() for file in files}
    assert looks == pinned | {("github-actions", "/")}


def test_everything_that_has_an_owner_is_there() -> None:
    lines = (ROOT / ".github/CODEOWNERS").read_text().splitlines()
    owned = [line.split()[0] for line in lines if not line.startswith("#")]
    assert owned[0] == "*" and [path for path in owned[1:] if not (ROOT / path.strip("/")).exists()] == []
    assert {"/.github/", "/requirements/", "/samconfig.toml"} <= set(owned), (
        "who changes these changes who deploys what"
    )


def test_the_page_about_deploying_asks_for_audience_subject_and_branch() -> None:
    page = (ROOT / "docs/deploying.md").read_text()
    policy = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])

    assert policy["Statement"][0]["Condition"] == {
        "StringEquals": {
            "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
            "token.actions.githubusercontent.com:sub": "repo:OWNER/REPO:environment:prod",
            "token.actions.githubusercontent.com:ref": "refs/heads/main",
        }
    }
