"""A run of scenarios takes away what is its own, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from latches import Latches
from scenario import charge, id_of, rows
from scenarios.local_backend import LocalBackend
from scenarios.run import begun

from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import fails

ROOT = Path(__file__).parents[2]
RUN_ID = "e2e-0123abcd"
OTHERS = "e2e-89abcdef"


def objects(cloud: LocalCloud) -> list[str]:
    listed = cloud.client("s3").list_objects_v2(Bucket=cloud.outputs["ResponseBucketName"])
    return [each["Key"] for each in listed.get("Contents", ())]


def left_traces(cloud: LocalCloud, tenant: str) -> dict[str, Any]:
    """A charge, a large result, a quarantined and a refused request; the charge."""
    mine = charge(key=f"{tenant}-charge") | {"tenant": tenant}
    mine["payload"]["orderId"] = f"{tenant}-order"
    report = {"operation": "build-report", "tenant": tenant, "idempotencyKey": "r", "payload": {"bytes": 300_000}}
    for request in (mine, report, mine | {"payload": tenant}):
        cloud.run(request)
    with cloud.intercept(fails("Lambda.Unknown", state="ExecuteBusinessLogic")):
        cloud.run(mine | {"operation": "place-order", "onCrash": "quarantine"})
    return mine


def test_what_others_have_in_the_stack_stays(cloud: LocalCloud) -> None:
    theirs = left_traces(cloud, OTHERS)
    kept = objects(cloud), cloud.record(id_of(theirs))
    with begun(LocalBackend(cloud), RUN_ID):
        mine = left_traces(cloud, RUN_ID)
        assert (rows(cloud, "ProviderLedgerTable"), len(cloud.rejected())) == (2, 2)
        assert set(objects(cloud)) > set(kept[0])
    assert (objects(cloud), cloud.record(id_of(theirs))) == kept
    assert cloud.record(id_of(mine)) is None
    assert (rows(cloud, "IdempotencyTable"), rows(cloud, "ProviderLedgerTable")) == (3, 1)
    assert [each["input"]["tenant"] for each in cloud.rejected()] == [OTHERS]


def test_execution_that_does_not_end_is_stopped_and_others_go_on(
    cloud: LocalCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    latches = Latches(tmp_path)
    cloud.add_function("scripted", ROOT / "tests/functions/scripted", environment={"LATCHES": str(tmp_path)})
    monkeypatch.setattr("scenarios.traces.SECONDS_TO_END", 0)
    monkeypatch.setattr("scenarios.local_backend.MOST_REAL_SECONDS", 0)
    at_work = {"operation": "scripted", "payload": {"script": [{"await": "go", "then": {"return": 1}}]}}
    with begun(LocalBackend(cloud), RUN_ID):
        mine = cloud.start(at_work | {"idempotencyKey": RUN_ID, "tenant": RUN_ID})
        theirs = cloud.start(at_work | {"idempotencyKey": OTHERS})
        latches.wait_for_starts(2)
    assert cloud.describe(mine).status == "ABORTED"
    assert cloud.describe(theirs).status == "RUNNING"
    latches.open("go")
    assert cloud.wait(theirs).status == "SUCCEEDED"
