"""The gate lets the project pass, and refuses every broken variant of it with a line that names the state.

The proof has the variants that only cfn-lint refuses: it takes seconds for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from oncekit.gate.__main__ import main
from oncekit.gate.run import ALL, QUICK, Check, findings
from tests.gate.variants import BROKEN, ROOT, Variant, variants

CHECKS = {
    file.stem: [each for each in QUICK if each.__module__.endswith(f".{file.stem}")] or QUICK
    for file in sorted(BROKEN.glob("*.yaml"))
    if file.stem != "cloudformation"
}
"""Each kind of variant is looked at by the check of its name, or by all: one of a part that they share."""


@pytest.fixture(scope="session")
def write_variant(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Variant], Path]:
    """Writes a variant into a folder of its own; a template that is the same in many is translated once."""
    kept = tmp_path_factory.mktemp("kept")

    def write(variant: Variant) -> Path:
        folder = tmp_path_factory.mktemp("variant")
        (folder / "build").symlink_to(kept)
        return variant.write(folder)

    return write


def test_the_project_has_no_finding() -> None:
    """As `make lint` says, too: here it is what refuses mutants of the template that nothing else would see."""
    assert [str(each) for each in findings(ROOT / "template.yaml", ALL)] == []


@pytest.mark.parametrize(
    ("checks", "variant"),
    [pytest.param(checks, each, id=each.name) for kind, checks in CHECKS.items() for each in variants(kind)],
)
def test_a_broken_variant_is_refused_by_name(
    checks: Sequence[Check], variant: Variant, write_variant: Callable[[Variant], Path]
) -> None:
    found = [str(each) for each in findings(write_variant(variant), checks)]
    assert any(variant.is_refused_by(line) for line in found), found


def test_the_command_prints_a_line_for_each_finding_and_fails(
    write_variant: Callable[[Variant], Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    variant = variants("substitutions")[0]
    monkeypatch.setattr("sys.argv", ["gate", "--template", str(write_variant(variant))])
    assert main() == 1
    assert any(variant.is_refused_by(line) for line in capsys.readouterr().out.splitlines())


def test_a_template_that_is_not_there_is_named(tmp_path: Path) -> None:
    found = [str(each) for each in findings(tmp_path / "template.yaml")]
    assert found == ["template.yaml: No such file or directory; name the template with --template"]


def test_every_variant_has_a_name_of_its_own() -> None:
    names = [each.name for each in variants()]
    assert len(set(names)) == len(names) >= 30
    assert {file.stem for file in BROKEN.iterdir()} <= {check.__module__.rpartition(".")[2] for check in ALL} | {
        "states"
    }
