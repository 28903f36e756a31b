"""The gate refuses what only cfn-lint sees; tests/gate has the variants of all other checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncekit.gate.run import ALL, QUICK, findings
from tests.gate.variants import Variant, variants


@pytest.mark.parametrize("variant", variants("cloudformation"), ids=lambda each: each.name)
def test_what_only_cfn_lint_sees_is_refused_by_name_too(variant: Variant, tmp_path: Path) -> None:
    template = variant.write(tmp_path)
    assert findings(template, QUICK) == []
    [found] = findings(template, ALL)
    assert variant.is_refused_by(str(found))
