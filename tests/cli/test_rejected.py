"""Refused requests: `once ls --rejected`, `once retry`, `once release --rejected`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from operating import ID, Operator

LS, RETRY, RELEASE = ("ls", "--rejected"), ("retry", "--rejected"), ("release", "--rejected", "--yes")


def unavailable(operator: Operator, name: str = "x", **more: Any) -> None:
    """A refused request with which nothing is wrong."""
    operator.keep_refused(name, "Unavailable", **{"input": operator.request(), **more})


def asked(operator: Operator, *arguments: str) -> list[dict[str, Any]]:
    """What a command told of each request."""
    told: list[dict[str, Any]] = operator.once(*arguments, "--json").answer["requests"]
    operator.cloud.settle()
    return told


def outcomes(told: list[dict[str, Any]]) -> list[str]:
    return sorted(each["outcome"] for each in told)


def test_list_says_of_each_why_it_was_refused_when_and_what_can_be_done(operator: Operator) -> None:
    operator.refuse_requests("a")
    unavailable(operator)
    text = operator.once(*LS).out
    assert "REFUSED_AGAIN  InvalidRequest  " in text and "default#told#a\n" in text
    assert re.search(rf"CAN_START +Unavailable +\d+ d +{ID}\n", text), "its age is that of its key"
    assert "payload must be a JSON object; it would be refused again" in text
    assert "`once retry --rejected`" in text and "`once release --rejected --error InvalidRequest`" in text
    [told] = asked(operator, *LS, "--error", "Unavailable")
    assert (told["outcome"], told["refusedAt"], told["refusedBy"]) == ("CAN_START", "2025-01-01T00:00:00Z", "arn:x")
    assert asked(operator, *LS, "--tenant", "acme") == [] and len(asked(operator, *LS, "--limit", "1")) == 1
    assert len(operator.cloud.rejected()) == 2
    assert operator.once(*LS, "--overdue").code == 2


def test_retry_starts_those_that_can_succeed_and_none_that_is_refused_again(operator: Operator) -> None:
    operator.refuse_requests("a")
    unavailable(operator)
    executions = len(operator.executions())
    done = operator.once(*RETRY, "--json")
    operator.cloud.settle()
    assert (done.code, outcomes(done.answer["requests"])) == (1, ["REFUSED_AGAIN", "STARTED"])
    assert len(operator.executions()) == executions + 1 and operator.record["status"] == "COMPLETED"
    assert [each["error"] for each in operator.cloud.rejected()] == ["InvalidRequest"]


def test_old_ones_that_cannot_start_do_not_hide_a_newer_one(operator: Operator) -> None:
    for name in ("a", "b"):
        operator.keep_refused(name, "InvalidRequest", input=operator.request() | {"payload": 1})
    for name in ("x", "y"):
        unavailable(operator, name, input=operator.request() | {"idempotencyKey": name})
    assert operator.once(*LS, "--limit", "2", "--json").answer["isComplete"] is False
    assert "There are more: raise --limit, or give --error NAME.\n" in operator.once(*LS, "--limit", "2").out
    first = operator.once(*RETRY, "--limit", "1", "--json").answer
    assert ([each["outcome"] for each in first["requests"]][2:], first["isComplete"]) == (["STARTED"], False)
    last = operator.once(*RETRY, "--limit", "1").out
    assert "default#told#y" in last and "STARTED" in last and "There are more" not in last


def test_retry_of_an_id_starts_its_refused_request_only(operator: Operator) -> None:
    unavailable(operator)
    unavailable(operator, "y", input=operator.request() | {"idempotencyKey": "other"})
    [started] = asked(operator, "retry", ID)
    assert (started["id"], started["outcome"]) == (ID, "STARTED") and operator.record["status"] == "COMPLETED"
    assert len(operator.cloud.rejected()) == 1 and operator.cloud.record("default#told#other") is None
    assert operator.once("retry", ID).code == 3, "it is done, and no request of it waits"
    assert operator.once("retry", "default#told#none").code == 2


def test_what_a_trigger_passed_on_is_told_by_its_id_and_started_as_it_came(operator: Operator) -> None:
    once = {"operation": "told", "key": ["order", "id"], "payload": ["order"], "onCrash": "retry"}
    came = {"order": {"id": "k"}}
    for number, given in enumerate(({"event": came, "once": once}, [{"body": came, "once": once}])):
        unavailable(operator, str(number), input=given)
    operator.keep_refused("none", "InvalidRequest", input=[{"body": "no JSON", "once": once}])
    assert {each["id"] for each in asked(operator, *LS)} == {ID, None}
    told = asked(operator, *RETRY)
    assert outcomes(told) == ["REFUSED_AGAIN", "STARTED", "STARTED"] and operator.record["status"] == "COMPLETED"
    described = operator.client("stepfunctions").describe_execution(executionArn=told[1]["executionArn"])
    assert json.loads(described["input"]) == [{"body": came, "once": once}]


def without_a_key(operator: Operator) -> str:
    """A message whose body has no key; the key of the object."""
    once = {"operation": "told", "key": ["id"], "payload": [], "onCrash": "retry"}
    operator.keep_refused("keyless", "InvalidRequest", input=[{"body": {"name": "Ada"}, "once": once}])
    return "rejected/2025-01-01T00-00-00.000Z-keyless.json"


def test_request_without_an_id_is_listed_by_its_operation_and_chosen_by_it(operator: Operator) -> None:
    key = without_a_key(operator)
    assert operator.once(*LS).out.count(f"{key} (told)\n") == 1
    [told] = asked(operator, *LS, "--operation", "told", "--tenant", "default")
    assert (told["id"], told["operation"], told["key"]) == (None, "told", key)
    assert asked(operator, *LS, "--operation", "other") == [] == asked(operator, *LS, "--tenant", "acme")


def test_refused_request_is_shown_by_its_key_with_what_was_sent(operator: Operator) -> None:
    key = without_a_key(operator)
    text = operator.once("show", key).out
    assert all(each in text for each in ("InvalidRequest", "as a test says", "REFUSED_AGAIN", '"name": "Ada"', "told"))
    told = operator.once("show", key, "--json").answer
    assert (told["refusedBy"], json.loads(told["input"])[0]["body"]) == ("arn:x", {"name": "Ada"})
    gone = operator.once("show", "rejected/gone.json")
    assert gone.code == 2 and "no such refused request is kept; `once ls --rejected` lists them" in gone.err


def test_show_of_an_id_without_a_record_leads_to_its_refused_request(operator: Operator) -> None:
    unavailable(operator, "a")
    unavailable(operator, "b")
    done = operator.once("show", ID)
    key = "rejected/2025-01-01T00-00-00.000Z-b.json"
    assert done.code == 2 and f"A request with this id was refused, and is kept: `once show {key}`" in done.err
    assert ID in operator.once("show", key).out
    assert "refused" not in operator.once("show", "default#told#other").err


def test_who_may_not_read_the_bucket_is_told_that_there_is_no_record(operator: Operator) -> None:
    unavailable(operator)

    def denied() -> None:
        raise ClientError({"Error": {"Code": "AccessDenied"}}, "ListObjectsV2")

    operator.before("ListObjectsV2", denied)
    done = operator.once("show", ID)
    assert done.code == 2 and "there is no such record" in done.err and "AccessDenied" not in done.err


def test_retry_of_an_id_prefers_what_is_quarantined(operator: Operator) -> None:
    operator.script({"raise": "NeedsAttention"}, {"return": 8})
    operator.quarantined()
    unavailable(operator)
    assert "fence" in operator.once("retry", ID, "--json").answer
    operator.cloud.settle()
    assert operator.record["result"] == "8" and len(operator.cloud.rejected()) == 1


def test_release_deletes_those_of_an_error_after_it_asked(operator: Operator) -> None:
    operator.refuse_requests("a", "b")
    careless = operator.once("release", "--rejected", "--error", "InvalidRequest")
    assert careless.code == 2 and "--yes" in careless.err and "are lost" in careless.err
    assert operator.once("release", "--rejected", "--yes").code == 2, "which ones is not said"
    assert asked(operator, *RELEASE, "--error", "PayloadMismatch") == []
    assert len(operator.cloud.rejected()) == 2
    assert outcomes(asked(operator, *RELEASE, "--error", "InvalidRequest")) == ["DELETED"] * 2
    assert operator.cloud.rejected() == []


@pytest.mark.parametrize("arguments", [["retry"], ["release", "--yes"], ["retry", ID, "--error", "Unavailable"]])
def test_what_is_meant_has_to_be_said(operator: Operator, arguments: list[str]) -> None:
    done = operator.once(*arguments)
    assert done.code == 2 and "--rejected" in done.err and len(done.err.splitlines()) == 1


# ---- what would become of them ----


def test_mismatch_is_refused_again_for_as_long_as_the_record_says_so(operator: Operator) -> None:
    operator.cloud.run(operator.request())
    operator.cloud.run(operator.request() | {"payload": {"b": 1}})
    assert outcomes(asked(operator, *LS)) == ["REFUSED_AGAIN"]
    operator.change({"expiresAt": 5})
    assert outcomes(asked(operator, *LS)) == ["CAN_START"]


def test_request_of_an_operation_without_a_function_waits_until_there_is_one(operator: Operator) -> None:
    refused = operator.cloud.run(operator.request() | {"operation": "none"})
    [told] = asked(operator, *RETRY)
    assert told["outcome"] == "REFUSED_AGAIN" and "deploy the function" in told["reason"]
    kept = operator.cloud.rejected()[0] | {"input": operator.request()}
    assert kept["executionArn"] == refused.arn
    operator.keep_refused("now-there-is-one", kept["error"], message=kept["message"], input=kept["input"])
    assert outcomes(asked(operator, *RETRY)) == ["REFUSED_AGAIN", "STARTED"]


def test_request_that_cannot_be_read_or_was_not_kept_is_not_started(operator: Operator) -> None:
    text = '{"operation": "told", "idempotencyKey": "k", "payload": {"n": {"_jsonata_lambda": true}}}'
    assert operator.cloud.run(text, lane="fast").error == "InvalidRequest"
    operator.keep_refused("x", "InvalidRequest", inputOmitted="it could not be kept here")
    without, unreadable = asked(operator, *RETRY)
    assert (without["outcome"], unreadable["outcome"]) == ("NO_INPUT", "REFUSED_AGAIN")
    assert "ask its sender, or look at arn:x" in without["reason"]


def test_mismatch_by_http_that_has_only_its_id_is_listed_by_it_and_forgotten(operator: Operator) -> None:
    operator.keep_refused("x", "PayloadMismatch", id=ID, inputOmitted="it came by HTTP - ask its sender")
    [told] = asked(operator, *LS)
    assert (told["id"], told["outcome"]) == (ID, "NO_INPUT") and "ask its sender" in told["reason"]
    forgotten = operator.once("release", ID, "--forget", "--yes", "--json").answer
    assert (len(forgotten["removed"]["rejected"]), forgotten["withoutId"]) == (1, 0)


ODD = (
    b'{"error": "InvalidRequest", "message": null}',
    b'["error"]',
    b"5",
    b"\xff",
    b'{"error": "x", "message": "x", "executionArn": "x", "input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
)


def test_odd_objects_are_left_in_a_row_each_and_the_others_go_on(operator: Operator) -> None:
    for number, body in enumerate(ODD):
        operator.put_object(f"rejected/{number}", body)
    unavailable(operator, input=operator.request() | {"idempotencyKey": "ü"})
    assert outcomes(asked(operator, *RETRY)) == ["STARTED"] + ["UNREADABLE"] * len(ODD)
    assert operator.cloud.record("default#told#ü") is not None
    assert operator.once(*LS).out.count("no request that Once refused") == len(ODD)
    assert asked(operator, *RELEASE, "--error", "InvalidRequest") == []
    assert outcomes(asked(operator, *RELEASE, "--error", "UNREADABLE")) == ["DELETED"] * len(ODD)
    assert operator.cloud.rejected() == []


def test_a_folder_that_somebody_made_in_the_bucket_is_no_refused_request(operator: Operator) -> None:
    for key in ("rejected/", "rejected/old/", "requests/", "responses/", "responses/30d/"):
        operator.put_object(key, b"")  # as the S3 console makes one
    assert "No such request was refused" in operator.once(*LS).out and asked(operator, *RETRY) == []
    assert asked(operator, *RELEASE, "--error", "UNREADABLE") == [] and operator.cloud.rejected() == []
    operator.cloud.run(operator.request())
    forgotten = operator.once("release", ID, "--forget", "--yes", "--json").answer
    assert not any(forgotten["removed"].values()) and forgotten["withoutId"] == 0


# ---- how they are started ----


def test_half_of_a_character_is_started_as_the_escape_that_it_came_as(operator: Operator) -> None:
    request = operator.request() | {"payload": {"text": "a\ud800b"}, "onCrash": "x"}
    unavailable(operator, input=request)
    [started] = asked(operator, *RETRY)
    assert json.loads(operator.input_of(started["executionArn"])) == request


def test_request_in_a_pipes_envelope_is_named_and_started_unchanged(operator: Operator) -> None:
    envelope = [{"body": {**operator.request(), "payload": {"number": 12345678901234567890, "text": "日"}}}]
    unavailable(operator, input=envelope)
    [started] = asked(operator, *RETRY)
    assert (started["id"], json.loads(operator.input_of(started["executionArn"]))) == (ID, envelope)


def test_large_request_is_started_without_escapes(operator: Operator) -> None:
    payload = {"note": "日" * 44_000}  # as escapes it is larger than an input may be
    unavailable(operator, input=operator.request() | {"payload": payload})
    assert outcomes(asked(operator, *RETRY)) == ["STARTED"] and operator.record["status"] == "COMPLETED"


def test_object_that_could_not_be_deleted_after_its_start_starts_nothing_more(operator: Operator) -> None:
    unavailable(operator)

    def lost() -> None:
        raise ConnectionClosedError(endpoint_url="https://s3")

    operator.before("DeleteObject", lost)
    assert operator.once(*RETRY).code == 2
    operator.cloud.settle()
    [again] = asked(operator, *RETRY)
    assert again["outcome"] == "STARTED" and operator.cloud.rejected() == []
    assert operator.starts == 1 and operator.record["owner"] == again["executionArn"]
