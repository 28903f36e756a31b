"""The operator, on the shared local cloud."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from local import LocalCloud

sys.path.insert(0, str(Path(__file__).parent))
from operating import Operator


@pytest.fixture
def operator(cloud: LocalCloud, tmp_path: Path) -> Operator:
    return Operator(cloud, tmp_path)
