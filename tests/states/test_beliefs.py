"""What docs/verify-on-aws.md asks of expressions and of single states, by the number of its row.

`pytest tests/states/test_beliefs.py --backend=aws` asks AWS: what passes is as in the local cloud, and each failure
says what AWS does instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from one_state import ME, Lane, State
from scenarios.options import states_run_on_aws

from oncekit.asl.errors import StateError

REFERENCE = Path(__file__).parents[1] / "local" / "reference"
QUERY = "States.QueryEvaluationError"
ALONE = Lane(ME, {})
PROCESSOR = {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "I", "States": {"I": {"Type": "Succeed"}}}
Value = Callable[..., Any]


@pytest.fixture
def made(kind: Callable[..., State]) -> Callable[..., State]:
    """A state of its own."""

    def one(**raw: Any) -> State:
        return kind("S", {"StartAt": "S", "States": {"S": {**raw, "Next": "E"}, "E": {"Type": "Succeed"}}}, ALONE)

    return one


@pytest.fixture
def value(made: Callable[..., State]) -> Value:
    """The value of an expression, or the name and the cause of its error."""

    def of(expression: str, given: Any = None, **variables: Any) -> Any:
        try:
            return made(Type="Pass", Output=f"{{% {expression} %}}").chooses(variables, given).output
        except StateError as error:
            return error.error, error.cause

    return of


@pytest.fixture
def only_aws(pytestconfig: pytest.Config) -> None:
    if not states_run_on_aws(pytestconfig):
        pytest.skip("needs --backend=aws: a state by itself has no limits here, and the reference has its own test")


@pytest.mark.aws(unconfirmed="V31")
@pytest.mark.usefixtures("only_aws")
def test_expressions_have_the_values_of_jsonatas_reference(value: Value) -> None:
    given = json.loads((REFERENCE / "given.json").read_text())
    differ: dict[str, Any] = {}
    for expression, expected in json.loads((REFERENCE / "answers.json").read_text()).items():
        if '"function": true' in json.dumps(expected):
            continue  # no JSON, which is no value of a state
        found = value(expression, **{name: each for name, each in given.items() if f"${name}" in expression})
        fails = isinstance(found, tuple) and found[0] == QUERY and expected.get("error", "nothing") in found[1]
        if not fails if "value" not in expected else found != expected["value"]:
            differ[expression] = {"AWS": found, "reference": expected}
    assert differ == {}


@pytest.mark.aws(unconfirmed="V31")
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("$hash('abc', 'SHA-256')", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("$parse('{\"a\": [1]}')", {"a": [1]}),
        ("$length($uuid())", 36),
        ("$partition([1..5], 2)", [[1, 2], [3, 4], [5]]),
        ("$range(0, 10, 5)", [0, 5, 10]),
    ],
)
def test_step_functions_own_functions_have_these_values(value: Value, expression: str, expected: Any) -> None:
    assert value(expression) == expected


@pytest.mark.aws(unconfirmed="V32")
def test_an_item_selector_sees_the_input_of_the_map_the_item_and_its_index(made: Callable[..., State]) -> None:
    item = "$states.context.Map.Item"
    select = {"all": "{% $states.input.x %}", "item": f"{{% {item}.Value %}}", "index": f"{{% {item}.Index %}}"}
    state = made(Type="Map", Items="{% $states.input.of %}", ItemSelector=select, ItemProcessor=PROCESSOR)
    selected = [{"all": 7, "item": "p", "index": 0}, {"all": 7, "item": "q", "index": 1}]
    assert state.selects({"of": ["p", "q"], "x": 7}) == selected


@pytest.mark.aws(unconfirmed="V33")
@pytest.mark.usefixtures("only_aws")
def test_variables_over_256_kib_are_refused_by_name(made: Callable[..., State]) -> None:
    with pytest.raises(StateError) as refused:
        made(Type="Pass", Assign={"v": "{% $pad('', 300000, 'x') %}"}).chooses({})
    assert refused.value.error == "States.DataLimitExceeded"


@pytest.mark.aws(unconfirmed="V70")
def test_a_variable_that_no_state_assigned_does_not_exist_and_fails_where_it_is_needed(value: Value) -> None:
    assert value("[$exists($never), $exists($never.id), $exists($http.seconds)]", http={}) == [False, False, False]
    assert value("$never")[0] == QUERY


@pytest.mark.aws(unconfirmed="V74")
def test_numbers_of_more_than_15_digits_are_printed_with_15(value: Value) -> None:
    printed = "[1234567890123460000,9223372036854780000,0.3]"
    assert value("$string([1234567890123456789, 9223372036854775808, 0.30000000000000004])") == printed
    assert value("$string($states.input)", [1234567890123456789, 9223372036854775808, 0.30000000000000004]) == printed


CATCH = [{"ErrorEquals": [QUERY], "Output": "{% $states.errorOutput.Cause %}", "Next": "E"}]


@pytest.mark.aws(unconfirmed="V100")
@pytest.mark.usefixtures("only_aws")
@pytest.mark.parametrize("field", ["Items", "Output"])
def test_an_expression_without_an_end_is_ended_and_a_map_catches_it(made: Callable[..., State], field: str) -> None:
    """ReadRequest tells a sender so by these words of the cause."""
    endless = "{% ( $f := function($n) { $f($n + 1) }; $f(0) ) %}"
    state = made(**{"Type": "Map", "Items": [1], "ItemProcessor": PROCESSOR, "Catch": CATCH, field: endless})
    assert "evaluation timeout" in state.maps(None).output


@pytest.mark.aws(unconfirmed="V32")
@pytest.mark.parametrize("field", ["Items", "Output"])
def test_a_map_catches_the_error_of_its_own_expressions(made: Callable[..., State], field: str) -> None:
    fails = "{% $error('no request') %}"
    state = made(**{"Type": "Map", "Items": [1], "ItemProcessor": PROCESSOR, "Catch": CATCH, field: fails})
    assert "no request" in state.maps(None).output


MOST = {f"k{number:04}": "x" * 75 for number in range(1_990)}
"""About as many values and bytes as a payload may have."""


@pytest.mark.aws(unconfirmed="V100")
def test_the_largest_request_is_read_within_a_second(state: Callable[..., State], fast: Callable[..., State]) -> None:
    """A Choice cannot catch it if it is not."""
    request = {"operation": "charge", "tenant": "acme", "idempotencyKey": "k", "payload": MOST}
    assert fast("ReadRequest").maps(request).to == "ReceiveRequest"
    assert {each("ReceiveRequest").chooses({}, request).to for each in (state, fast)} == {"AcquireLock", "ReadRecord"}


@pytest.mark.aws(unconfirmed="V31")
@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("/a$/", "a\n", False),
        ("/^.$/", "\u2028", False),
        ("/^.$/", "\x85", True),
        ("/^..$/", "\U0001f600", True),
        ("/^[\\uD800-\\uDBFF][\\uDC00-\\uDFFF]$/", "\U0001f600", True),
        ("/[\\uD800-\\uDFFF]/", "\ud800", True),
        ("/^\\s$/", "\ufeff", True),
        ("/^\\s$/", "\xa0", True),
        ("/^\\w$/", "é", False),
        ("/^[\\w]$/", "é", False),
        ("/^[\\w\\d]$/", "\u0663", False),
        ("/^[^ -~]$/", "\x7f", True),
        ("/^\\x5C\\u0061$/", "\\a", True),
        ("/^[a&&b]$/", "&", True),
    ],
)
def test_a_regular_expression_is_javascripts(value: Value, pattern: str, text: str, matches: bool) -> None:
    """In other languages one or another of these is answered otherwise, and the definitions rely on most of them."""
    assert value(f"$contains($states.input, {pattern})", text) is matches
