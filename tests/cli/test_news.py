"""What `once up` says of files that changed, and whether it deploys them."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncekit.cli.here.up import News
from oncekit.local import LocalCloud

ROOT = Path(__file__).parents[2]


@pytest.fixture
def news(cloud: LocalCloud) -> News:
    return News(cloud, ROOT / "template.yaml")


def test_a_fault_of_ours_is_shown_in_full_and_does_not_end_the_cloud(
    news: News, cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def redeploy() -> None:
        raise KeyError("odd")

    monkeypatch.setattr(cloud, "redeploy", redeploy)
    news.deploy_again({ROOT / "template.yaml"})
    first, *traceback = capsys.readouterr().err.splitlines()
    assert first == "✗ Not deployed, the earlier version stays. This is a fault of once:"
    assert traceback[-1] == "KeyError: 'odd'"
