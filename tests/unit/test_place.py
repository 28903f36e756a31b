"""Where a function of the direct lane learns where its records are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from once import Refused, operation
from once import place as module
from once.place import Place, place

TOLD = Place("locks", "answers", 30)
VALUE = json.dumps({"table": "locks", "bucket": "answers", "retentionDays": 30})
THROTTLED = ClientError({"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}, "GetParameter")
MISSING = ClientError({"Error": {"Code": "ParameterNotFound", "Message": "no"}}, "GetParameter")


class Ssm:
    """Fails with these errors first, and counts the seconds that its caller waits."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.names, self.waited = list(errors), list[str](), 0.0

    def get_parameter(self, Name: str) -> Any:  # noqa: N803 - botocore's
        self.names.append(Name)
        if self.errors:
            raise self.errors.pop(0)
        return {"Parameter": {"Value": VALUE}}

    def sleep(self, seconds: float) -> None:
        self.waited += seconds

    def seconds_left(self) -> float:
        return 30 - self.waited


@pytest.fixture
def told_by(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Ssm], Ssm]]:
    """What stands in for SSM in a process that has just started."""
    monkeypatch.setenv("ONCE_PARAMETER", "/once/shop/direct")
    module._told_by.cache_clear()

    def stand_in(ssm: Ssm) -> Ssm:
        monkeypatch.setattr(module, "client", {"ssm": ssm}.__getitem__)
        monkeypatch.setattr(module.time, "sleep", ssm.sleep)
        return ssm

    yield stand_in
    module._told_by.cache_clear()


def test_the_parameter_is_read_once_a_process(told_by: Callable[[Ssm], Ssm]) -> None:
    ssm = told_by(Ssm())
    assert [place(ssm.seconds_left) for _ in range(2)] == [TOLD, TOLD]
    assert ssm.names == ["/once/shop/direct"]


def test_a_throttled_process_asks_again_while_there_is_time(told_by: Callable[[Ssm], Ssm]) -> None:
    ssm = told_by(Ssm(*[THROTTLED] * 4))
    assert place(ssm.seconds_left) == TOLD and 0 < ssm.waited < 30


def test_who_is_throttled_to_the_end_gives_up_before_its_time_is_over(told_by: Callable[[Ssm], Ssm]) -> None:
    ssm = told_by(Ssm(*[THROTTLED] * 1000))
    with pytest.raises(ClientError, match="Rate exceeded"):
        place(ssm.seconds_left)
    assert 10 < ssm.waited < 25


def test_a_parameter_that_is_not_there_is_not_asked_for_again(told_by: Callable[[Ssm], Ssm]) -> None:
    ssm = told_by(Ssm(MISSING))
    with pytest.raises(ClientError):
        place(ssm.seconds_left)
    assert len(ssm.names) == 1
    assert place(ssm.seconds_left) == TOLD, "it may be there a moment later"


class Context:
    function_name, aws_request_id = "f", "r"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


def once_of(payload: dict[str, Any]) -> Any:
    """What the handler of a function comes to that asks for this."""

    @operation(name="pay")
    def pay(request: Any) -> int:
        return 1

    return pay.entry(lambda event, context: pay.once(event, key="k"))(payload, Context())


def test_a_sender_is_told_to_send_again_what_found_no_parameter(told_by: Callable[[Ssm], Ssm]) -> None:
    told_by(Ssm(MISSING))
    with pytest.raises(Refused) as refused:
        once_of({})
    assert refused.value.name == "Unavailable"


def test_variables_are_enough_where_names_make_no_circle(
    told_by: Callable[[Ssm], Ssm], monkeypatch: pytest.MonkeyPatch
) -> None:
    ssm = told_by(Ssm())
    for name, value in (("TABLE", "locks"), ("BUCKET", "answers"), ("RETENTION_DAYS", "30")):
        monkeypatch.setenv(f"ONCE_{name}", value)
    assert place(ssm.seconds_left) == TOLD and not ssm.names


def test_a_function_that_was_told_nothing_says_what_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ONCE_TABLE", "ONCE_PARAMETER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeError, match="--direct` writes what it needs"):
        once_of({})
