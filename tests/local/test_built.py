"""What `sam build` makes is run where the source is not: if it is there and newer, or one sentence says what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oncekit.local.deployment.deploy import deploy, planned
from oncekit.local.events.exchange import left_out
from oncekit.local.templates.template import load

pytestmark = pytest.mark.ours

HEAD = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
FUNCTION = "  Clerk:\n    Type: AWS::Serverless::Function\n    Metadata: {metadata}\n    Properties: {properties}\n"
BEFORE, NOW, LATER = 1_000_000_000, 1_100_000_000, 1_200_000_000
"""When a source was written, when it was built, and when somebody changed it."""


class Application:
    def __init__(self, folder: Path, properties: str, files: dict[str, str], metadata: str = "{}") -> None:
        self.folder = folder
        self.properties = properties
        self.write("template.yaml", HEAD + FUNCTION.format(properties=f"{{ {properties} }}", metadata=metadata))
        for name, text in files.items():
            self.write(name, text)

    def write(self, name: str, text: str, at: int = BEFORE) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (at, at))

    def build(self, place: str = ".aws-sam/build/", name: str = "Clerk") -> None:
        """As `sam build` does, which names a function's folder by its logical id, or by that of one like it."""
        self.write(f"{place}Shared/made.js", "", NOW)
        built = f"{HEAD}  {name}: {{ Type: AWS::Serverless::Function, Properties: {{ CodeUri: Shared }} }}\n"
        self.write(f"{place}template.yaml", built, NOW)

    def followed(self) -> set[Path]:
        """The files and folders by whose changes `once up` deploys again."""
        sources: set[Path] = set()
        deploy(load(self.folder / "template.yaml"), lambda *_: None, "", {}, sources)
        return sources

    def code(self) -> str:
        """The folder that is run, or why none is."""
        stack = planned(self.folder / "template.yaml")
        if stack.functions:
            return next(iter(stack.functions.values())).code.relative_to(self.folder).as_posix()
        [told] = left_out(stack.resources)
        return told


NODE = "Runtime: nodejs22.x, Handler: app.handler, CodeUri: src/"
OWN = "Runtime: provided.al2023, Handler: bootstrap, CodeUri: src/"
MADE_BY_A_BUILD: dict[str, tuple[str, dict[str, str], str, str]] = {
    "TypeScript": (NODE, {"src/app.ts": ""}, "{}", "its code is TypeScript"),
    "esbuild": (NODE, {"src/app.ts": ""}, "{ BuildMethod: esbuild }", "BuildMethod esbuild"),
    "Go": (OWN, {"src/main.go": ""}, "{ BuildMethod: go1.x }", "BuildMethod go1.x"),
    "a Makefile": (OWN, {"src/Makefile": ""}, "{ BuildMethod: makefile }", "BuildMethod makefile"),
    "Rust": (OWN, {"src/Cargo.toml": ""}, "{}", "it has no `bootstrap`"),
}


@pytest.mark.parametrize(("properties", "files", "metadata", "why"), MADE_BY_A_BUILD.values(), ids=MADE_BY_A_BUILD)
def test_what_a_build_makes_is_run_if_it_is_newer(
    tmp_path: Path, properties: str, files: dict[str, str], metadata: str, why: str
) -> None:
    application = Application(tmp_path, properties, files, metadata)
    assert f"it is made by a build ({why}): run `sam build` first" in application.code()
    application.build(name="Another")
    assert "run `sam build` first" in application.code()
    application.build()
    assert application.code() == ".aws-sam/build/Shared"
    changed = next(iter(files))
    built = tmp_path / ".aws-sam/build"
    assert {built / "Shared", built / "template.yaml"} <= application.followed()
    application.write(changed, "new", LATER)
    said = f"what `sam build` made of it is older than {Path(changed).name}: run `sam build` again"
    assert said in application.code()


AS_IT_IS: dict[str, tuple[str, dict[str, str]]] = {
    "Node.js": (NODE, {"src/app.js": ""}),
    "Node.js with its packages": (
        NODE,
        {"src/app.mjs": "", "src/package.json": '{"dependencies": {"a": "1"}}', "src/node_modules/a/index.js": ""},
    ),
    "an executable": (OWN, {"src/bootstrap": "#!/bin/sh"}),
    "Python": ("Runtime: python3.13, Handler: app.handler, CodeUri: src/", {"src/app.py": ""}),
}


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize(("properties", "files"), AS_IT_IS.values(), ids=AS_IT_IS)
def test_what_needs_no_build_is_run_as_it_is(
    tmp_path: Path, properties: str, files: dict[str, str], is_built: bool
) -> None:
    application = Application(tmp_path, properties, files)
    if is_built:
        application.build()
    assert application.code() == "src"


def test_packages_that_only_the_build_has_come_from_it(tmp_path: Path) -> None:
    application = Application(tmp_path, NODE, {"src/app.js": "", "src/package.json": '{"dependencies": {"a": "1"}}'})
    assert application.code() == "src"
    application.build()
    assert application.code() == ".aws-sam/build/Shared"
    application.write("src/app.js", "new", LATER)
    assert application.code() == "src"


def test_what_once_and_npm_write_is_no_change_of_a_source(tmp_path: Path) -> None:
    application = Application(tmp_path, OWN.replace("src/", "./"), {"main.go": ""}, "{ BuildMethod: go1.x }")
    application.build()
    for name in ("events/a.json", "tests/test_a.py", "once/operations.yaml", "node_modules/a/b.js", "samconfig.toml"):
        application.write(name, "{}", LATER)
    application.write("template.yaml", (tmp_path / "template.yaml").read_text(), LATER)
    assert application.code() == ".aws-sam/build/Shared"


def test_a_build_of_an_application_inside_is_found_by_its_name(tmp_path: Path) -> None:
    outer = "  Inner: { Type: AWS::Serverless::Application, Properties: { Location: inner/template.yaml } }\n"
    application = Application(tmp_path / "inner", NODE, {"src/app.ts": ""})
    application.folder = tmp_path
    application.write("template.yaml", HEAD + outer)
    application.build(".aws-sam/build/Inner/")
    place = "{ Location: Inner/template.yaml }"
    built = f"  Inner: {{ Type: AWS::Serverless::Application, Properties: {place} }}\n"
    application.write(".aws-sam/build/template.yaml", HEAD + built, NOW)
    assert application.code() == ".aws-sam/build/Inner/Shared"


@pytest.mark.parametrize(
    ("file", "method", "is_made"),
    [("Makefile", "makefile", True), ("package.json", "nodejs22.x", True), ("requirements.txt", "python3.13", False)],
)
def test_a_layer_that_make_or_npm_makes_is_taken_from_the_build(
    tmp_path: Path, file: str, method: str, is_made: bool
) -> None:
    application = Application(tmp_path, f"{NODE}, Layers: [!Ref Tools]", {"src/app.js": "", f"tools/{file}": "{}"})
    layer = f"  Tools:\n    Type: AWS::Serverless::LayerVersion\n    Metadata: {{ BuildMethod: {method} }}\n"
    text = (tmp_path / "template.yaml").read_text()
    application.write("template.yaml", f"{text}{layer}    Properties: {{ ContentUri: tools/ }}\n")
    [spec] = planned(tmp_path / "template.yaml").functions.values()
    assert spec.layers == (tmp_path / "tools",)
    application.write(".aws-sam/build/Tools/nodejs/node_modules/a/index.js", "", NOW)
    built = "  Tools: { Type: AWS::Serverless::LayerVersion, Properties: { ContentUri: Tools } }\n"
    application.write(".aws-sam/build/template.yaml", HEAD + built, NOW)
    [spec] = planned(tmp_path / "template.yaml").functions.values()
    assert spec.layers == (tmp_path / (".aws-sam/build/Tools" if is_made else "tools"),)


@pytest.mark.parametrize(("method", "runs"), [("makefile", ".aws-sam/build/Shared"), ("python-uv", "src")])
def test_of_python_only_what_make_makes_is_run_from_the_build(tmp_path: Path, method: str, runs: str) -> None:
    properties = "Runtime: python3.13, Handler: app.handler, CodeUri: src/"
    application = Application(tmp_path, properties, {"src/app.py": ""}, f"{{ BuildMethod: {method} }}")
    assert application.code() == "src"
    application.build()
    assert application.code() == runs
