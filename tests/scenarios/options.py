"""The options of pytest that say where scenarios run, and what is said before and after."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenarios.own_function import name_of
from scenarios.run import new_id

from oncekit.problem import Problem
from oncekit.stack.aws_errors import clear_aws_errors
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack, connect

FOLDER = Path(__file__).parent
STATES = FOLDER.parent / "states"
STACK = pytest.StashKey[Stack]()
RUN_ID = pytest.StashKey[str]()
REPORT = pytest.StashKey[list[str]]()
LANES = ("full", "fast", "mixed")
"""Mixed: the executions of one scenario, also those of one id, start in one and the other by turns."""
LEAST_BUSINESS_SECONDS = 10
"""A scenario looks at what goes on while business logic is at work, and on AWS a look takes a second or two."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("scenarios", "where the scenarios of tests/scenarios run")
    group.addoption(
        "--backend",
        choices=["local", "aws"],
        default="local",
        help="aws: a deployed stack, or `once up`; in tests/states: TestState",
    )
    group.addoption("--stack", help="the deployed stack")
    group.addoption("--profile", help="the AWS profile")
    group.addoption("--region", help="the AWS region")
    group.addoption("--allow-prod", action="store_true", help="also a stack whose parameter Stage is prod")
    group.addoption("--lane", choices=LANES, help="each scenario once: in this lane, where it can run there")
    group.addoption("--quick", action="store_true", help="leave out scenarios that take minutes")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORT] = []
    if not runs_on_aws(config):
        return
    try:
        config.stash[STACK] = _stack(config)
    except Problem as problem:
        raise pytest.UsageError(str(problem)) from problem
    config.stash[RUN_ID] = new_id()


def runs_on_aws(config: pytest.Config) -> bool:
    return bool(config.getoption("backend") == "aws") and not _is_about_states(config)


def states_run_on_aws(config: pytest.Config) -> bool:
    """States are asked of AWS only where nothing but tests/states was asked for: that needs no stack."""
    return bool(config.getoption("backend") == "aws") and _is_about_states(config)


def _is_about_states(config: pytest.Config) -> bool:
    paths = [config.invocation_params.dir / each.partition("::")[0] for each in config.args]
    return all(path.resolve().is_relative_to(STATES.resolve()) for path in paths)


def _stack(config: pytest.Config) -> Stack:
    option = config.getoption
    if not option("stack"):
        raise Problem("--backend=aws needs a stack: --stack NAME, or make e2e STACK=NAME")
    if option("numprocesses", None) or hasattr(config, "workerinput"):
        raise Problem("--backend=aws runs in one process: leave out -n")
    return stack_for_scenarios(option("stack"), option("profile"), option("region"), option("allow_prod"))


def stack_for_scenarios(name: str, profile: str | None, region: str | None, allow_prod: bool) -> Stack:
    """The stack to run in. Raises Problem when it is none for this."""
    with clear_aws_errors():
        stack = connect(Place(name, profile, region))
    if stack.parameters.get("Stage") == "prod" and not allow_prod:
        raise Problem(
            f"the stack {name} is in prod (Stage=prod): the scenarios would quarantine operations and set off alarms "
            "there; if that is what you want: --allow-prod, or make e2e PROD=yes"
        )
    name_of(stack)
    if stack.number("BusinessTimeoutSeconds") < LEAST_BUSINESS_SECONDS:
        raise Problem(f"the stack {name} has BusinessTimeoutSeconds below {LEAST_BUSINESS_SECONDS}: too short to look")
    return stack


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest comes last; on AWS nothing but scenarios runs. A report has the row that a test settles."""
    for item in items:
        rows = [mark.kwargs.get("unconfirmed") for mark in item.iter_markers("aws")]
        item.user_properties += [("row", row) for row in rows if row]
    if runs_on_aws(config):
        others = [item for item in items if FOLDER not in item.path.parents]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
        items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
    if config.getoption("quick"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="takes minutes, and --quick was given"))


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if runs_on_aws(config) and terminal is not None and not config.option.collectonly:
        terminal.write_line("\n".join(announced(config.stash[STACK], config.stash[RUN_ID], session.items)))


def announced(stack: Stack, run_id: str, items: list[pytest.Item]) -> list[str]:
    """What is going to happen, where, and what it takes at most."""
    from scenarios.cost import MOST_DOLLARS_EACH

    runs = [item for item in items if not item.get_closest_marker("skip")]
    minutes = max((longest(item) for item in runs), default=0) / 60
    _, _, _, region, account, *_ = stack.outputs["StateMachineArn"].split(":")
    where = f"stack {stack.name} (Stage {stack.parameters.get('Stage')}), account {account}, region {region}"
    return [
        f"{run_id}: {len(runs)} scenarios in the {where}",
        f"It deploys the function {name_of(stack)}.",
        "Some of its own requests are quarantined, refused or stopped: alarms may go off.",
        f"At its end it deletes everything whose name contains {run_id}; executions stay in the console for 90 days.",
        f"It costs at most ${len(runs) * MOST_DOLLARS_EACH:.2f}; no wait takes longer than {minutes:.0f} minutes.",
    ]


def lanes(item: pytest.Item, config: pytest.Config) -> tuple[str, ...]:
    """Where a scenario runs: in both lanes, unless it says by `lanes` where else; once if --lane was given."""
    marker = item.get_closest_marker("lanes")
    own: tuple[str, ...] = marker.args if marker else LANES[:2]
    if (wanted := config.getoption("lane")) is None:
        return own
    return (wanted,) if wanted in own else own[:1]


def longest(item: pytest.Item) -> float:
    """Seconds that each wait of a scenario may take: every scenario says so."""
    marker = item.get_closest_marker("longest")
    if marker is None:
        raise pytest.UsageError(f"{item.nodeid} says no longest time: @pytest.mark.longest(seconds)")
    seconds: float = marker.args[0]
    return seconds


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash[REPORT]:
        terminalreporter.write_line(line)
