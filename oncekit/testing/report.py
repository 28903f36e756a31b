"""What a matrix found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oncekit.testing.effects import TOKENS

ADVICE = {
    "lost": "do it in every attempt, whatever exists already: each attempt starts from the beginning",
    "differs": "read what decides inside the `write` of a step: before the step, a read sees what an attempt wrote",
    "stuck": "see the error of the last attempt: it must succeed, or fail in a way that another attempt can fix",
    "broken": "a promise of Once itself does not hold: please report it",
}
LEFT = 'allow it with `may_repeat` if a second one does no harm, or send "onCrash": "quarantine"'
"""What is left where nothing makes an effect happen once."""
OF_MESSAGES = "MessageDeduplicationId"
"""AWS knows it again for five minutes only, and only in what is FIFO; another attempt may come later than that:
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-exactly-once-processing.html
"""


@dataclass(frozen=True)
class Finding:
    """An effect that is not what it is without the fault."""

    kind: str
    """`twice`, `lost`, `differs` (it ends or answers in another way), `stuck`, or `broken`."""
    place: str
    """Where: a table, a bucket, `sqs.send_message`, `POST https://...`, `the answer`, `the end`."""
    what: str
    lines: tuple[str, ...]
    """The lines of code that did it, or that should have."""
    strikes: tuple[str, ...]
    """What was struck, in all runs that found it."""
    has_library: bool = True
    """Whether the function can import the library."""

    @property
    def advice(self) -> str:
        """What to do."""
        return _of_repeated(self.place, self.has_library) if self.kind == "twice" else ADVICE[self.kind]

    def __str__(self) -> str:
        more = f" (and in {len(self.strikes) - 1} other runs)" if len(self.strikes) > 1 else ""
        lines = [f"✗ {self.kind}: {self.place}: {self.what}", *(f"    {line}" for line in self.lines)]
        return "\n".join([*lines, f"    when {self.strikes[0]}{more}", f"    → {self.advice}"])


def _of_repeated(place: str, has_library: bool) -> str:
    """By what is repeated: what makes a write happen once helps no message, and a key only whom it is given to."""
    key = "request.provider_key(...)" if has_library else "a key made of the payload"
    if " " in place:
        return f"give the provider {key} as its idempotency key; if it takes none, {LEFT}"
    if (members := _members(place)) is not None:
        token = next((each for each in TOKENS if each in members and each != OF_MESSAGES), None)
        return f"give it {key} as its {token}" if token else f"neither a step nor a key makes it happen once: {LEFT}"
    if not has_library:
        return "write it under a key made of the payload, or on the condition that it is not there yet"
    return (
        "make it part of a request.step, or use request.put_once or request.apply_once; name an object in a bucket "
        "by request.provider_key"
    )


def _members(place: str) -> Sequence[str] | None:
    """What a call of AWS takes; None for another place, such as a table."""
    from botocore import xform_name
    from botocore.session import get_session

    service, _, action = place.partition(".")
    session = get_session()
    if service not in session.get_available_services():
        return None
    model = session.get_service_model(service)
    names = [each for each in model.operation_names if xform_name(each) == action]
    if not names:
        return None
    taken = model.operation_model(names[0]).input_shape
    return [] if taken is None else list(taken.members)


@dataclass(frozen=True)
class Report:
    """The result of a matrix."""

    operation: str
    effects: Sequence[str]
    """The places of the effects that it watched."""
    findings: Sequence[Finding]
    strikes: Sequence[str]
    """What was struck."""
    left_out: Sequence[str]
    """What there was no time for."""
    seconds: float
    unseen: str = ""
    """What of the function it does not see; then no finding says nothing of that."""

    def __str__(self) -> str:
        count = len(self.findings)
        nothing = "nothing found" if self.unseen or not self.effects else "every effect happened once"
        found = f"{count} finding{'s' if count > 1 else ''}" if count else nothing
        head = f"{self.operation}: {len(self.strikes)} strikes in {self.seconds:.1f} s: {found}"
        if self.left_out:
            head += f"; no time for {len(self.left_out)} more (give more `seconds`)"
        watched = f"watched: {', '.join(self.effects) or 'nothing that stays'}"
        unseen = [f"not seen: {self.unseen}"] if self.unseen else []
        return "\n".join([head, watched, *unseen, *map(str, self.findings)])
