"""The API does what its OpenAPI document says: schemathesis sends requests, good and bad, and reads the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from oncekit.local import LocalCloud
from oncekit.local.endpoint.access_keys import authorization

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.yaml"
bounded = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_every_answer_is_one_that_the_document_describes(mode: str, cloud: LocalCloud) -> None:
    import schemathesis  # here: it takes a second, in every session that collects this

    described = schemathesis.openapi.from_path(str(DOCUMENT))
    found = [each.ok() for each in described.get_all_operations()]
    for operation in found:
        holds(cloud, operation, schemathesis.GenerationMode(mode))
    assert len(found) == 6


def holds(cloud: LocalCloud, operation: Any, mode: Any) -> None:
    from schemathesis.specs.openapi import checks

    wanted = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]
    headers = {"Authorization": authorization(cloud.environment["AWS_ACCESS_KEY_ID"], "execute-api")}

    @bounded
    @given(case=operation.as_strategy(generation_mode=mode))
    def asks(case: Any) -> None:
        case.validate_response(case.call(base_url=cloud.http_url, headers=headers), checks=wanted)

    asks()
