"""The gate lets the project pass, and refuses every broken variant of it with a line that names the state."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncekit.gate.__main__ import main
from oncekit.gate.run import findings
from tests.gate.variants import ROOT, Variant, variants


def test_the_project_has_no_finding() -> None:
    assert [str(each) for each in findings(ROOT / "template.yaml")] == []


@pytest.mark.parametrize("variant", [pytest.param(each, id=each.name) for each in variants()])
def test_a_broken_variant_is_refused_by_name(variant: Variant, tmp_path: Path) -> None:
    found = [str(each) for each in findings(variant.write(tmp_path))]
    assert any(variant.is_refused_by(line) for line in found), found


def test_the_command_prints_a_line_for_each_finding_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    variant = variants("writes")[0]
    monkeypatch.setattr("sys.argv", ["gate", "--template", str(variant.write(tmp_path))])
    assert main() == 1
    assert any(variant.is_refused_by(line) for line in capsys.readouterr().out.splitlines())


def test_a_template_that_is_not_there_is_named(tmp_path: Path) -> None:
    found = [str(each) for each in findings(tmp_path / "template.yaml")]
    assert found == ["template.yaml: No such file or directory; name the template with --template"]
