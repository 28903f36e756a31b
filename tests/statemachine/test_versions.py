"""One version takes over from another while executions are under way: a deployment, and its rollback.

`releases/` holds versions as they were, each a zip of the commit's template, definitions, library and functions:
`git archive --format=zip -o tests/statemachine/releases/NAME.zip COMMIT template.yaml statemachine shared functions`.
An execution goes on with the definition that it began with, and meets the functions, the recovery machine, the
duplicates and the operators of the other version.
"""

from __future__ import annotations

import json
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scenario import answer, charge, record_of, result, rows

from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.service_calls import Call, Interceptor

ROOT = Path(__file__).parents[2]
TOLD = ROOT / "tests" / "cli" / "functions" / "told"
RELEASES = sorted((Path(__file__).parent / "releases").glob("*.zip"))
A_LEASE = 3600


class Versions:
    """Two versions of the whole project, of which one is deployed; `told` is an operation that does as it is told."""

    def __init__(self, cloud: LocalCloud, latches: Path, before: Path, after: Path) -> None:
        self.cloud = cloud
        self._latches = latches
        self._before, self._after = before, after

    def deploy_first(self) -> None:
        self._deploy(self._before)

    def deploy_other(self) -> None:
        self._deploy(self._after)

    def _deploy(self, template: Path) -> None:
        # Long enough for a deployment while business logic is at a latch.
        self.cloud.redeploy({"BusinessTimeoutSeconds": 30}, template)
        environment = {"LATCHES": str(self._latches), "ORDERS": self.cloud.outputs["OrdersTableName"]}
        self.cloud.add_function("told", TOLD, environment=environment)

    def told(self, *script: dict[str, Any], **more: Any) -> dict[str, Any]:
        """A request whose business logic does `script`, start by start."""
        (self._latches / "script.json").write_text(json.dumps(script))
        (self._latches / "starts").write_text("")
        return {"operation": "told", "idempotencyKey": "k", "payload": {"a": 1}, **more}

    def starts(self) -> int:
        return len((self._latches / "starts").read_text().splitlines())

    def wait_for_start(self) -> None:
        end = time.monotonic() + 20
        while not self.starts():
            assert time.monotonic() < end, "business logic did not start within 20 s"
            time.sleep(0.01)

    def open(self, latch: str) -> None:
        (self._latches / latch).touch()


@pytest.fixture(params=RELEASES, ids=lambda path: path.stem)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template of a version as it was, with all that it names."""
    folder = tmp_path_factory.getbasetemp() / f"release-{request.param.stem}"
    if not folder.exists():
        zipfile.ZipFile(request.param).extractall(folder)
    return folder / "template.yaml"


@pytest.fixture(params=["deployment", "rollback"])
def versions(cloud: LocalCloud, release: Path, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Versions]:
    now = ROOT / "template.yaml"
    before, after = (release, now) if request.param == "deployment" else (now, release)
    with cloud.deployed_with({}, now):  # and back to it
        both = Versions(cloud, tmp_path, before, after)
        both.deploy_first()
        yield both
        both.open("go")


def stopped_at(cloud: LocalCloud, state: str) -> Interceptor:
    def strike(call: Call, proceed: Any) -> Any:
        if call.state == state:
            cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn)
            raise ConnectionError
        return proceed()

    return strike


def test_a_duplicate_gets_the_bytes_that_the_other_version_stored(cloud: LocalCloud, versions: Versions) -> None:
    large = {"operation": "build-report", "idempotencyKey": "large", "payload": {"bytes": 300_000}}
    first = [answer(cloud, cloud.run(request)) for request in (charge(), large)]
    versions.deploy_other()
    again = [cloud.run(request) for request in (charge(), large)]
    assert [each.output["disposition"] for each in again] == ["REPLAYED", "REPLAYED"]
    assert [answer(cloud, each) for each in again] == first
    assert rows(cloud, "ProviderLedgerTable") == 1


def test_a_failure_of_the_other_version_is_given_to_duplicates(cloud: LocalCloud, versions: Versions) -> None:
    request = versions.told({"raise": "PermanentError"})
    first = cloud.run(request)
    versions.deploy_other()
    again = cloud.run(request)
    assert (first.error, again.error) == ("OperationFailed", "OperationFailed")
    assert again.cause == first.cause
    assert versions.starts() == 1


def test_another_payload_is_refused_by_both(cloud: LocalCloud, versions: Versions) -> None:
    cloud.run(charge(amount=4200))
    versions.deploy_other()
    assert cloud.run(charge(amount=4300)).error == "PayloadMismatch"
    assert rows(cloud, "ProviderLedgerTable") == 1


def test_an_execution_under_way_goes_on_with_the_other_versions_function(cloud: LocalCloud, versions: Versions) -> None:
    request = versions.told({"step": "order-1", "await": "go", "exit": 1}, {"step": "order-1", "return": "done"})
    arn = cloud.start(request)
    versions.wait_for_start()
    versions.deploy_other()
    versions.open("go")
    ended = cloud.wait(arn)
    assert (result(cloud, ended), ended.output["attempt"], versions.starts()) == ("done", 2, 2)
    assert rows(cloud, "OrdersTable") == 1, "the step of the first attempt is known to the library of the second"


def test_an_owner_that_died_is_replaced_by_the_other_version(cloud: LocalCloud, versions: Versions) -> None:
    request = versions.told({"step": "order-1", "await": "go", "return": "late"}, {"step": "order-1", "return": "done"})
    owner = cloud.start(request)
    versions.wait_for_start()
    cloud.stop(owner)
    versions.deploy_other()
    cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]
    heir = cloud.run(request)
    versions.open("go")
    assert (result(cloud, heir), record_of(cloud, request)["fence"]) == ("done", 2)
    assert rows(cloud, "OrdersTable") == 1


def test_recovery_of_the_other_version_finds_what_a_dead_owner_left(cloud: LocalCloud, versions: Versions) -> None:
    with cloud.intercept(stopped_at(cloud, "ExecuteBusinessLogic")):
        assert cloud.run(charge()).status == "ABORTED"
    versions.deploy_other()
    cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]
    assert swept(cloud).output["recovered"] == 1
    assert (record_of(cloud, charge())["status"], rows(cloud, "ProviderLedgerTable")) == ("COMPLETED", 1)


def test_a_decision_that_a_dead_owner_made_is_not_made_again_by_the_other_version(
    cloud: LocalCloud, versions: Versions
) -> None:
    request = versions.told({"return": "done"}, onCrash="quarantine")
    with cloud.intercept(stopped_at(cloud, "Finalize")):
        dead = cloud.run(request)
    versions.deploy_other()
    cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]
    swept(cloud)
    assert (record_of(cloud, request)["status"], versions.starts()) == ("COMPLETED", 1)
    assert cloud.describe(dead.arn).status == "SUCCEEDED", "redriven, with the definition that it began with"


def test_a_duplicate_that_waits_gets_the_answer_of_the_other_version(cloud: LocalCloud, versions: Versions) -> None:
    request = versions.told({"await": "go", "return": "done"})
    waiting = cloud.start(request)
    versions.wait_for_start()
    duplicate = cloud.start({**request, "onConflict": "wait"})
    versions.deploy_other()
    opener = threading.Timer(0.2, versions.open, ["go"])
    opener.start()
    ended = [cloud.wait(arn) for arn in (waiting, duplicate)]
    assert [result(cloud, each) for each in ended] == ["done", "done"]
    assert versions.starts() == 1


def test_what_one_version_quarantined_waits_for_an_operator_in_the_other(cloud: LocalCloud, versions: Versions) -> None:
    request = versions.told({"raise": "NeedsAttention"})
    first = cloud.run(request)
    versions.deploy_other()
    assert (first.error, cloud.run(request).error) == ("NeedsAttention", "NeedsAttention")
    assert (record_of(cloud, request)["status"], versions.starts()) == ("QUARANTINED", 1)


def swept(cloud: LocalCloud) -> Execution:
    """A sweep of the recovery machine, and the end of all that it started."""
    machine = cloud.outputs["RecoveryStateMachineArn"]
    name = f"sweep-{time.monotonic_ns()}"
    started = cloud.client("stepfunctions").start_execution(stateMachineArn=machine, name=name, input="{}")
    ended = cloud.wait(started["executionArn"])
    cloud.settle()
    return ended
