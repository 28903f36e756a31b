"""What somebody has to do by hand after an operation was added: only they know whether it is wanted."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from oncekit.adoption import fixture, folder, node_code
from oncekit.adoption.application_template import LIBRARY as ONCE_LIBRARY
from oncekit.adoption.application_template import ApplicationTemplate
from oncekit.adoption.code import LIBRARY, Code, code_folder, is_python
from oncekit.adoption.direct_lane import OTHER_LANGUAGE, given_up_too_early, lines_to_change
from oncekit.adoption.envelopes import ANOTHER_REQUEST, events_in, told_of_envelopes
from oncekit.adoption.library_layer import known, too_old, unlike
from oncekit.adoption.operation import Wanted
from oncekit.adoption.regions import SWITCHED_OFF, without_pipes
from oncekit.adoption.shapes import BODY, DETAIL, EVENT_CLASS, KEY, LOCK, OF_HTTP, RECORDS, RESOLVER, STATUS_CODE
from oncekit.adoption.trigger import FromRule
from oncekit.contract.own_stack import ONCE
from oncekit.contract.picked_request import LASTING
from oncekit.local.events.patterns import matches
from oncekit.local.lambda_runtime.entry import has_library
from oncekit.local.lambda_runtime.languages import NODE
from oncekit.local.templates.definition import DefinitionError
from oncekit.local.templates.elsewhere import Elsewhere
from oncekit.local.templates.intrinsics import TemplateError

QUEUE = "AWS::SQS::Queue"
OWN_APIS = ("Api", "HttpApi")
"""Among the events of a function of SAM."""
AWS_KEY = "alias/aws/sqs"
OPERATIONS = f"{folder.NAME}/{folder.OPERATIONS}"
BUSINESS_TIMEOUT = 30
"""The default of Once's parameter BusinessTimeoutSeconds."""
ITSELF, TO_PAYLOAD = "read event itself", "let its Handler be one that takes that"
BUT_BY_SENDER = "let senders put into the payload what it needs of that, and read it there"
SHAPES: Mapping[str, tuple[str, str, str]] = {
    RECORDS: (
        """reads event["Records"], a list, and gets the payload of one request""",
        f"{TO_PAYLOAD}, or keep its trigger, with --direct",
        TO_PAYLOAD,
    ),
    BODY: ("""reads event["body"], and gets the payload, which is parsed already""", ITSELF, ITSELF),
    DETAIL: (
        """reads event["detail"], and gets the payload""",
        *2 * (f"where a rule starts it (--from-rule), give --payload '$', the whole event; else {ITSELF}",),
    ),
    STATUS_CODE: (
        "returns a statusCode, and what is returned counts as success, also a 400",
        """it is COMPLETED, and each duplicate gets it. Behind an API of its own, keep that, with --direct; else raise \
PermanentError(..., status=400) for what fails for good, and let other errors go on""",
        """it is COMPLETED, and each duplicate gets it. Throw an error whose name is PermanentError for what fails for \
good, and let other errors go on""",
    ),
    **{
        each: (
            f"""reads event["{each}"], which Once does not give it""",
            f"it gets the payload alone. With --direct it keeps its event; else {BUT_BY_SENDER}",
            f"it gets the payload alone, so {BUT_BY_SENDER}",
        )
        for each in OF_HTTP
    },
    RESOLVER: (
        "has an event handler of Powertools, which takes what its API sends, and gets the payload",
        "keep its API, with --direct, and ask for the work in a route (Once's docs/direct-lane.md has one)",
        TO_PAYLOAD,
    ),
    EVENT_CLASS: (
        "takes the event of its trigger, as a class of Powertools, and gets the payload",
        "let it take that, or keep its trigger, with --direct",
        TO_PAYLOAD,
    ),
}
"""What is wrong with each shape where the event is a payload, and an answer is kept; docs/adopting.md has the lines.

And what to do, in Python and in another language, which has no direct lane.
"""
WHATEVER_IT_GETS = {
    LOCK: """has Powertools' idempotency, too, which makes two locks: keep Once's, and take that one away, as it \
refuses an attempt after a crash while its record is in progress; that one alone will do where the sender tries again \
and a repeat does no harm (Once's docs/alternatives.md)""",
    KEY: f"takes for a key an id that AWS makes anew for each message or call: {ANOTHER_REQUEST}",
}
"""What is wrong in every lane."""
ENDS = ("Operation Completed", "Operation Failed", "Operation Quarantined")
"""The detail types of what Once announces, as docs/announcements.md has them."""


def warnings(template: ApplicationTemplate, wanted: Wanted) -> Iterator[str]:
    """What keeps its function from running well as it is, or from being run once: its test is red then, and says so."""
    function, trigger = wanted.function, wanted.trigger
    if function is not None:
        code = Code.of(template, function)
        yield from _of_condition(template, function)
        yield from _of_shapes(template, function, code, wanted)
        yield from _of_code(template, function, code)
        yield from _of_runtime(template, function)
        yield from (told for name, told in unlike(template) if name == function)
    yield from told_of_envelopes(template, wanted)
    if isinstance(trigger, FromRule) and _takes_its_own_end(trigger.pattern, wanted.operation.name):
        yield (
            f"where ends are announced, the rule takes the end of {wanted.operation.name} itself, which starts it "
            "again, for ever: name the operations it is for in the pattern, by detail.operation"
        )
    if trigger is not None and (source := trigger.source) is not None:
        for name, event in _readers(template, source.logical_id):
            yield (
                f"{name} still gets what comes from {source.logical_id} by its own {event}: take that away, or it "
                "works without Once, too"
            )


def advice(template: ApplicationTemplate, wanted: Wanted) -> Iterator[str]:
    """A sentence for each thing to do besides."""
    function, trigger = wanted.function, wanted.trigger
    if function is not None:
        properties = template.function(function)
        if not wanted.payload_only and template.role_of(function) is None:
            yield (
                f"the role of {function} is not in the template: give it what Once's docs/adopting.md shows, or its "
                "steps and large answers are refused"
            )
        timeout = properties.get("Timeout", 3)
        if isinstance(timeout, int) and timeout > BUSINESS_TIMEOUT:
            yield (
                f"{function} may take {timeout} seconds, and Once waits for {BUSINESS_TIMEOUT}: set "
                f"BusinessTimeoutSeconds of Machine in {OPERATIONS}"
            )
        if wanted.direct:
            yield from given_up_too_early(template, function)
            yield from lines_to_change(template, wanted.operation, function)
    if fixture.is_lacking(template.path):
        yield from fixture.lines_to_add(template.path)
    if trigger is not None and (source := trigger.source) is not None and source.type == QUEUE:
        yield (
            f"what is made of {source.logical_id} needs EventBridge Pipes, which is missing in {without_pipes()}: "
            f"there, {SWITCHED_OFF}, and let a function that reads the queue start the requests"
        )
        if source.logical_id in template.resources:
            yield from _lacking(source.logical_id, template.resources[source.logical_id].get("Properties") or {})


def _of_condition(template: ApplicationTemplate, function: str) -> Iterator[str]:
    condition = template.resources[function].get("Condition")
    if condition is not None and template.resources[ONCE].get("Condition") != condition:
        yield (
            f"{function} is made only where its Condition {condition} is true, and {ONCE}, which refers to it, cannot "
            f"be made elsewhere: take the Condition away, or give {ONCE} the same"
        )


def _takes_its_own_end(pattern: Mapping[str, Any], operation: str) -> bool:
    """Whether a pattern that asks for what Once announces takes the end of an operation, as far as can be known here.

    One that says neither source nor detail type is about something else.
    """
    asked = {name: pattern[name] for name in ("source", "detail-type") if name in pattern}
    if asked and "operation" in (detail := pattern.get("detail", {})):
        asked["detail"] = {"operation": detail["operation"]}
    ends = [{"source": "once", "detail-type": end, "detail": {"operation": operation}} for end in ENDS]
    return bool(asked) and any(matches(asked, end) for end in ends)


def _of_shapes(template: ApplicationTemplate, function: str, code: Code, wanted: Wanted) -> Iterator[str]:
    in_payload: Container[object] = wanted.request()["payload"]
    if wanted.example is None and isinstance(wanted.trigger, FromRule) and wanted.trigger.payload == "$":
        in_payload = LASTING
    in_python = is_python(template, function)
    found = code.shapes() if in_python else _in_node(template, function)
    for member, (file, line) in sorted(found.items(), key=lambda each: each[1]):
        where = f"{os.path.relpath(file, template.path.parent)}:{line}: {function}"
        if member in WHATEVER_IT_GETS:
            yield f"{where} {WHATEVER_IT_GETS[member]}"
        elif not (wanted.direct or member in in_payload):
            wrong, in_its_language, elsewhere = SHAPES[member]
            yield f"{where} {wrong}: {in_its_language if in_python else elsewhere}"


def _in_node(template: ApplicationTemplate, function: str) -> Mapping[str, tuple[Path, int]]:
    properties, place = template.function(function), code_folder(template, function)
    is_node, handler = (known(template, properties.get("Runtime")) or "").startswith(NODE), properties.get("Handler")
    if not is_node or place is None or not isinstance(handler, str):
        return {}
    return node_code.shapes(place, handler)


def _of_code(template: ApplicationTemplate, function: str, code: Code) -> Iterator[str]:
    if code.knows_once and not _has_library(template, function, code):
        yield (
            f"{function} imports {LIBRARY}, and has no layer with it, so it fails: give it "
            f"Layers: [!Ref {ONCE_LIBRARY}], made of {folder.NAME}/shared/ (Once's docs/adopting.md has the lines)"
        )
    if code.knows_once and (told := too_old(template, function)) is not None:
        yield told


def _of_runtime(template: ApplicationTemplate, function: str) -> Iterator[str]:
    """What keeps the local cloud from starting it, or anybody."""
    properties = template.function(function)
    handler = properties.get("Handler")
    if (told := _why_not_run(template.path, function)) is not None:
        yield f"{function} is not run by `once run`, `once up` and its test{told}"
    if not is_python(template, function):
        if any(each.get("Type") in OWN_APIS for each in events_in(properties)):
            yield f"{function} is behind an API of its own, and cannot take the lock there: {OTHER_LANGUAGE}"
    elif isinstance(handler, str) and "." not in handler:
        yield f"{function} has the Handler {handler}, which names no function, so it fails: write MODULE.FUNCTION"


def _why_not_run(template: Path, function: str) -> str | None:
    """Why the local cloud does not run a function; None, too, where it runs nothing of the template, and says so."""
    from oncekit.local.deployment.deploy import planned  # moto takes its time

    with suppress(TemplateError, DefinitionError):
        plan = planned(template, elsewhere=Elsewhere.of(template, collecting=True))
        if function in plan.unread:
            return f": {plan.unread[function].partition(': ')[2]}"
        if why := plan.resources[function].why:
            return f", though deployed as any other: {why}"
    return None


def _has_library(template: ApplicationTemplate, function: str, code: Code) -> bool:
    """Whether it can import the library: any layer may have it."""
    return bool(template.layers(function)) or has_library(code.folder, [])


def _lacking(queue: str, properties: Mapping[str, object]) -> Iterator[str]:
    """What a pipe needs of a queue.

    A consumer decrypts: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
    """
    if "RedrivePolicy" not in properties:
        yield f"{queue} has no RedrivePolicy: a message that cannot start an execution is lost after its retention"
    if properties.get("KmsMasterKeyId", AWS_KEY) != AWS_KEY:
        yield f"{queue} is encrypted with a key of yours: allow kms:Decrypt to the role of its pipe in {OPERATIONS}"


def _readers(template: ApplicationTemplate, source: str) -> Iterator[tuple[str, str]]:
    """The functions that a queue or a bus starts now, each with the name of its event or of the resource in between."""
    for name, resource in template.resources.items():
        properties = resource.get("Properties") or {}
        events = properties.get("Events")
        for event, each in events.items() if isinstance(events, dict) else ():
            if _names(each, source):
                yield name, f"event {event}"
        if resource.get("Type") == "AWS::Lambda::EventSourceMapping" and _names(properties, source):
            yield name, "mapping"
        if resource.get("Type") == "AWS::Events::Rule" and _names(properties.get("EventBusName"), source):
            yield name, "targets"


def _names(value: object, logical_id: str) -> bool:
    """Whether a part of a template refers to a resource."""
    text = json.dumps(value, default=str)
    return f'{{"Ref": "{logical_id}"}}' in text or f'{{"Fn::GetAtt": ["{logical_id}",' in text
