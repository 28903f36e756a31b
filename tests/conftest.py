"""The local cloud that the tests share: the real template, in virtual time."""

from __future__ import annotations

import functools
import gc
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.loaders import create_loader
from scenarios.options import (
    pytest_addoption,
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_terminal_summary,
)

from oncekit.local import LocalCloud, VirtualClock
from oncekit.local.once_cloud import PREFIX

ADDED = (
    "e2e",
    "scripted",
    "plain-echo",
    "library-echo",
    "library-effects",
    "ships",
    "told",
    "caller",
    "probe",
    "ask-somebody",
    "made",
    "goes-on",
)
"""Operations to which many tests add a function: each that is not among them costs a deployment."""

ROOT = Path(__file__).parents[1]

# A session holds some hundred megabytes that stay; going through them again and again took a sixth of its time.
gc.set_threshold(100_000, 20, 100)

__all__ = [
    "pytest_addoption",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_terminal_summary",
]


@pytest.fixture(scope="session", autouse=True)
def models_are_read_once() -> Iterator[None]:
    """The descriptions of services, megabytes of JSON: botocore reads them again for each session that is made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", functools.cache(create_loader))
        yield


@pytest.fixture(scope="session", autouse=True)
def what_stays_is_no_garbage() -> Iterator[None]:
    """What was imported stays; and at its end pytest goes through everything, some hundred megabytes, once more."""
    gc.freeze()
    yield
    gc.freeze()


@pytest.fixture(scope="session")
def shared_cloud() -> Iterator[LocalCloud]:
    """One deployment a session.

    Nothing is delivered, so that a test of one execution sees that one alone; `cloud.delivering()` delivers.
    """
    parameters = {
        "Operations": ",".join(f"{each}={PREFIX}{each}:live" for each in ADDED),
    }
    with LocalCloud(ROOT / "template.yaml", parameters=parameters, clock=VirtualClock(), events=False) as cloud:
        yield cloud


@pytest.fixture
def cloud(shared_cloud: LocalCloud) -> Iterator[LocalCloud]:
    """The shared cloud, empty, at a whole second: the jitter of retries has no say in what a later test sees."""
    shared_cloud.reset()
    clock = shared_cloud.clock
    assert isinstance(clock, VirtualClock)
    clock.advance(math.ceil(clock.now()) - clock.now())
    yield shared_cloud


@pytest.fixture(scope="session")
def folder_of_latches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("latches")


@pytest.fixture
def latches_folder(cloud: LocalCloud, folder_of_latches: Path) -> Path:
    """An empty folder, the same in every test: a function that is told of it may stay warm.

    What earlier tests started has ended, for the cloud is empty: nothing writes into it but what the test starts.
    """
    for file in folder_of_latches.iterdir():
        file.unlink()
    return folder_of_latches
