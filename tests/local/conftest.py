"""What tests of the local cloud share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from event_stand import Stand, standing

from oncekit.local import LocalCloud


@pytest.fixture
def stand(tmp_path: Path, cloud: LocalCloud) -> Iterator[Stand]:
    """A place for a template of the test's own; deploy it, and its events are delivered."""
    with standing(tmp_path, cloud) as stand:
        yield stand
