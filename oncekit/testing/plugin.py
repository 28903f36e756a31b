"""The pytest plugin: fixtures for tests of business logic. Nothing is imported or started before a test asks for it.

once_template, once_parameters   override them in conftest.py: which template, and values of its parameters
once_cloud                       a local cloud of the template in virtual time: one for the session, clean for each test
once_matrix                      strikes the function of a request at each of its calls, and at the boundaries of states
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from oncekit.application import how_to_install

if TYPE_CHECKING:
    from oncekit.testing.kit_cloud import TestCloud
    from oncekit.testing.report import Report


@dataclass(frozen=True)
class RunMatrix:
    """The fixture `once_matrix`."""

    cloud: TestCloud

    def __call__(
        self,
        request: Mapping[str, Any],
        *,
        event: Any = None,
        elsewhere: Callable[[], object] | None = None,
        may_repeat: Collection[str] = (),
        effects: bool = True,
        states: bool = True,
        seconds: float = 60.0,
        check: bool = True,
    ) -> Report:
        """Strike the function of a request everywhere. The test fails when an effect is not as it is without a fault.

        Without a finding it is skipped where the function is not in Python: its calls of AWS are not seen, so that
        green would say too much.

        `event` is one of the function's own, by which it asks for this request itself: the function is invoked with
        it, and as its trigger does, again for as long as there is no record. Then `request` needs no payload.
        `elsewhere` does what is done elsewhere for an operation that is pending: it is called when that is so, and then
        ends too early, late, twice or never. A workflow on the cloud ends by itself.
        `may_repeat` names places where an effect may happen twice, such as a mail that does no harm: the beginning of
        what a finding calls its place. `effects=False` says that the function has none: the test fails where one is
        seen; without it, where none is. Without `states` only the function is struck, not its execution. After
        `seconds` what is left is left out, and the report says so. Without `check` the test goes on.
        """
        __tracebackhide__ = True
        from oncekit.testing.matrix import Matrix

        report = Matrix(self.cloud, request, states, elsewhere, event, effects).run(may_repeat, seconds)
        if check and report.findings:
            pytest.fail(str(report), pytrace=False)
        if check and report.unseen:
            pytest.skip(str(report))
        print(report)  # pytest shows it with -rP
        return report


@pytest.fixture(scope="session")
def once_template(request: pytest.FixtureRequest) -> Path:
    """The template of the cloud: that of `once init`, or template.yaml, at pytest's root or in a folder above."""
    from oncekit.own_template import template_above
    from oncekit.problem import Problem

    root = request.config.rootpath
    try:
        found = template_above(root)
    except Problem as problem:
        pytest.fail(f"{problem}, here by the fixture once_template", pytrace=False)
    if found is None:
        pytest.fail(f"no template is in {root} or above it: name it by the fixture once_template", pytrace=False)
    return found


@pytest.fixture(scope="session")
def once_parameters() -> Mapping[str, object]:
    """The parameters of the template that have other values than their defaults."""
    return {}


@pytest.fixture(scope="session")
def once_session_cloud(once_template: Path, once_parameters: Mapping[str, object]) -> Iterator[TestCloud]:
    """The cloud of the session. Tests use `once_cloud`."""
    try:
        import moto  # noqa: F401 the local cloud is made of it
    except ModuleNotFoundError:
        pytest.fail(f"once_cloud needs the local cloud: {how_to_install()}", pytrace=False)
    from oncekit.local.quick_start import rare_collections
    from oncekit.testing.kit_cloud import TestCloud

    with TestCloud(once_template, once_parameters) as cloud, rare_collections():
        if not cloud.once.outputs:
            pytest.fail(
                f"{once_template} is a template without Once: override the fixture once_template", pytrace=False
            )
        yield cloud


@pytest.fixture
def once_cloud(once_session_cloud: TestCloud) -> Iterator[TestCloud]:
    """The local cloud of your template, empty, at a whole second of its virtual time."""
    with once_session_cloud.for_one_test():
        yield once_session_cloud


@pytest.fixture
def once_matrix(once_cloud: TestCloud) -> RunMatrix:
    """Strikes the function of a request everywhere."""
    return RunMatrix(once_cloud)
