"""What counts as a difference between a usual run and another one."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.test import create_environ
from werkzeug.wrappers import Response

from oncekit.testing.effects import Document, Usual, documents
from oncekit.testing.report import ADVICE, Finding, Report
from oncekit.testing.watch import FunctionCall, Watch

FIRST: dict[str, Any] = {"id": "1", "sold": 6, "attempt": 1, "at": "2026-01-01T00:00:00Z", "number": "x1"}
AGAIN = {**FIRST, "at": "2026-02-02T00:00:00Z", "number": "x2"}
SECOND_ATTEMPT = {**AGAIN, "attempt": 2, "number": "x3"}


def differences(*items: dict[str, Any], second: dict[str, Any] = SECOND_ATTEMPT) -> list[tuple[str, str]]:
    runs = [[Document.of("Orders", each)] for each in (FIRST, AGAIN, second)]
    before = [Document.of("Orders", {"id": "1", "sold": 5})]
    found = Usual(runs, before).differences([Document.of("Orders", each) for each in items])
    return [(each.kind, each.what) for each in found]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([FIRST], []),
        ([{**FIRST, "attempt": 3, "at": "2027-01-01T00:00:00Z", "number": "x9"}], []),
        ([FIRST, {**FIRST, "id": "2"}], [("twice", "2 instead of 1")]),
        ([], [("lost", "0 instead of 1")]),
        ([{**FIRST, "sold": 7}], [("twice", "sold is 7, not 6")]),
        ([{**FIRST, "sold": 5}], [("lost", "sold is 5, not 6")]),
        ([{**FIRST, "by": ["a"]}], [("twice", "by[0] is a, not absent")]),
        ([{**FIRST, "id": "other"}], [("differs", "id is other, not 1")]),
    ],
)
def test_a_run_is_compared_with_what_is_usual(items: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    assert differences(*items) == expected


def test_another_amount_to_a_provider_is_no_second_charge() -> None:
    runs = [[Document.of("POST https://provider.example", {"amount": 10})]] * 3
    (found,) = Usual(runs, []).differences([Document.of("POST https://provider.example", {"amount": 20})])
    assert (found.kind, found.what) == ("differs", "amount is 20, not 10")


def test_what_only_a_second_attempt_adds_is_no_habit() -> None:
    assert differences({**FIRST, "sold": 7}, second={**SECOND_ATTEMPT, "sold": 7}) == [("twice", "sold is 7, not 6")]


# ---- messages ----

QUEUE = "https://sqs.us-east-1.amazonaws.com/123456789012/requests"
MAIL = {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/mail", "MessageBody": "sold"}

NOTHING = {"TableName": "", "ResponseBucketName": ""}
"""Of Once: what the process has besides is another cloud's."""


def sent(service: str, action: str, *parameters: dict[str, Any], done: bool = True) -> int:
    """How many messages count of calls with these parameters."""
    calls = [FunctionCall("f", 1, service, action, each, "", "", True, ()) for each in parameters]
    watch = SimpleNamespace(calls=[(call, done) for call in calls])
    entrances = {"RequestQueue": QUEUE, "RequestBus": "Requests", "FastStateMachine": "arn:fast"}
    machines = {"OperationStateMachine": "arn:full"}
    once = SimpleNamespace(ref=(entrances | machines).get, outputs=NOTHING)
    cloud: Any = SimpleNamespace(watch=watch, resources={}, once=once, outside=SimpleNamespace(sent=[]))
    return sum(each.place == f"{service}.{action}" for each in documents(cloud))


def test_each_message_counts_unless_it_is_refused_or_only_asks() -> None:
    assert sent("sqs", "send_message", MAIL, MAIL) == 2
    assert sent("sqs", "send_message", MAIL, done=False) == sent("sqs", "receive_message", MAIL) == 0


@pytest.mark.parametrize(("status", "is_done"), [(200, True), (302, True), (400, False), (503, False)])
def test_a_call_that_its_service_refuses_is_not_done(status: int, is_done: bool) -> None:
    watch, call = Watch(lambda *_: ()), FunctionCall("f", 1, "sqs", "send_message", MAIL, "", "", True, ())
    Response.from_app(watch.watched(call, Response(status=status)), create_environ())
    assert watch.calls == [(call, is_done)]


@pytest.mark.parametrize(
    ("service", "action", "token"),
    [
        ("sqs", "send_message", "MessageDeduplicationId"),
        ("rds-data", "execute_statement", "ClientRequestToken"),
        ("ec2", "run_instances", "ClientToken"),
        ("ecs", "run_task", "clientToken"),
        ("acm", "request_certificate", "IdempotencyToken"),
        ("stepfunctions", "start_execution", "name"),
    ],
)
def test_a_message_that_its_service_knows_again_counts_once(service: str, action: str, token: str) -> None:
    assert sent(service, action, {token: "a"}, {token: "a"}) == 1
    assert sent(service, action, {token: "a"}, {token: "b"}) == sent(service, action, {}, {}) == 2


@pytest.mark.parametrize(
    "request_to",
    [
        {"QueueUrl": QUEUE},
        {"EventBusName": "Requests"},
        {"stateMachineArn": "arn:full"},
        {"stateMachineArn": "arn:fast", "name": "another each time"},
    ],
)
def test_a_request_that_once_knows_again_counts_once(request_to: dict[str, Any]) -> None:
    request, other = {**request_to, "input": "one"}, {**request_to, "input": "other"}
    assert sent("any", "send", request, request) == 1
    assert sent("any", "send", request, other) == 2


@pytest.mark.parametrize(
    ("service", "action"),
    [
        ("cloudwatch", "put_metric_data"),
        ("logs", "put_log_events"),
        ("xray", "put_trace_segments"),
        ("sts", "assume_role"),
        ("kms", "decrypt"),
        ("ssm", "start_session"),
        ("firehose", "put_record"),
        ("appconfigdata", "start_configuration_session"),
    ],
)
def test_what_only_observes_is_no_effect(service: str, action: str) -> None:
    assert sent(service, action, {}) == 0


@pytest.mark.parametrize("service", ["dynamodb", "s3", "http", "function", "lambda"])
def test_what_is_seen_where_it_arrives_is_no_message(service: str) -> None:
    assert sent(service, "put", {}) == 0


def requested(method: str, *, effect: bool) -> list[str]:
    sent = [SimpleNamespace(method=method, url="https://provider.example", body='{"amount": 1}', effect=effect)]
    watch, once = SimpleNamespace(calls=[]), SimpleNamespace(ref={}.get, outputs=NOTHING)
    cloud: Any = SimpleNamespace(watch=watch, resources={}, once=once, outside=SimpleNamespace(sent=sent))
    return [each.place for each in documents(cloud) if "https://" in each.place]


def test_a_request_to_another_system_counts_if_it_had_an_effect() -> None:
    assert requested("POST", effect=True) == ["POST https://provider.example"]
    assert requested("POST", effect=False) == requested("GET", effect=True) == []


# ---- values ----


def fields(value: Any) -> list[tuple[str, str]]:
    return list(Document.of("Orders", value).fields)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": {"c": 2}}, [("a.c", "2"), ("b", "1")]),
        ({"of": '{"a": 1}'}, [("of.a", "1")]),
        ({"of": '["x"]'}, [("of[0]", "x")]),
        ({"of": "12"}, [("of", "12")]),
        ({"of": "{no json"}, [("of", "{no json")]),
        ({"of": {"y", "x"}}, [("of[0]", "x"), ("of[1]", "y")]),
        ({"of": frozenset({"x"})}, [("of[0]", "x")]),
        ({"of": ("x",)}, [("of[0]", "x")]),
        ("sold", [("", "sold")]),
    ],
)
def test_each_value_has_its_path_also_in_a_text_that_is_json(value: Any, expected: list[tuple[str, str]]) -> None:
    assert fields(value) == expected


@pytest.mark.parametrize(
    "text", ["2026-01-01T10:00:00Z", "2026-01-01 10:00", "1500000000", "2500000000", "1500000000000", "2500000000000"]
)
def test_a_time_is_like_any_other(text: str) -> None:
    assert fields(text) == [("", "a time")]


@pytest.mark.parametrize("text", ["2026-01-01", "1499999999", "2500000001", "1499999999999", "2500000000001"])
def test_what_is_no_time_of_these_years_is_a_value(text: str) -> None:
    assert fields(text) == [("", text)]


# ---- comparing ----


def in_places(**places: list[Any]) -> list[Document]:
    return [Document.of(place, each) for place, values in places.items() for each in values]


def compared(usual: list[Document], now: list[Document], before: list[Document] | None = None) -> list[tuple[str, ...]]:
    found = Usual([usual] * 3, before or []).differences(now)
    return [(each.kind, each.place, each.what) for each in found]


def test_its_places_are_where_it_leaves_takes_away_or_changes_something() -> None:
    before = in_places(Kept=["a", "b"], Taken=["a"], Changed=[{"id": "1", "n": 1}])
    usual = in_places(Kept=["a", "b"], Changed=[{"id": "1", "n": 2}], Left=["a"])
    assert Usual([usual] * 3, before).places == ["Changed", "Left", "Taken"]


def test_each_place_is_compared_by_itself() -> None:
    usual = in_places(Orders=["a"], Papers=["a", "b"])
    assert compared(usual, in_places(Orders=["a"], Papers=["a"])) == [("lost", "Papers", "1 instead of 2")]
    assert compared(usual, in_places(Orders=["a"], Papers=["a", "b"], Mails=["a"])) == [
        ("twice", "Mails", "1 instead of 0")
    ]


def test_of_things_that_are_alike_the_one_that_differs_is_told() -> None:
    usual = in_places(Orders=[{"id": "1", "by": "a"}, {"id": "2", "by": "b"}])
    now = in_places(Orders=[{"id": "1", "by": "a"}, {"id": "2", "by": "c"}])
    assert compared(usual, now) == [("differs", "Orders", "by is c, not b")]


def test_a_member_that_is_not_there_is_lost_and_a_text_alone_is_it() -> None:
    assert compared(in_places(Orders=[{"id": "1", "by": "a"}]), in_places(Orders=[{"id": "1"}])) == [
        ("lost", "Orders", "by is not there, not a")
    ]
    assert compared(in_places(Answer=["a"]), in_places(Answer=["b"])) == [("differs", "Answer", "it is b, not a")]


@pytest.mark.parametrize(
    ("before", "usual", "now", "kind"),
    [
        ([{"n": 5}], 4, 3, "twice"),
        ([{"n": 5}], 4, 5, "lost"),
        ([{"n": 5}], 6, 4, "lost"),
        ([], 1, 2, "twice"),
        ([{"n": 5}, {"n": 9}], -4, 3, "lost"),
        ([{"other": 5}], 4, 3, "lost"),
    ],
    ids=["counts-down", "not-counted-down", "as-far-the-other-way", "from-nothing", "of-several", "new-member"],
)
def test_a_number_that_goes_further_from_where_it_began_came_twice(
    before: list[dict[str, int]], usual: int, now: int, kind: str
) -> None:
    began = in_places(Stock=before, Other=[{"n": 100}])
    usually, then = ([*in_places(Stock=[{"n": each}]), *began[len(before) :]] for each in (usual, now))
    assert [each[0] for each in compared(usually, then, began)] == [kind]


# ---- what is told ----


def test_a_report_tells_each_finding_with_its_lines_and_what_to_do() -> None:
    lines, strikes = ("app.py:1 in handler", "app.py:2 in handler"), ("it dies", "its answer is lost", "it is late")
    found = [Finding("twice", "Orders", "2 instead of 1", lines, strikes), Finding("lost", "Mails", "none", (), ("a",))]
    report = Report("place", ["Orders", "Mails"], found, ["a", "b"], ["c"], 1.0)
    assert str(report).splitlines() == [
        "place: 2 strikes in 1.0 s: 2 findings; no time for 1 more (give more `seconds`)",
        "watched: Orders, Mails",
        "✗ twice: Orders: 2 instead of 1",
        "    app.py:1 in handler",
        "    app.py:2 in handler",
        "    when it dies (and in 2 other runs)",
        f"    → {found[0].advice}",
        "✗ lost: Mails: none",
        "    when a",
        f"    → {ADVICE['lost']}",
    ]


def test_a_report_without_a_finding_says_so() -> None:
    assert str(Report("place", ["Orders"], [], ["a"], [], 1.0)).splitlines() == [
        "place: 1 strikes in 1.0 s: every effect happened once",
        "watched: Orders",
    ]


def test_a_report_without_an_effect_does_not_say_that_one_happened() -> None:
    assert str(Report("place", [], [], ["a"], [], 1.0)).splitlines() == [
        "place: 1 strikes in 1.0 s: nothing found",
        "watched: nothing that stays",
    ]


@pytest.mark.parametrize("kind", ["twice", "lost", "differs", "stuck", "broken"])
def test_each_kind_of_finding_has_an_advice(kind: str) -> None:
    one = Report("place", [], [Finding(kind, "Orders", "", (), ("a",))], ["a"], [], 1.0)
    assert ": 1 finding\n" in str(one) and str(one).splitlines()[-1].startswith("    → ")


LEFT = 'allow it with `may_repeat` if a second one does no harm, or send "onCrash": "quarantine"'


@pytest.mark.parametrize(
    ("place", "told", "without_the_library"),
    [
        *(
            (each, f"neither a step nor a key makes it happen once: {LEFT}", "neither a step")
            for each in ("sns.publish", "ses.send_email", "sesv2.send_email", "events.put_events", "sqs.send_message")
        ),
        (
            "ecs.run_task",
            "give it request.provider_key(...) as its clientToken",
            "give it a key made of the payload as",
        ),
        ("stepfunctions.start_execution", "give it request.provider_key(...) as its name", "give it a key made of"),
        (
            "POST https://a.example/x",
            "give the provider request.provider_key(...) as",
            "give the provider a key made of",
        ),
        ("Orders", "make it part of a request.step", "write it under a key made of the payload"),
        ("my.table", "make it part of a request.step", "write it under a key made of the payload"),
    ],
)
def test_what_to_do_against_a_second_effect_is_what_helps_this_effect(
    place: str, told: str, without_the_library: str
) -> None:
    one = Finding("twice", place, "2 instead of 1", (), ("a",))
    assert one.advice.startswith(told)
    other = replace(one, has_library=False)
    assert other.advice.startswith(without_the_library) and "request." not in other.advice
