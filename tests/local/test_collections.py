"""When Python looks for garbage while a cloud is up."""

from __future__ import annotations

import gc

import pytest

from oncekit.local.without_collections import RARELY, rare_collections

pytestmark = pytest.mark.ours


def test_what_is_there_is_never_looked_through_and_what_comes_rarely() -> None:
    before = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold() == RARELY and gc.get_freeze_count() >= 1000
    assert gc.get_threshold() == before
