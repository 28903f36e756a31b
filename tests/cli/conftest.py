"""The operator, on the shared local cloud."""

from __future__ import annotations

from pathlib import Path

import pytest
from operating import Operator

from oncekit.local import LocalCloud


@pytest.fixture
def operator(cloud: LocalCloud, latches_folder: Path) -> Operator:
    return Operator(cloud, latches_folder)
