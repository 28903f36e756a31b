"""Links lead somewhere, each page is in its place, words are explained before they are used, commands are there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from reading import DOCS, PAGES, ROOT, anchors, links, name_of, prose
from typer.main import get_command

README = ROOT / "README.md"
SITE = ROOT / "mkdocs.yml"
EXPLAINED = re.compile(r"\b(fenc(?:e|es|ed)|leases?|sweeps?|redriven?|redrives|quarantin\w+|owners?)\b")
OF_A_REPOSITORY = {"docs/deploying.md"}
"""The owner there is GitHub's."""
KINDS = ["Learn", "Do", "Look up", "Understand"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", DOCS, ids=name_of)
def test_links_of_a_page_stay_in_the_folder_that_the_site_is_made_of(page: Path) -> None:
    assert not [each for each in links(page) if each.startswith(("..", "/"))]


@pytest.mark.parametrize("page", [README, *DOCS], ids=name_of)
def test_a_page_links_the_glossary_before_it_uses_its_words(page: Path) -> None:
    text = prose(page)
    used = EXPLAINED.search(text)
    if used is None or page.stem == "glossary" or name_of(page) in OF_A_REPOSITORY:
        return
    assert 0 <= text.find("glossary.md") < used.start(), used[0]


def navigation() -> dict[str, list[str]]:
    """The pages of the site, by kind."""
    parts = [each for each in yaml.safe_load(SITE.read_text())["nav"] if not isinstance(next(iter(each.values())), str)]
    return {kind: [path for page in pages for path in page.values()] for part in parts for kind, pages in part.items()}


def test_every_page_is_in_the_navigation_of_the_site_once_under_one_kind() -> None:
    found = navigation()
    assert list(found) == KINDS
    assert sorted(sum(found.values(), [])) == sorted(page.name for page in DOCS if page.name != "index.md")


def test_the_first_page_links_every_page_under_the_same_kind() -> None:
    text = (ROOT / "docs" / "index.md").read_text()
    for kind, pages in navigation().items():
        [chapter] = re.findall(rf"^## {kind}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
        assert set(re.findall(r"\]\(([\w-]+\.md)\)", chapter)) == set(pages), kind


def test_the_readme_is_short_enough_to_be_read() -> None:
    lines = README.read_text().splitlines()
    assert len(lines) <= 150
    assert [line for line in lines if len(line) > 120] == []


def test_the_runbook_is_one_step_away() -> None:
    for page in (README, ROOT / "docs" / "index.md", ROOT / "docs" / "deploy.md", ROOT / "docs" / "commands.md"):
        assert any(link.endswith("runbook.md") for link in links(page)), page


def test_the_pages_that_the_code_names_are_there() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    named = {
        (path, page)
        for path in listed
        if path.endswith((".py", ".yaml", ".yml", ".toml", ".js", ".html")) or path == "Makefile"
        for page in re.findall(r"\bdocs/[\w-]+\.md", (ROOT / path).read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert not {(path, page) for path, page in named if not (ROOT / page).exists()}


COMMAND = re.compile(r"(?:^\$ (?:.*(?:&&|\|) )?|`)once ([a-z][a-z-]*)([^`\n|#&;]*)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_their_options_are_there(page: Path) -> None:
    from oncekit.cli.main import app

    commands = get_command(app).commands  # type: ignore[attr-defined]
    for name, rest in COMMAND.findall(page.read_text(encoding="utf-8")):
        assert name in commands, name
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert set(re.findall(r"(?<=\s)-{1,2}[a-z][a-z-]*", rest)) <= known, f"once {name}{rest}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_targets_of_make_are_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^\$ |`)make ([a-z0-9-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= targets


def test_what_the_readme_says_of_costs_and_proof_is_what_their_pages_say() -> None:
    costs = (ROOT / "docs/cost.md").read_text()
    for page in (README, ROOT / "docs/alternatives.md"):
        text = page.read_text()
        for lane, path in (("fast", ""), ("full", ""), ("-", "Powertools: ")):
            row = {"fast": "fast lane", "full": "full lane", "-": "Powertools idempotency"}[lane]
            [(new, duplicate)] = re.findall(
                rf"^\| [*]*(?:Once[*]*, )?{row} \| ([\d.]+) / ([\d.]+) \|", text, re.MULTILINE
            )
            for kind, said in (("new request", new), ("duplicate", duplicate)):
                [counted] = re.findall(
                    rf"^\| {lane} \| {path}{kind}, 300-byte result \|.*\| ([\d.]+) \| [\d.]+ \|$", costs, re.MULTILINE
                )
                assert said == counted, (page.name, lane, kind)
    proof = (ROOT / "docs/proof.md").read_text()
    for figure in re.findall(
        r"\d[\d,]*",
        re.findall(r"^`make proof` strikes(.*?)\n\n", README.read_text(), re.DOTALL | re.MULTILINE)[0].partition(
            "[The"
        )[0],
    ):
        assert figure in proof, figure


def test_the_readmes_calls_by_http_are_answered_as_the_page_on_http_says() -> None:
    [shown] = re.findall(r"^\$ charge\(\) \{(.*?)```", README.read_text(), re.DOTALL | re.MULTILINE)
    page = (ROOT / "docs/http.md").read_text()
    answers = [line for line in shown.split("; }\n")[1].splitlines() if line not in ("$ charge", "...")]
    assert len(answers) == 6
    assert not [line for line in answers if line not in page]
    for part in ("--aws-sigv4 aws:amz:us-east-1:execute-api", "http://127.0.0.1:4601/operations/charge-payment"):
        assert part in shown and part in page
