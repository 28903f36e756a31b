"""Links lead somewhere, each page is in its place, words are explained before they are used, commands are there."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from glossary_links import unlinked
from once.single_writes import CREATOR, PROCESSED
from story_pictures import USES, Part, pictures
from template_parts import TEMPLATE, all_resources, references
from typer.main import get_command
from walls import walls
from write_reference import pages as written

from oncekit.cli.main import COMMANDS, app
from oncekit.local.deployment.deploy import rendered_definitions
from oncekit.local.templates.template import parse

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "RELEASING", "SECURITY")),
    *DOCS,
    *sorted((ROOT / "functions").glob("*/README.md")),
]
SITE = ROOT / "mkdocs.yml"
OF_A_REPOSITORY = {"docs/deploying.md"}
"""The owner there is GitHub's."""
KINDS = ["Learn", "Do", "Look up", "Understand"]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[str]:
    """Where its links and pictures lead, but for addresses of the web."""
    text = re.sub(r"`[^`\n]*`", "``", prose(page))
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r' src(?:set)?="([^"]+)"', text)
    return [each for each in found if not re.match(r"https?://", each)]


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


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


def test_pages_install_the_wheel_of_this_version() -> None:
    wheel = f"build/wheel/oncekit-{version('oncekit')}-py3-none-any.whl"
    assert f"$ make wheel && pip install '{wheel}[local]'" in README.read_text()
    assert f"$ make wheel\n{wheel}\n$ pip install '{wheel}[local]'\n" in (ROOT / "docs" / "testing.md").read_text()


@pytest.mark.parametrize("page", [README, *DOCS], ids=name_of)
def test_a_word_of_the_glossary_is_a_link_where_a_page_first_uses_it(page: Path) -> None:
    if page.stem != "glossary" and name_of(page) not in OF_A_REPOSITORY:
        text = page.read_text(encoding="utf-8")
        assert not [f"line {text[:start].count(chr(10)) + 1}: {word}" for word, start, _ in unlinked(text)]


@pytest.mark.parametrize("page", [README, *DOCS], ids=name_of)
def test_no_cell_or_sentence_of_a_page_is_a_wall(page: Path) -> None:
    """Cells of at most 200 letters, sentences of at most 40 words."""
    found = [f"{name_of(page)}:{line}: {what}" for line, what in walls(page.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", DOCS, ids=name_of)
def test_no_code_in_a_table_has_a_bar_whose_backslash_the_site_shows(page: Path) -> None:
    assert re.findall(r"^\|.*`[^`\n]*\\\|[^`\n]*`.*$", prose(page), re.MULTILINE) == []


def navigation() -> dict[str, list[str]]:
    """The pages of the site, by kind."""
    parts = [each for each in yaml.safe_load(SITE.read_text())["nav"] if not isinstance(next(iter(each.values())), str)]
    return {kind: [path for page in pages for path in page.values()] for part in parts for kind, pages in part.items()}


def test_every_page_is_in_the_navigation_of_the_site_once_under_one_kind() -> None:
    found = navigation()
    assert list(found) == KINDS
    assert sorted(page for pages in found.values() for page in pages) == sorted(
        page.name for page in DOCS if page.name != "index.md"
    )


def test_a_numbered_list_is_on_the_site_as_it_is_on_github() -> None:
    """By itself, it begins each part of an interrupted list with 1. Below an item, a list is four spaces deep."""
    parts = [number for page in DOCS for number in re.findall(r"(?<=\n\n)(\d+)\. ", prose(page))]
    assert set(parts) > {"1"} and "sane_lists" in yaml.safe_load(SITE.read_text())["markdown_extensions"]
    assert not [page.name for page in DOCS if re.search(r"^ {1,3}(?:[-*]|\d+\.) ", prose(page), re.MULTILINE)]


@pytest.mark.parametrize("page", [page for page in DOCS if page.name != "index.md"], ids=name_of)
def test_a_page_has_the_same_name_on_top_and_in_the_navigation(page: Path) -> None:
    kinds = [
        each for part in yaml.safe_load(SITE.read_text())["nav"] for each in part.values() if isinstance(each, list)
    ]
    shown = {path: name for pages in kinds for each in pages for name, path in each.items()}
    assert page.read_text(encoding="utf-8").splitlines()[0] == f"# {shown[page.name]}"


def test_the_first_page_links_every_page_under_the_same_kind() -> None:
    text = (ROOT / "docs" / "index.md").read_text()
    for kind, pages in navigation().items():
        [chapter] = re.findall(rf"^## {kind}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
        assert set(re.findall(r"\]\(([\w-]+\.md)\)", chapter)) == set(pages), kind


def test_the_readme_is_short_enough_to_be_read() -> None:
    lines = README.read_text().splitlines()
    assert len(lines) <= 150
    assert [line for line in lines if len(line) > 120] == []


@pytest.mark.parametrize("page", ["effects.md", "library.md", "direct-lane.md"])
def test_a_page_on_single_writes_says_what_they_add_to_an_item(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    for call, attribute in (("put_once(", CREATOR), ("apply_once(", PROCESSED)):
        assert (f"`{attribute}`" in text) is (call in text)


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


def test_a_message_that_names_a_page_says_whose_it_is() -> None:
    """Who installed the package has a docs/ of their own, or none."""
    for path in (ROOT / "oncekit").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documentation = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        for each in ast.walk(tree):
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in documentation:
                assert not re.search(r"(?<!Once's )\bdocs/[\w-]+\.md", each.value), f"{path}: {each.value}"


COMMAND = re.compile(r"(?:^\$ (?:.*(?:&&|\|) )?|`)once ([a-z][a-z-]*)([^`\n|#&;]*)", re.MULTILINE)


@pytest.fixture(scope="module")
def options() -> Mapping[str, set[str]]:
    """Of each command; an option that is gone, and only says what took its place, is hidden."""
    commands = get_command(app(*COMMANDS)).commands  # type: ignore[attr-defined]
    shown = {name: [one for one in each.params if not getattr(one, "hidden", False)] for name, each in commands.items()}
    return {name: {each for one in params for each in one.opts} for name, params in shown.items()}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_their_options_are_there(page: Path, options: Mapping[str, set[str]]) -> None:
    for name, rest in COMMAND.findall(page.read_text(encoding="utf-8")):
        assert name in options, name
        assert set(re.findall(r"(?<=\s)-{1,2}[a-z][a-z-]*", rest)) <= options[name], f"once {name}{rest}"


def test_every_option_is_in_the_row_or_the_section_of_its_command_or_shared(options: Mapping[str, set[str]]) -> None:
    rows, _, shared = (ROOT / "docs/commands.md").read_text().partition("## What they share")
    for name, known in options.items():
        [row] = re.findall(rf"^\| `once {name}\b.*$", rows, re.MULTILINE)
        section = "".join(re.findall(rf"^### once {name}\n(.*?)^##", f"{rows}##", re.DOTALL | re.MULTILINE))
        assert not {each for each in known if each.startswith("--") and each not in row + section + shared}, name


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_targets_of_make_are_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^\$ |`)make ([a-z0-9-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= targets


def test_what_the_readme_says_of_costs_and_proof_is_what_their_pages_say() -> None:
    costs = (ROOT / "docs/cost.md").read_text()
    for page in (README, ROOT / "docs/alternatives.md"):
        text = page.read_text()
        for lane in ("fast", "full", "direct"):
            [(new, duplicate)] = re.findall(
                rf"^\| [*]*(?:Once[*]*, )?{lane} lane \| ([\d.]+) / ([\d.]+) \|", text, re.MULTILINE
            )
            for kind, said in (("new request", new), ("duplicate", duplicate)):
                [counted] = re.findall(
                    rf"^\| {lane} \| {kind}, 300-byte result \|.*\| ([\d.]+) \|$", costs, re.MULTILINE
                )
                assert said == counted, (page.name, lane, kind)
    proof = (ROOT / "docs/proof.md").read_text()
    for figure in re.findall(
        r"\d[\d,]*",
        re.findall(r"^`make proof` injects(.*?)\n\n", README.read_text(), re.DOTALL | re.MULTILINE)[0].partition(
            "[The"
        )[0],
    ):
        assert figure in proof, figure


def test_prices_that_two_pages_begin_with_are_those_that_are_counted() -> None:
    costs = (ROOT / "docs/cost.md").read_text()
    counted = set(re.findall(r"^\|.*\| ([\d.]+) \|$", costs, re.MULTILINE))
    for text in (costs.partition("\n## ")[0], (ROOT / "docs/index.md").read_text()):
        said = re.findall(r"\$(\d+\.\d\d)\b", text)
        assert len(said) > 5 and set(said) <= counted


def test_the_readmes_calls_by_http_are_answered_as_the_page_on_http_says() -> None:
    [shown] = re.findall(r"^\$ charge\(\) \{(.*?)```", README.read_text(), re.DOTALL | re.MULTILINE)
    page = (ROOT / "docs/http.md").read_text()
    answers = [line for line in shown.split("; }\n")[1].splitlines() if line not in ("$ charge", "...")]
    assert len(answers) == 6
    assert not [line for line in answers if line not in page]
    for part in ("--aws-sigv4 aws:amz:us-east-1:execute-api", "http://127.0.0.1:4601/default/charge-payment"):
        assert part in shown and part in page


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_curl_prints_ends_with_its_line(page: Path) -> None:
    """A body has no end of line, and the next one would follow it on a terminal."""
    commands = re.findall(r"curl (?:-i )?--aws-sigv4(?:\\\n|[^`\n])*", page.read_text(encoding="utf-8"))
    assert not [each for each in commands if r"-w '\n'" not in each]
    assert commands or page not in (README, ROOT / "docs/http.md", ROOT / "docs/send.md")


def test_the_version_of_sam_that_the_page_asks_for_is_not_newer_than_the_one_here() -> None:
    [asked] = re.findall(r"Use SAM CLI ([\d.]+) or later", (ROOT / "docs/adopting.md").read_text())
    [pinned] = re.findall(r"^aws-sam-cli==([\d.]+)$", (ROOT / "requirements/sam.in").read_text(), re.MULTILINE)
    assert [int(each) for each in asked.split(".")] <= [int(each) for each in pinned.split(".")]


def test_the_pages_name_the_versions_of_moto_that_the_package_takes() -> None:
    [(least, below)] = re.findall(r'"moto\[.*?\]>=([\d.]+),<([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    named = [
        each
        for page in (ROOT / "docs").glob("*.md")
        for each in re.findall(r"from [\d.]+ on, below \d+", page.read_text())
    ]
    assert named and set(named) == {f"from {least} on, below {below}"}


def test_the_page_on_the_repository_has_every_room_of_the_kit() -> None:
    page = (ROOT / "docs/repository.md").read_text()
    rooms = [each.parent.name for each in (ROOT / "oncekit").glob("*/__init__.py")]
    assert not [room for room in rooms if f"| `oncekit/{room}/` |" not in page]


def test_the_pages_of_parameters_alarms_and_states_are_what_the_template_says() -> None:
    for name, text in written(ROOT / "template.yaml").items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, f"docs/{name}: run `make reference`"


def test_the_pictures_that_tell_a_story_are_as_they_are_drawn() -> None:
    """`make pictures` draws them."""
    for name, text in pictures().items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, name


def test_the_picture_of_the_account_has_what_the_template_makes_and_uses() -> None:
    made = parse(TEMPLATE.read_text(), TEMPLATE)["Resources"]
    parts = {part for pair in USES for part in pair}
    of_others = ("Policy", "Role", "LogGroup", "MetricFilter", "Version", "Alias")
    things = {name for name, each in made.items() if not each["Type"].endswith(of_others)}
    told_below_it = {"DirectLaneParameter", "EndsAnnounced"}
    assert things - {name for part in parts for name in part.resources} == told_below_it

    def refers(part: Part, to: Part) -> bool:
        return any(set(references(made[name])) & set(to.resources) for name in part.resources)

    assert [(part.title, used.title) for part, used in USES if not (refers(part, used) or refers(used, part))] == []
    machines = {part.below: made[part.resources[0]]["Properties"].get("StateMachineType") for part in parts}
    assert all(below.upper().startswith(kind) for below, kind in machines.items() if kind)


@pytest.mark.parametrize("picture", sorted((ROOT / "docs").glob("*.svg")), ids=name_of)
def test_a_drawn_picture_has_a_dark_form_and_a_name(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text or picture.name == "logo.svg", "the logo is the same on both"
    assert "<title" in text or "aria-label=" in text or picture.name == "logo.svg", "the logo stands beside the name"


def test_a_picture_of_the_console_has_a_dark_form_on_the_site() -> None:
    style = (ROOT / "docs/site.css").read_text()
    light = [each for each in (ROOT / "docs").glob("*.png") if not each.stem.endswith("-dark")]
    assert light and not [each.name for each in light if not each.with_stem(f"{each.stem}-dark").exists()]
    assert not [
        each.name
        for each in light
        if f'img[src$="{each.name}"] {{ content: url("{each.stem}-dark.png"); }}' not in style
    ]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_picture_says_in_words_what_it_shows(page: Path) -> None:
    text = prose(page)
    shown = re.findall(r"!\[([^\]]*)\]\(", text) + re.findall(r'<img (?:[^>]*? alt="([^"]*)")?', text)
    assert all(len(words.split()) > 3 for words in shown)


def test_no_parameter_alarm_or_state_is_left_out() -> None:
    template = parse((ROOT / "template.yaml").read_text(), ROOT / "template.yaml")
    pages = written(ROOT / "template.yaml")
    assert all(f"| `{name}` | " in pages["parameters.md"] for name in (*template["Parameters"], *template["Outputs"]))
    alarms = [name for name, each in all_resources().items() if str(each.get("Type")).endswith("Alarm")]
    assert len(alarms) > 10 and all(f"| `{name}` | " in pages["alarms.md"] for name in alarms)
    machines = rendered_definitions(ROOT / "template.yaml").values()
    assert all(f"| `{state}` | " in pages["states.md"] for machine in machines for state in machine["States"])
