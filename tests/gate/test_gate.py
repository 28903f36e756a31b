"""The gate lets the project pass, and refuses every broken variant of it with a line that names the state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gate.run import findings
from tests.gate.conftest import ROOT, Variant, variants


def test_the_project_has_no_finding() -> None:
    assert [str(each) for each in findings(ROOT / "template.yaml")] == []


@pytest.mark.parametrize("variant", variants(), ids=lambda variant: variant.name)
def test_a_broken_variant_is_refused_by_name(variant: Variant, write_variant: Callable[[Variant], Path]) -> None:
    found = [str(each) for each in findings(write_variant(variant))]
    assert any(each.startswith(f"{variant.file}: {variant.finds}") for each in found), found
