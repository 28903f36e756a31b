"""What a user can fix: exit code 2 and one line that names the id, the file or the option."""

from __future__ import annotations

import pytest
from operating import ID, Operator

from oncekit.stack.session import Place
from oncekit.stack.stack import connect

NONE = "default#told#none"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        *((["show", id], id) for id in (NONE, "nonsense", "a#b")),
        (["retry", NONE], NONE),
        (["release", NONE, "--yes"], NONE),
        (["resolve", NONE, "--failed", "x"], NONE),
        (["resolve", ID], ID),
        (["resolve", ID, "--failed", "x", "--result", "y"], ID),
        (["resolve", ID, "--result", "/no/such/file"], "/no/such/file"),
        (["resolve", ID, "--result", "-"], "standard input"),
        (["send", "/no/such/file"], "/no/such/file"),
        (["send", "-"], "standard input"),
        (["ls", "--overdue", "--status", "QUARANTINED"], "--overdue"),
        (["ls", "--stack", "other"], "other"),
        (["ls", "--profile", "nobody"], "nobody"),
    ],
)
def test_it_is_said_in_one_line_with_exit_2(operator: Operator, arguments: list[str], named: str) -> None:
    done = operator.once(*arguments, stdin="{not json")
    assert (done.code, done.out) == (2, "")
    assert named in done.err and len(done.err.splitlines()) == 1


def test_a_number_that_may_be_rounded_is_not_sent(operator: Operator) -> None:
    done = operator.once("send", operator.file('{"payload": {"id": 1234567890123456789}}', "mine.json"))
    assert done.code == 2 and "mine.json" in done.err and "as a string" in done.err and len(done.err.splitlines()) == 1


@pytest.mark.parametrize("text", ["NaN", "[1", "", '{"a": 1e999}'])
def test_a_result_that_is_not_json_is_refused_by_the_name_of_its_file(operator: Operator, text: str) -> None:
    done = operator.once("resolve", ID, "--result", operator.file(text, "mine.json"))
    assert done.code == 2 and "mine.json" in done.err and len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("AccessDeniedException", "--profile"),
        ("ThrottlingException", "try again"),
        ("ExpiredTokenException", "log in again"),
    ],
)
def test_what_aws_refuses_is_said_with_advice(operator: Operator, code: str, advice: str) -> None:
    from botocore.exceptions import ClientError

    def refuse() -> None:
        raise ClientError({"Error": {"Code": code, "Message": "no\nway"}}, "GetItem")

    operator.before("GetItem", refuse)
    done = operator.once("show", NONE)
    assert done.code == 2 and code in done.err and advice in done.err and NONE in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("name", ["NoCredentialsError", "EndpointConnectionError"])
def test_no_credentials_and_no_endpoint_are_said_with_advice(operator: Operator, name: str) -> None:
    from botocore import exceptions

    def refuse() -> None:
        raise getattr(exceptions, name)(endpoint_url="http://127.0.0.1:9")

    operator.before("GetItem", refuse)
    done = operator.once("show", NONE)
    assert done.code == 2 and ("--profile" in done.err or "once up" in done.err)


def test_an_answer_that_is_none_of_aws_is_a_line(operator: Operator) -> None:
    from botocore.parsers import ResponseParserError

    def refuse() -> None:
        raise ResponseParserError("<html>")

    operator.before("GetItem", refuse)
    done = operator.once("show", NONE)
    assert done.code == 2 and "AWS_ENDPOINT_URL" in done.err and len(done.err.splitlines()) == 1


def test_stack_comes_from_the_environment(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    assert connect(Place("once")).table == operator.cloud.resources["IdempotencyTable"]
    monkeypatch.setenv("ONCE_STACK", "other")
    done = operator.once("ls")
    assert done.code == 2 and "there is no stack other" in done.err
