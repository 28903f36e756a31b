"""The operator, on the shared local cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from edge import Edge
from operating import Operator
from patient import Patient, WholeStack, locally

from oncekit.local import LocalCloud


@pytest.fixture
def operator(cloud: LocalCloud, latches_folder: Path) -> Operator:
    return Operator(cloud, latches_folder)


@pytest.fixture(scope="session")
def edge() -> Edge:
    return Edge()


@pytest.fixture(scope="module")
def whole_stack(shared_cloud: LocalCloud, edge: Edge) -> Iterator[WholeStack]:
    stack = WholeStack(shared_cloud, edge)
    yield stack
    stack.take_away()


@pytest.fixture
def patient(cloud: LocalCloud, whole_stack: WholeStack) -> Iterator[Patient]:
    """The shared local cloud as it would be on AWS."""
    with whole_stack.patient() as patient:
        yield patient


@pytest.fixture
def local_patient(cloud: LocalCloud, edge: Edge, whole_stack: WholeStack) -> Patient:
    """The shared local cloud as it is."""
    whole_stack.take_away()
    return locally(cloud, edge)
