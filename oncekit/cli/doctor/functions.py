"""The functions that the state machine calls: each operation's, and the one that keeps large results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from oncekit.cli.doctor import alarms
from oncekit.cli.doctor.deployment import NOT_LOCAL, Deployment
from oncekit.cli.doctor.machines import ALIASES, timeouts
from oncekit.cli.doctor.verdict import CannotLook, Check, Gone, Verdict, ok, skipped, warning, wrong
from oncekit.operation_functions import LIVE

CACHE, CACHES = "CacheResponseFunction", "CacheResponse"
"""The function that keeps results, and the state that calls it."""
WATCHED = ("Errors", "Throttles")
"""The metrics of a function that some alarm should look at."""


def checks(deployment: Deployment) -> Iterator[Check]:
    others: list[str] = []
    prefix = deployment.operations.prefix
    yield Check(
        "functions.found", "Operations" if prefix is None else f"{prefix}*", partial(_found, deployment, others)
    )
    own = in_stack(deployment)
    for name in dict.fromkeys([*own, *others]):
        yield Check("functions.alias", name, partial(_alias, deployment, name))
        yield Check("functions.state", name, partial(_state, deployment, name))
        yield Check("functions.timeout", name, partial(_timeout, deployment, name))
        yield Check("functions.concurrency", name, partial(_concurrency, deployment, name))
        if name in own or not _is_named(deployment, name):
            yield Check("functions.layer", name, partial(_layer, deployment, name))
            yield Check("functions.alarms", name, partial(_watched, deployment, name))


def in_stack(deployment: Deployment) -> list[str]:
    """The stack's own: those of operations, and CacheResponse's."""
    made = deployment.of_type("AWS::Lambda::Function")
    operations = deployment.operations
    return [name for logical_id, name in made.items() if logical_id == CACHE or operations.operation_of(name)]


def _is_named(deployment: Deployment, name: str) -> bool:
    """Whether the parameter Operations names it: its layer and alarms may be of another stack."""
    return any(each.name == name for each in deployment.operations.named.values())


def _qualifier(deployment: Deployment, name: str) -> str | None:
    """What the state machine calls of a function: an alias, a version, or None for its newest code."""
    named = (each.qualifier for each in deployment.operations.named.values() if each.name == name)
    return next(named, LIVE)


def wanted(deployment: Deployment, operation: str) -> str:
    """The function to deploy for an operation that has none."""
    found = deployment.operations.function_of(operation)
    return f"a function, named in the parameter Operations, for {operation}" if found is None else found.name


def has_function(deployment: Deployment, operation: str) -> bool:
    """Whether the state machine can call the function of an operation."""
    found = deployment.operations.function_of(operation)
    if found is None:
        return False
    try:
        if operation not in deployment.operations.named:
            deployment.ask("lambda", "get_alias", FunctionName=found.name, Name=LIVE)
        else:
            _configured(deployment, found.name)
    except Gone:
        return False
    return True


def _found(deployment: Deployment, others: list[str]) -> Verdict:
    """Also those that another stack or somebody by hand has made: the state machine calls what has the name."""
    operations = deployment.operations
    every = (each["FunctionName"] for each in deployment.ask_all("lambda", "list_functions", "Functions"))
    found = [name for name in every if operations.operation_of(name) is not None]
    others += dict.fromkeys([*found, *(each.name for each in operations.named.values())])
    if found:
        return ok(", ".join(sorted(operations.operation_of(name) or "" for name in found)))
    return wrong("there is no function of an operation", "add one, as docs/functions.md says, and deploy")


def _configured(deployment: Deployment, name: str) -> Mapping[str, Any]:
    qualifier = _qualifier(deployment, name)
    given = {} if qualifier is None else {"Qualifier": qualifier}
    return deployment.ask("lambda", "get_function_configuration", FunctionName=name, **given)


def _live(deployment: Deployment, name: str) -> Mapping[str, Any]:
    """What the state machine calls: the configuration of the version that the alias points at."""
    try:
        return _configured(deployment, name)
    except Gone as gone:  # which the check of the alias tells
        raise CannotLook(f"it has no alias {_qualifier(deployment, name)}") from gone


def _alias(deployment: Deployment, name: str) -> Verdict:
    called = _qualifier(deployment, name)
    if called is None or called.isnumeric() or called == "$LATEST":
        return _version(deployment, name, called)
    return _named_alias(deployment, name, called)


def _version(deployment: Deployment, name: str, called: str | None) -> Verdict:
    try:
        _configured(deployment, name)
    except Gone as gone:
        return wrong(
            f"there is no such function or version, which Operations names ({gone}): every request for it is refused",
            "deploy it, or correct the parameter Operations",
        )
    return ok("its newest code is called" if called in (None, "$LATEST") else f"version {called} is called")


def _named_alias(deployment: Deployment, name: str, called: str) -> Verdict:
    try:
        alias = deployment.ask("lambda", "get_alias", FunctionName=name, Name=called)
    except Gone as gone:
        return wrong(
            f"there is no alias {called}, which the state machine calls ({gone}): every request for it is refused",
            f"`AutoPublishAlias: {called}` in the template makes it; now: `aws lambda create-alias "
            f"--function-name {name} "
            f"--name {called} --function-version VERSION`",
        )
    version, more = alias["FunctionVersion"], alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
    if more:
        shown = " and ".join(f"{share * 100:g} % to version {each}" for each, share in more.items())
        return warning(f"a rollout is under way: {shown}, the rest to version {version}", "wait for its end")
    if version == "$LATEST":
        return warning(
            f"{called} points at $LATEST: whatever is uploaded runs at once, and cannot be rolled back",
            f"`aws lambda publish-version --function-name {name}`, then `aws lambda update-alias "
            f"--function-name {name} "
            f"--name {called} --function-version VERSION`",
        )
    return ok(f"{called} is version {version}")


def _state(deployment: Deployment, name: str) -> Verdict:
    live = _live(deployment, name)
    newest = deployment.ask("lambda", "get_function_configuration", FunctionName=name)
    state, update = live.get("State", "Active"), newest.get("LastUpdateStatus", "Successful")
    if state == "Failed":
        return wrong(f"it cannot be invoked: {live.get('StateReason', state)}", "fix that, and deploy again")
    if update == "Failed":
        return wrong(
            f"its last update failed: {newest.get('LastUpdateStatusReason', '')}", "fix that, and deploy again"
        )
    if state != "Active" or update != "Successful":
        return warning(f"it is {state}, its last update {update}", "look again in a minute")
    return ok(f"active, {live.get('Runtime', 'no runtime named')}")


def _timeout(deployment: Deployment, name: str) -> Verdict:
    seconds = _live(deployment, name)["Timeout"]
    if CACHE in deployment.resources and name == deployment.id(CACHE):
        return _timeout_of_cache(deployment, seconds)
    business = deployment.stack.number("BusinessTimeoutSeconds")
    if seconds <= business:
        return ok(f"{seconds} s")
    return wrong(
        f"its timeout is {seconds} s, and BusinessTimeoutSeconds is {business}: the task that waits for it may "
        "end first, and the "
        "function works on while another attempt starts",
        "`Timeout: !Ref BusinessTimeoutSeconds` in the template, and deploy (with "
        f"BusinessTimeoutSeconds={seconds} if it needs so long)",
    )


def _timeout_of_cache(deployment: Deployment, seconds: int) -> Verdict:
    lanes = [machine for machine in ALIASES if machine in deployment.resources]
    for found in (each for machine in lanes for each in timeouts(deployment, machine).values()):
        task = found.tasks.get(CACHES)
        if task is None or seconds >= task:
            return wrong(
                f"its timeout is {seconds} s, and the task {CACHES} that waits for it ends after {task or 0:g}",
                f"give {CACHE} a Timeout below that in the template, and deploy",
            )
    return ok(f"{seconds} s")


def _concurrency(deployment: Deployment, name: str) -> Verdict:
    reserved = deployment.ask("lambda", "get_function_concurrency", FunctionName=name).get(
        "ReservedConcurrentExecutions"
    )
    if reserved == 0:
        return wrong(
            "its reserved concurrency is 0: every start is throttled, and nothing runs",
            f"`aws lambda delete-function-concurrency --function-name {name}`, or deploy with "
            "FunctionConcurrency above 0",
        )
    return ok("not reserved" if reserved is None else f"{reserved} reserved")


def _layer(deployment: Deployment, name: str) -> Verdict:
    live = _live(deployment, name)
    used = [each["Arn"] for each in live.get("Layers", ())]
    for newest in deployment.of_type("AWS::Lambda::LayerVersion").values():
        mine = [arn for arn in used if arn.rpartition(":")[0] == newest.rpartition(":")[0]]
        if mine and mine[0] != newest:
            return warning(
                f"it runs with version {mine[0].rpartition(':')[2]} of the library, the stack has "
                f"{newest.rpartition(':')[2]}",
                "deploy again, so that a version of it is published with the stack's layer",
            )
        if mine:
            return _fits(deployment, newest, live)
    return ok("without the library")


def _fits(deployment: Deployment, layer: str, live: Mapping[str, Any]) -> Verdict:
    """The library has compiled parts: it runs where it was built for."""
    told = deployment.ask("lambda", "get_layer_version_by_arn", Arn=layer)
    for member, mine in (("CompatibleRuntimes", [live["Runtime"]]), ("CompatibleArchitectures", live["Architectures"])):
        if told.get(member) and not set(mine) <= set(told[member]):
            return wrong(
                f"it runs on {', '.join(mine)}, its layer is for {', '.join(told[member])}: imports may fail",
                "give the function Globals' Runtime and Architectures in the template, and deploy",
            )
    return ok(f"version {layer.rpartition(':')[2]}")


def _watched(deployment: Deployment, name: str) -> Verdict:
    found = list(alarms.every(deployment))
    if not found and deployment.is_local:
        return skipped(NOT_LOCAL)
    watched = {metric for alarm in found for metric in _metrics_of(name, alarm)}
    blind = [metric for metric in WATCHED if metric not in watched]
    if not blind:
        return ok("errors and throttles are watched")
    return warning(
        f"no alarm of the stack looks at its {' and '.join(blind)}: nobody is notified when it fails",
        f"add an alarm of its own for {' and '.join(blind)} to template.yaml, like those of the other functions, and "
        "deploy",
    )


def _metrics_of(function: str, alarm: Mapping[str, Any]) -> Iterator[str]:
    """What an alarm looks at of a function as a whole, whatever its version."""
    inner = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", ()) if "MetricStat" in each]
    for metric in (alarm, *inner):
        if [each["Value"] for each in metric.get("Dimensions", ())] == [function]:
            yield str(metric["MetricName"])
