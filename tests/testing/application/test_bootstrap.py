"""Functions of a runtime of their own: what goes by the usual proxy is the test's, and faults strike around it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oncekit.testing.faults import function_crashes
from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.outside import Unanswered
from oncekit.testing.plugin import RunMatrix

URL = "http://api.provider.example/charges"


def asked(**payload: Any) -> dict[str, Any]:
    return {"operation": "own-runtime", "idempotencyKey": "k", "payload": payload}


def test_what_it_sends_is_answered_and_counted(application: TestCloud) -> None:
    application.outside.answer(URL, {"id": "ch_7"})
    ended = application.run(asked(url=URL))
    assert ended.status == "SUCCEEDED", ended.why
    assert json.loads(ended.output["result"]) == {"id": "ch_7"}
    [sent] = application.outside.sent
    assert (sent.method, sent.url, json.loads(sent.body), sent.line) == ("POST", URL, {"amount": 7}, "bootstrap")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://other.example/charges", r'write once_cloud\.outside\.answer\("http://other\.example/charges"'),
        ("https://api.provider.example/", "its client does not trust the test"),
        ("https://other.example:8443/", "a connection to other.example:8443: it is another machine"),
    ],
)
def test_what_the_test_cannot_answer_fails_it(application: TestCloud, url: str, told: str) -> None:
    with pytest.raises(Unanswered, match=told):
        application.run({**asked(url=url), "onCrash": "quarantine"})


def test_it_crashes_where_the_test_says_so(application: TestCloud) -> None:
    with application.fault(function_crashes()):
        assert application.run(asked()).status == "SUCCEEDED"
    record = application.record("default#own-runtime#k")
    assert record is not None and record["attempts"] == 2


def test_its_matrix_is_not_green(application: TestCloud, once_matrix: RunMatrix) -> None:
    with pytest.raises(pytest.skip.Exception, match="not seen: it is in a runtime of its own"):
        once_matrix(asked())
