"""The tests in `application/` are a user's, and are run as a user runs them: test_kit.py starts them."""

from __future__ import annotations

import pytest

collect_ignore = ["application"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """test_kit.py comes first: no other file takes so long, and at the end one processor would have nothing to do."""
    items.sort(key=lambda item: item.path.name != "test_kit.py")
