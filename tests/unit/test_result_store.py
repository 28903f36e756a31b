"""A large result is written once per attempt; what is there first stays."""

from __future__ import annotations

import hashlib
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber
from once.clients import client
from once.errors import NeedsAttention
from once.result_store import PUT_ATTEMPTS, ResultStore

ID = "acme#build-report#r-1"
OF_ID, OF_OWNER = (hashlib.sha256(each.encode()).hexdigest() for each in (ID, "one"))
OF_AN_ATTEMPT = f"acme/build-report/{OF_ID}/1-{OF_OWNER[:16]}.json"
KEY = f"responses/30d/{OF_AN_ATTEMPT}"


def stored(key: str = KEY) -> bytes:
    return client("s3").get_object(Bucket="responses", Key=key)["Body"].read()


@pytest.fixture
def store(aws: None) -> ResultStore:
    return ResultStore("responses", 30, client("s3"))


def test_the_reference_says_where_the_bytes_are_and_what_they_hash_to(store: ResultStore) -> None:
    ref = store.put(id=ID, fence=1, owner="one", text='{"a":1}')
    assert stored() == b'{"a":1}'
    assert client("s3").head_object(Bucket="responses", Key=KEY)["ContentType"] == "application/json"
    assert ref == {
        "bucket": "responses",
        "key": KEY,
        "sha256": hashlib.sha256(b'{"a":1}').hexdigest(),
        "bytes": 7,
    }


def test_a_repeated_write_finds_its_own_object(store: ResultStore) -> None:
    first = store.put(id=ID, fence=1, owner="one", text='"first"')
    assert store.put(id=ID, fence=1, owner="one", text='"first"') == first


@pytest.mark.parametrize("text", ['"other"', '"first, longer"', '"f"'])
def test_an_object_with_other_bytes_is_not_taken_for_the_answer(store: ResultStore, text: str) -> None:
    store.put(id=ID, fence=1, owner="one", text='"first"')
    with pytest.raises(NeedsAttention, match=f"succeeded.*{KEY}"):
        store.put(id=ID, fence=1, owner="one", text=text)
    assert stored() == b'"first"'


def test_attempts_and_ids_have_keys_of_their_own(store: ResultStore) -> None:
    keys = {
        store.put(id=id, fence=fence, owner=owner, text="1")["key"]
        for id, fence, owner in [
            (ID, 1, "one"),
            (ID, 2, "one"),
            (ID, 1, "two"),
            ("acme#build-report#r-2", 1, "one"),
            ("acme#build-report#\ud800", 1, "one"),
            ("acme#build-report#\ud801", 1, "one"),
            ("globex#build-report#r-1", 1, "one"),
        ]
    }
    assert len(keys) == 7


@pytest.mark.parametrize("days", [7, 365])
def test_the_key_says_for_how_many_days_the_record_refers_to_it(aws: None, days: int) -> None:
    ref = ResultStore.deployed("responses", days).put(id=ID, fence=1, owner="one", text="1")
    assert (ref["bucket"], ref["key"]) == ("responses", f"responses/{days}d/{OF_AN_ATTEMPT}")


def test_a_text_from_elsewhere_is_kept_as_json_whatever_it_holds(store: ResultStore) -> None:
    ref = store.put(id=ID, fence=1, owner="one", text='"№ \ud800"')
    assert stored() == '"№ \\ud800"'.encode()
    assert ref["bytes"] == len(stored())


def stubbed_store(answers: list[int]) -> tuple[ResultStore, list[float]]:
    """A store whose S3 answers its writes with these HTTP statuses; and the pauses that it makes."""
    s3: Any = botocore.session.get_session().create_client(
        "s3", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )
    stubber = Stubber(s3)
    for status in answers:
        if status == 200:
            parameters = {"Bucket": "b", "Key": ANY, "Body": b"1", "ContentType": ANY, "IfNoneMatch": "*"}
            stubber.add_response("put_object", {}, parameters)
        else:
            stubber.add_client_error("put_object", "ConditionalRequestConflict", http_status_code=status)
    stubber.activate()
    pauses: list[float] = []
    return ResultStore("b", 30, s3, pause=pauses.append), pauses


def test_a_write_that_met_another_at_the_same_moment_is_made_again() -> None:
    store, pauses = stubbed_store([409, 409, 200])
    assert store.put(id=ID, fence=1, owner="one", text="1")["bytes"] == 1
    assert len(pauses) == 2


@pytest.mark.parametrize("status", [403, 404, 408, 410, 500])
def test_a_write_that_s3_refuses_for_another_reason_is_not_made_again(status: int) -> None:
    store, pauses = stubbed_store([status, 200])
    with pytest.raises(ClientError):
        store.put(id=ID, fence=1, owner="one", text="1")
    assert pauses == []


def test_a_write_that_always_meets_another_waits_longer_each_time_and_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: high - low)
    store, pauses = stubbed_store([409] * PUT_ATTEMPTS)
    with pytest.raises(ClientError, match="ConditionalRequestConflict"):
        store.put(id=ID, fence=1, owner="one", text="1")
    assert PUT_ATTEMPTS == 6
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6])
