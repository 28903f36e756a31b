"""The script that says how far a folder of applications comes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from strangers import scan

HEAD = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
FUNCTION = (
    "  Work: { Type: AWS::Serverless::Function, Properties: { Runtime: $R, Handler: app.handler, CodeUri: $C } }\n"
)
RUNTIMES = {
    "bare": ("python3.13", "."),
    "fails": ("python3.13", "../code"),
    "jvm": ("java21", "."),
    "lacks": ("python3.13", "."),
    "no": ("", "."),
}
CODES = {
    "code/app.py": "def handler(event, context): raise ValueError(event['id'])\n",
    "lacks/app.py": "import left_pad\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        f"{name}/app.yaml": HEAD + FUNCTION.replace("$R", runtime).replace("$C", code)
        for name, (runtime, code) in RUNTIMES.items()
    }
    files |= {**CODES, "no/app.yaml": HEAD + "  - AWS::Serverless::Function\n"}
    for name, text in files.items():
        (tmp_path / "there" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "there" / name).write_text(text)
    return tmp_path / "there"


def test_each_template_has_a_line_and_each_language_a_share(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    can_shut_off = subprocess.run([*scan.NO_NETWORK, "true"], capture_output=True).returncode == 0
    given = [str(folder), "--results", str(tmp_path / "results"), *([] if can_shut_off else ["--with-network"])]
    assert scan.main(given) == 0
    printed = capsys.readouterr().out
    lines = [" ".join(each.split()) for each in printed.splitlines()]
    assert [lines[1], lines[4]] == [
        "started python fails/app.yaml ValueError: 1",
        "init unknown no/app.yaml once: app.yaml has no Resources",
    ]
    stopped = ("no code python bare/app.yaml ", "another language java jvm/", "needs packages python lacks/app.yaml ")
    for line, begins in zip((lines[0], lines[2], lines[3]), stopped, strict=True):
        assert line.startswith(begins) and "app.yaml:3: operation work" in line
    assert {"templates 5 3 1 1", "past init 80.0 % 100.0 % 100.0 % 0.0 %", "started 1 1 0 0"} <= {*lines}
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before
    assert scan.main([*given, "--only", "fails"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["all", "python"], "what was found is not tried again"
