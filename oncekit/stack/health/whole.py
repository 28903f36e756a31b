"""Is the stack there and whole: its status, its state machines, the functions that they call, and its announcements."""

from __future__ import annotations

from collections.abc import Iterator

from oncekit.contract.lanes import FULL, MACHINES, PLACES
from oncekit.contract.operation_functions import LIVE, Named, OperationFunctions
from oncekit.stack.health.finding import Finding, Patient, Resource, gone
from oncekit.stack.stack import Stack

SETTLED = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")
ALIASES = {output: output.replace("Arn", "AliasArn") for output in MACHINES.values()}
"""By the output of a lane's machine that of the alias at which requests are started."""
WAYS_OUT = {
    "ROLLBACK_COMPLETE": "delete it, and deploy again",
    "UPDATE_ROLLBACK_FAILED": "fix it, then `aws cloudformation continue-update-rollback --stack-name {}`",
}
"""CloudFormation's user guide, "Understand stack status codes"; out of any other status a deployment leads."""
STOPPED, MAPPING = ("Disabled", "Disabling", "Deleting"), "EndMapping"
RECOVERY, CACHE = "RecoveryStateMachineArn", "CacheResponseFunction"


def status(stack: Stack, resources: tuple[Resource, ...]) -> Finding:
    """Of the last deployment."""
    failed = [each.name for each in resources if each.status.endswith("_FAILED")]
    if stack.status.endswith("_IN_PROGRESS"):
        told = f"{stack.status}: what is found below may change"
        return Finding("stack", "warning", stack.name, told, "wait until that has ended, and ask again")
    if stack.status not in SETTLED or failed:
        told = f"{stack.status}: the last deployment failed{': ' + ', '.join(failed) if failed else ''}"
        way = WAYS_OUT.get(stack.status, "fix it and deploy again").format(stack.name)
        events = f"`aws cloudformation describe-stack-events --stack-name {stack.name}` says what failed first"
        return Finding("stack", "wrong", stack.name, told, f"{events}; {way}")
    return Finding("stack", "ok", stack.name, stack.status)


def machines(patient: Patient) -> Iterator[Finding]:
    """Of both lanes, with their aliases, and of recovery."""
    bad = [finding for output in (*ALIASES, RECOVERY) for finding in _machine(patient, output)]
    yield from bad
    if not bad:
        lane = patient.stack.parameters.get("Lane", FULL)
        yield Finding("machines", "ok", patient.stack.name, f"all can be started; Lane is {lane}")


def _machine(patient: Patient, output: str) -> Iterator[Finding]:
    """What is wrong with a machine or its alias."""
    name, outputs = output.removesuffix("Arn"), patient.stack.outputs
    wanted = [each for each in (output, ALIASES.get(output)) if each]
    if missing := [each for each in wanted if each not in outputs]:
        deploy = "deploy the whole template: `sam build && sam deploy`"
        yield Finding("machines", "wrong", name, f"the stack has no output {', '.join(missing)}", deploy)
        return
    from botocore.exceptions import ClientError

    client = patient.stack.client("stepfunctions")
    try:
        state = client.describe_state_machine(stateMachineArn=outputs[output])["status"]
        for alias in wanted[1:]:
            client.describe_state_machine_alias(stateMachineAliasArn=outputs[alias])
    except ClientError as error:
        yield Finding("machines", "wrong", name, f"AWS does not have it ({gone(error)})", patient.restoring)
        return
    if state != "ACTIVE":
        yield Finding("machines", "wrong", name, f"it is {state}: nothing can be started", "deploy the stack again")


def functions(patient: Patient) -> Iterator[Finding]:
    """Those that the machines call: of the operations, and CacheResponse's."""
    called = dict(OperationFunctions.of(patient.stack.outputs).named)
    if name := patient.stack.ref(CACHE):
        called[CACHE] = Named(name, LIVE)
    bad = [finding for operation, named in called.items() for finding in _function(patient, operation, named)]
    yield from bad
    if not bad:
        yield Finding("functions", "ok", patient.stack.name, f"{', '.join(called)} can be invoked")


def function_of(patient: Patient, operation: str) -> Iterator[Finding]:
    """What keeps the function of an operation from being invoked."""
    yield from _function(patient, operation, OperationFunctions.of(patient.stack.outputs).function_of(operation))


def _function(patient: Patient, operation: str, named: Named | None) -> Iterator[Finding]:
    again = f"; then {patient.once('retry ID')} for each that is quarantined"
    if named is None:
        advice = f"name a function for it in the parameter Operations, and deploy{again}"
        yield Finding("functions", "wrong", operation, "the operation has no function", advice)
        return
    from botocore.exceptions import ClientError

    client = patient.stack.client("lambda")
    qualifier = {} if named.qualifier is None else {"Qualifier": named.qualifier}
    try:
        told = client.get_function_configuration(FunctionName=named.name, **qualifier)
        reserved = client.get_function_concurrency(FunctionName=named.name)
    except ClientError as error:
        missing = f"there is no {':'.join(filter(None, (named.name, named.qualifier)))} ({gone(error)})"
        advice = f"deploy it (`AutoPublishAlias: {LIVE}` makes the alias), or correct the parameter Operations{again}"
        yield Finding("functions", "wrong", operation, f"{missing}: its requests are refused", advice)
        return
    alone = map(str.strip, patient.stack.parameters.get("PayloadOnlyOperations", "").split(","))
    if operation in alone and PLACES & told.get("Environment", {}).get("Variables", {}).keys():
        why = "its function takes the lock itself; recovery would send a bare payload and store what the handler says"
        advice = "take it out of the parameter PayloadOnlyOperations, and deploy"
        yield Finding("functions", "wrong", operation, why, advice)
    if told.get("State") == "Failed":
        why = told.get("StateReason", "its state is Failed")
        advice = "fix that, delete the function, and deploy it again: one that could not be made stays Failed"
        yield Finding("functions", "wrong", operation, f"it cannot be invoked: {why}", advice)
    if reserved.get("ReservedConcurrentExecutions") == 0:
        advice = f"`aws lambda delete-function-concurrency --function-name {named.name}`"
        yield Finding("functions", "wrong", operation, "its reserved concurrency is 0: it is never started", advice)


def announced(patient: Patient) -> Iterator[Finding]:
    """Whether Lambda reads the stream, where ends are announced: of what cannot be read no metric has a value, so no
    alarm rings. That a result of it that is none begins with PROBLEM is unconfirmed (V124)."""
    name = patient.stack.outputs.get("AnnounceEndFunctionName")
    if name is None:
        return
    found = patient.stack.client("lambda").list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    if not found:
        yield Finding("announced", "wrong", MAPPING, "it is not there: nothing is announced", patient.restoring)
    for each in found:
        state, result = each["State"], each.get("LastProcessingResult", "")
        told = f"{state}: {each.get('StateTransitionReason', '')}" if state in STOPPED else result
        if state in STOPPED or result.startswith("PROBLEM"):
            advice = (
                f"`aws lambda get-event-source-mapping --uuid {each['UUID']}` says more; deploy the stack again, or "
                "allow AnnounceEnd what it lacks; then announce those ends again (Once's docs/announcements.md)"
            )
            yield Finding("announced", "wrong", MAPPING, f"ends are not announced: {told}", advice)
        else:
            yield Finding("announced", "ok", name, f"{state}; {result or 'nothing read yet'}")
