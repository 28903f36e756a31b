"""`once doctor`: one page of answers about a stack, as people and as programs read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from oncekit.cli.deployed.on_stack import answered as print_answer
from oncekit.cli.deployed.on_stack import on_stack
from oncekit.cli.options import Json, Profile, Region, StackName
from oncekit.cli.terminal import Entry
from oncekit.problem import Problem
from oncekit.stack.health import dead, waiting, whole
from oncekit.stack.health.finding import Finding, Outcome, Patient, Question, answered, resources_of
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack, once_in

MARKS: dict[Outcome, str] = {"ok": "✓", "wrong": "✗", "warning": "!", "skipped": "-"}
QUESTIONS: Mapping[str, Question] = {
    "machines": whole.machines,
    "functions": whole.functions,
    "announced": whole.announced,
    "alarms": waiting.alarms,
    "open": waiting.operations,
    "stopped": dead.stopped,
    "rejected": waiting.rejected,
    "dead-letters": waiting.dead_letters,
}
WIDTH = max(map(len, QUESTIONS)) + 1


def doctor(as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None) -> int:
    """Say what is wrong with a stack, and what to do next. Changes nothing.

    One page: is the stack there and whole (its outputs, state machines and functions), are ends announced, which
    alarms ring, which operations are open, overdue or quarantined, what was stopped or died before it had a lock, what
    was rejected, and what is in dead-letter queues, also in those that `once new` made.
    The exit code is 1 if something is wrong; a warning, or what could not be looked at, does not count as wrong.

    JSON: {stack, checks: [{name, outcome, resource, message, advice}], wrong, warnings};
    outcome is ok, wrong, warning or skipped.
    """
    place = Place(stack, profile, region)
    with on_stack(place, in_it=False) as named:  # a stack whose first deployment failed has no outputs
        found = findings(named, place)
        counts = Counter(each.outcome for each in found)
        told = {"checks": [vars(each) for each in found], "wrong": counts["wrong"], "warnings": counts["warning"]}
        print_answer({"stack": place.stack, **told}, as_json, *lines(found))
        return 1 if counts["wrong"] else 0


def findings(named: Stack, place: Place) -> Sequence[Finding]:
    """All answers. Raises Problem for a stack that neither is one of Once nor has one inside."""
    resources = resources_of(named)
    status, stack = whole.status(named, resources), once_in(named)
    if stack is None:
        if status.outcome == "ok":
            raise Problem(f"the stack {named.name} is not a stack of Once, and has none inside; give --stack")
        return [status]
    patient = Patient(stack, place, resources)
    return [status, *(each for name, question in QUESTIONS.items() for each in answered(patient, name, question))]


def lines(found: Sequence[Finding]) -> Iterator[str | Entry]:
    """A line for each answer; below one that is not fine, what to do."""
    for each in found:
        about = f"{each.resource}: " if each.outcome in ("wrong", "warning") else ""
        yield Entry(f"{MARKS[each.outcome]} {each.name:<{WIDTH}}", about + each.message)
        if each.advice:
            yield Entry(" " * 6, each.advice)
    counts = Counter(each.outcome for each in found)
    left = f", {counts['skipped']} not looked at" if counts["skipped"] else ""
    warnings = f"{counts['warning']} warning{'' if counts['warning'] == 1 else 's'}"
    yield ""
    yield f"{counts['wrong'] or 'Nothing'} wrong, {warnings}{left}."
