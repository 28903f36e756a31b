"""Whatever a function replies is the answer of its own request, and whatever it fails with has an end by name."""

from __future__ import annotations

import json
from typing import Any

import odd
from hypothesis import example, given
from hypothesis import strategies as st
from odd import BUSINESS, REQUEST, cases, replying

from oncekit.local import Execution, LocalCloud

ENDS = {"OperationFailed", "NeedsAttention", "LockLost"}
DECIDED = {"PermanentError": "FAILED", "NeedsAttention": "QUARANTINED"}
"""Errors by which a function decides, and the status that they come to."""


def text_of(execution: Execution, cloud: LocalCloud) -> str:
    if "result" in execution.output:
        return str(execution.output["result"])
    ref = execution.output["resultRef"]
    assert (ref["bucket"], ref["key"].split("/")[2]) == (cloud.resources["ResponseBucket"], "acme"), ref
    return cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read().decode()


def ran(cloud: LocalCloud, request: Any, function: Any) -> tuple[Execution, Execution]:
    """The request and its duplicate, which starts nothing."""
    with cloud.intercept(function):
        first = cloud.run(request)
    second = cloud.run(request)
    assert BUSINESS not in second.states
    return first, second


sealed = st.fixed_dictionaries({}, optional={"replyToken": st.one_of(odd.values, st.uuids().map(str)), "x": odd.values})
references = st.builds(
    lambda key, more: {"bucket": "once-responsebucket", "key": key, "sha256": "0f" * 32, "bytes": 7, **more},
    st.sampled_from(("k", f"responses/30d/acme/{'b' * 64}/1-{'0' * 16}.json", f"requests/acme/{'b' * 64}/1.json")),
    odd.objects,
)
envelopes = st.one_of(
    st.builds(lambda text: {"onceResult": text}, st.one_of(odd.values, odd.values.map(json.dumps))),
    st.builds(lambda reference: {"onceResultRef": reference}, st.one_of(odd.values, references)),
)
forged = st.builds(lambda envelope, more: {**envelope, **more}, envelopes, sealed)


@cases(40)
@given(reply=st.one_of(odd.values, forged))
@example(reply={"onceResult": "[1,]", "replyToken": None})
@example(reply={"onceResultRef": {"key": f"responses/30d/acme/{'b' * 64}/1-{'0' * 16}.json"}})
@example(reply={"n": 0.1 + 0.2})
@example(reply="é\ud800")
def test_any_reply_is_the_answer_as_it_is(cloud: LocalCloud, reply: Any) -> None:
    reply = json.loads(json.dumps(reply))
    with odd.empty(cloud):
        first, second = ran(cloud, REQUEST, replying(lambda _event: reply))
        if first.error == "NeedsAttention" and odd.has_a_half(reply):
            return  # nobody can keep it, so a person looks
        assert first.status == "SUCCEEDED", (first.error, first.cause)
        said = text_of(first, cloud)
        assert odd.same(json.loads(said), reply), said
        assert text_of(second, cloud) == said


@cases(40)
@given(value=odd.values, more=odd.objects)
def test_envelope_is_the_librarys_with_the_attempts_own_token_alone(cloud: LocalCloud, value: Any, more: Any) -> None:
    text = json.dumps(value)
    with odd.empty(cloud):
        function = replying(lambda event: {"onceResult": text, "replyToken": event["replyToken"], **more})
        first, second = ran(cloud, REQUEST, function)
        if not more:
            assert text_of(first, cloud) == text_of(second, cloud) == text
        elif "onceResult" not in more:
            assert json.loads(text_of(first, cloud))["onceResult"] == text


errors = st.one_of(
    st.sampled_from((*DECIDED, "LockLostError", "Exception", "Lambda.Unknown", "Sandbox.Timedout", "InvalidRequest")),
    st.sampled_from(("Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException", "OperationFailed")),
    odd.texts,
    odd.halves,
)
"""Those that begin with `States.` the engine takes from no function; what AWS does with one is unconfirmed."""
said = st.builds(
    lambda name, message, more: {"errorType": name, "errorMessage": message, **more},
    errors,
    st.one_of(odd.texts, odd.halves, odd.values, st.just("x" * 40_000)),
    odd.objects,
)


@cases(40)
@given(said=st.one_of(said, odd.values), careful=st.booleans())
# Found by the fuzzer before this: no text, half a character, an end that is cut off, escapes that are none.
@example(said={"errorType": "E", "errorMessage": 5}, careful=False)
@example(said={"errorType": "E", "errorMessage": "é\ud800"}, careful=False)
@example(said={"errorType": "E\udfff", "errorMessage": "c"}, careful=True)
@example(said={"errorMessage": "no type"}, careful=False)
@example(said={"errorType": "", "errorMessage": "an empty type"}, careful=False)
@example(said="half\udc00", careful=False)
@example(said={"errorType": "E", "errorMessage": 'cut off in a brace }"\\x'}, careful=False)
@example(said={"errorType": "Lambda.ResourceNotFoundException", "errorMessage": "mine"}, careful=True)
def test_any_error_of_a_function_has_an_end_by_name(cloud: LocalCloud, said: Any, careful: bool) -> None:
    said = json.loads(json.dumps(said))
    request = {**REQUEST, "onCrash": "quarantine" if careful else "retry"}
    name = said.get("errorType") if isinstance(said, dict) else None
    with odd.empty(cloud):
        first, second = ran(cloud, request, replying(lambda _event: said, failed=True))
        assert first.error in ENDS and second.error == first.error, (first.error, first.cause)
        [record] = cloud.client("dynamodb").scan(TableName=cloud.resources["IdempotencyTable"])["Items"]
        assert record["status"]["S"] == DECIDED.get(str(name), "QUARANTINED")
        assert first.states.count(BUSINESS) == int(record["attempts"]["N"]) <= int(cloud.parameters["MaxAttempts"])
