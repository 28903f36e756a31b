"""The operator, on the shared local cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from operating import Operator
from patient import Edge, Patient, locally, on_aws

from oncekit.local import LocalCloud


@pytest.fixture
def operator(cloud: LocalCloud, latches_folder: Path) -> Operator:
    return Operator(cloud, latches_folder)


@pytest.fixture(scope="module")
def edge() -> Edge:
    return Edge()


@pytest.fixture
def patient(cloud: LocalCloud, edge: Edge) -> Iterator[Patient]:
    """The shared local cloud as it would be on AWS."""
    with on_aws(cloud, edge) as patient:
        yield patient


@pytest.fixture
def local_patient(cloud: LocalCloud, edge: Edge) -> Patient:
    """The shared local cloud as it is."""
    return locally(cloud, edge)
