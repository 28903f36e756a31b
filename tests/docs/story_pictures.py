"""Draws the pictures of docs/ that tell a story: `make pictures`.

crash.svg, crash-narrow.svg    a charge, its crash and its take-over in five frames, side by side or one below another
doors.svg, -narrow.svg         the three lanes: who takes the lock
choices.svg, -narrow.svg       how a person ends a quarantine, and what each way does
account.svg, -narrow.svg       what the template makes, and what uses what
logo.svg                       that of the page of `once up`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from template_parts import all_resources

LOGO = Path(__file__).parents[2] / "oncekit" / "console" / "pages" / "icon.svg"
STYLE = """
text { font: 13px ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #17202e; }
.head { font-weight: 650; }
.small { font-size: 12px; fill: #586375; }
.paper { fill: #ffffff; stroke: #e3e7ed; }
.box { fill: #f7f8fa; stroke: #c3ccd9; }
.number circle { fill: #2457d6; }
.number text { fill: #ffffff; font-weight: 650; text-anchor: middle; }
.line { fill: none; stroke: #586375; stroke-width: 1.6; }
.tip { fill: #586375; }
.changed .box { fill: #e8eefc; stroke: #2457d6; stroke-width: 2; }
.good .box { fill: #e4f5ea; stroke: #13703a; stroke-width: 2; }
.bad .box { fill: #fdeaea; stroke: #b01e1e; stroke-width: 2; }
.maybe .box { stroke-dasharray: 5 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6ebf4; }
  .small { fill: #9dabc1; }
  .paper { fill: #0d1320; stroke: #253148; }
  .box { fill: #131b2b; stroke: #3a4a68; }
  .number circle { fill: #86aaff; }
  .number text { fill: #0d1320; }
  .line { stroke: #9dabc1; }
  .tip { fill: #9dabc1; }
  .changed .box { fill: #1b2a4d; stroke: #86aaff; }
  .good .box { fill: #12301f; stroke: #62d58d; }
  .bad .box { fill: #3d1a1d; stroke: #ff8d8d; }
}
"""
"""The colours of the page of `once up`, written out: not every program that shows SVG knows variables."""
WIDE, NARROW = (148, 46), (114, 46)
GAP, HEAD, EDGE, BETWEEN = 20, 44, 12, 16


@dataclass(frozen=True)
class Box:
    """Something in a frame; `kind` says how the frame changed it."""

    title: str
    below: str
    kind: str = ""


@dataclass(frozen=True)
class Frame:
    """A moment of three. `to` is what the run calls in it: -1 the lock, 1 the provider."""

    title: str
    lock: Box
    run: Box
    provider: Box
    to: int = 0


NO_CHARGE, CHARGE = Box("Provider", "no charge yet"), Box("Provider", "1 charge: ch_43")
LOCKED = Box("Lock", "run A, fence 1")
FRAMES = (
    Frame("A request: lock", Box("Lock", "run A, fence 1", "changed"), Box("Run A", "starts"), NO_CHARGE, -1),
    Frame("Charge", LOCKED, Box("Run A", "sends its key"), Box("Provider", "1 charge: ch_43", "changed"), 1),
    Frame("Crash", LOCKED, Box("Run A", "is gone", "bad"), CHARGE),
    Frame("Sweep: take over", Box("Lock", "run B, fence 2", "changed"), Box("Run B", "starts"), CHARGE, -1),
    Frame("One charge", Box("Answer", "ch_43, for all", "good"), Box("Run B", "sends that key"), CHARGE, 1),
)
CRASH = (
    "Run A takes the lock, charges the card and crashes. A sweep starts run B: it takes over and sends the same key."
)
DOORS = (
    "Three doors to one lock: the full lane, the fast lane and the direct lane; the full lane finishes what any leaves"
)
LANES = (
    (Box("Queue, bus, start", "or your own program"), Box("Full lane", "Standard state machine")),
    (Box("The same, or HTTP", "many requests"), Box("Fast lane", "Express state machine")),
    (Box("Any trigger", "of Lambda, as it is"), Box("Direct lane", "your own function")),
)


@dataclass(frozen=True)
class Choice:
    """What a person finds, what to type then, and what follows; the box has the status that the command answers."""

    found: str
    command: str
    then: Box


QUARANTINE = (
    "Four ways out of quarantine. The effect has happened: resolve with its answer. It has not, or a repeat is safe: "
    "retry. It must not happen: resolve as failed. As if never sent: release, and an effect of before happens again."
)
QUARANTINED = Box("QUARANTINED: has the effect happened?", "Ask the provider; once show ID has log and steps.", "bad")
CHOICES = (
    Choice(
        "It has happened",
        "once resolve ID --result FILE",
        Box("COMPLETED", "Nothing runs.\nDuplicates get FILE.\nEffect: once", "good"),
    ),
    Choice(
        "No, or a repeat is safe",
        "once retry ID",
        Box("IN_PROGRESS", "It runs again.\nDuplicates get its answer.\nEffect: once, by step or key", "changed"),
    ),
    Choice(
        "No, and it must not",
        "once resolve ID --failed TEXT",
        Box("FAILED", "Nothing runs.\nDuplicates get TEXT.\nEffect: never", "good"),
    ),
    Choice(
        "As if it was never sent",
        "once release ID",
        Box("RELEASED", "The next request runs.\nDuplicates get its answer.\nEffect: perhaps twice", "bad"),
    ),
)


@dataclass(frozen=True)
class Part:
    """Something in the account: resources of the template, and its place."""

    title: str
    below: str
    resources: tuple[str, ...]
    row: int
    column: int
    columns: int = 1
    kind: str = ""


QUEUE = Part("Messages", "SQS queue, pipe", ("RequestQueue", "RequestPipe"), 0, 0)
BUS = Part("Events", "EventBridge bus", ("RequestBus", "RequestRule"), 0, 1)
API = Part("HTTP", "API Gateway", ("HttpRequests",), 0, 2)
FULL = Part("Full lane", "Standard state machine", ("OperationStateMachine", "OperationStateMachineAlias"), 1, 0, 2)
FAST = Part("Fast lane", "Express machine", ("FastStateMachine",), 1, 2)
FUNCTIONS = Part("Your functions", "Lambda", ("ExampleOperations",), 2, 0, kind="changed")
TABLE = Part("Locks, answers", "DynamoDB table", ("IdempotencyTable",), 2, 1, kind="good")
BUCKET = Part("What is large", "S3 bucket", ("ResponseBucket",), 2, 2, kind="good")
SCHEDULE = Part("Each minute", "a schedule", ("RecoverySchedule",), 3, 0)
RECOVERY = Part("Recovery", "Express machine", ("RecoveryStateMachine",), 3, 1)
STORE = Part("Result writer", "Lambda", ("CacheResponseFunction", "CacheResponseRole"), 3, 2)
LETTERS = Part("Dead letters", "two SQS queues", ("RequestDeadLetterQueue", "EventDeadLetterQueue"), 4, 0)
ALARMS = Part("Alarms", "CloudWatch", ("Operating", "DeadExecutionsAlarm", "CacheResponseErrorsAlarm"), 4, 1)
TOPIC = Part("Your mail", "SNS topic", ("AlarmTopic", "AlarmSubscription"), 4, 2)
USES = (
    *((QUEUE, FULL), (BUS, FULL), (API, FAST), (FAST, FULL)),
    *((lane, used) for lane in (FULL, FAST) for used in (FUNCTIONS, TABLE, BUCKET)),
    *((SCHEDULE, RECOVERY), (RECOVERY, TABLE), (STORE, BUCKET), (LETTERS, ALARMS), (ALARMS, TOPIC)),
)
"""What is drawn as an arrow."""
ACCOUNT = (
    "What the stack makes: queue, bus and API start the lanes; these run your functions, and use a table and a bucket; "
    "a schedule starts recovery; alarms go to a topic"
)


def pictures() -> dict[str, str]:
    """Each file's text."""
    return {
        "crash.svg": _side_by_side(),
        "crash-narrow.svg": _one_below_another(),
        "doors.svg": _doors(),
        "doors-narrow.svg": _doors_to_a_record_below(),
        "choices.svg": _choices(narrow=False),
        "choices-narrow.svg": _choices(narrow=True),
        "account.svg": _account(220, 48),
        "account-narrow.svg": _account(126, 10),
        "logo.svg": LOGO.read_text("utf-8"),
    }


def _side_by_side() -> str:
    width, height = WIDE
    parts = []
    for n, frame in enumerate(FRAMES):
        x = EDGE + n * (width + 24)
        parts.append(_number(n, x, 16, frame.title))
        for row, box in enumerate((frame.lock, frame.run, frame.provider)):
            parts.append(_box(box, x, HEAD + row * (height + GAP), WIDE))
        if frame.to:
            top = HEAD + height + GAP
            start, end = (top, top - GAP) if frame.to < 0 else (top + height, top + height + GAP)
            parts.append(_arrow(x + width / 2, start, x + width / 2, end))
    return _svg(CRASH, 2 * EDGE + 5 * width + 4 * 24, HEAD + 3 * height + 2 * GAP + EDGE, parts)


def _one_below_another() -> str:
    width, height = NARROW
    parts = []
    for n, frame in enumerate(FRAMES):
        y = 10 + n * (height + 40)
        parts.append(_number(n, EDGE, y + 2, frame.title))
        for column, box in enumerate((frame.lock, frame.run, frame.provider)):
            parts.append(_box(box, EDGE + column * (width + BETWEEN), y + 28, NARROW))
        if frame.to:
            left, middle = EDGE + width + BETWEEN, y + 28 + height / 2
            start, end = (left, left - BETWEEN) if frame.to < 0 else (left + width, left + width + BETWEEN)
            parts.append(_arrow(start, middle, end, middle))
    return _svg(CRASH, 2 * EDGE + 3 * width + 2 * BETWEEN, 10 + 5 * (height + 40) - 4, parts)


def _doors() -> str:
    size, apart = (168, 46), 60
    second, third, top = EDGE + size[0] + 32, EDGE + 2 * size[0] + 74, 36
    heads = ((EDGE, "comes in by"), (second, "takes the lock, runs"), (third, "keeps lock and answer"))
    parts = [_text(x, 22, words, "small") for x, words in heads]
    for row, (sender, lane) in enumerate(LANES):
        y = top + row * apart
        middle = y + size[1] / 2
        parts += [_box(sender, EDGE, y, size), _box(lane, second, y, size, "changed")]
        parts.append(_arrow(EDGE + size[0], middle, second, middle))
        parts.append(_arrow(second + size[0], middle, third, top + apart + size[1] / 2 + (row - 1) * 16))
    parts.append(_box(Box("One record", "of each key"), third, top + apart - 10, (132, 66), "good"))
    parts.append(
        _text(third, 184, "A sweep and the full", "small") + _text(third, 200, "lane finish the rest.", "small")
    )
    return _svg(DOORS, third + 132 + 2 * EDGE, 218, parts)


def _doors_to_a_record_below() -> str:
    size, of_lane, apart, top = (154, 46), (158, 46), 58, 36
    second, below = EDGE + size[0] + 16, top + len(LANES) * apart + 6
    edge, end = second + of_lane[0], below + size[1] / 2
    parts = [_text(EDGE, 22, "comes in by", "small"), _text(second, 22, "takes the lock, runs", "small")]
    for row, (sender, lane) in enumerate(LANES):
        y = top + row * apart
        middle = y + size[1] / 2
        parts += [_box(sender, EDGE, y, size), _box(lane, second, y, of_lane, "changed")]
        parts += [_arrow(EDGE + size[0], middle, second, middle), _line(edge, middle, edge + 14, middle)]
    parts += [_line(edge + 14, top + size[1] / 2, edge + 14, end), _arrow(edge + 14, end, edge, end)]
    parts.append(_box(Box("One record", "has lock and answer"), second, below, of_lane, "good"))
    parts += [
        _text(EDGE, below + 20, "A sweep and the full", "small"),
        _text(EDGE, below + 36, "lane finish the rest.", "small"),
    ]
    return _svg(DOORS, edge + 14 + EDGE, below + size[1] + EDGE, parts)


def _choices(narrow: bool) -> str:
    """All beside each other, or one below another along a line."""
    size, indent, beside, apart = ((312, 92), 28, 0, (0, 152)) if narrow else ((196, 92), 0, 26, (212, 0))
    last = len(CHOICES) - 1
    across = last * apart[0] + indent + size[0]
    parts = [_box(QUARANTINED, EDGE, EDGE, (across, 50))]
    for n, choice in enumerate(CHOICES):
        x, y = EDGE + indent + n * apart[0], EDGE + 50 + n * apart[1]
        parts += [_text(x + beside, y + 23, choice.found, "head"), _text(x + beside, y + 41, choice.command, "small")]
        parts.append(_box(choice.then, x, y + 52, size))
        parts.append(_arrow(EDGE + 12, y + 98, x, y + 98) if narrow else _arrow(x + 13, y, x + 13, y + 52))
    if narrow:
        parts.append(_line(EDGE + 12, EDGE + 50, EDGE + 12, y + 98))
    return _svg(QUARANTINE, 2 * EDGE + across, y + 52 + size[1] + EDGE, parts)


def _account(width: int, between: int) -> str:
    height, apart = 46, 76
    left = {part: EDGE + part.column * (width + between) for pair in USES for part in pair}
    wide = {part: part.columns * (width + between) - between for part in left}
    parts = [_line(left[FUNCTIONS] + width / 2, EDGE + 2 * apart - 20, left[BUCKET] + width / 2, EDGE + 2 * apart - 20)]
    for part in left:
        switched = part is not FUNCTIONS and "Condition" in all_resources()[part.resources[0]]
        box = Box(part.title, part.below, "maybe" if switched else part.kind)
        parts.append(_box(box, left[part], EDGE + part.row * apart, (wide[part], height)))
    for part, used in USES:
        top, below = (EDGE + each.row * apart for each in (part, used))
        if top == below:
            forth = left[part] < left[used]
            ends = (left[part] + wide[part] * forth, left[used] + wide[used] * (not forth))
            parts.append(_arrow(ends[0], top + height / 2, ends[1], top + height / 2))
        else:
            middle = left[min(part, used, key=lambda each: each.columns)] + width / 2
            ends = (top + height, below) if top < below else (top, below + height)
            parts.append(_arrow(middle, ends[0], middle, ends[1]))
    bottom = EDGE + 5 * apart
    parts.append(_text(EDGE, bottom - 6, "Blue is yours. A parameter leaves out what is dashed.", "small"))
    return _svg(ACCOUNT, 2 * EDGE + 3 * width + 2 * between, bottom + 6, list(dict.fromkeys(parts)))


def _number(n: int, x: float, y: float, title: str) -> str:
    circle = f'<circle cx="{x + 10:.0f}" cy="{y + 8:.0f}" r="10"/>' + _text(x + 10, y + 12.5, str(n + 1))
    return f'<g class="number">{circle}</g>' + _text(x + 27, y + 12.5, title, "head")


def _box(box: Box, x: float, y: float, size: tuple[int, int], kind: str = "") -> str:
    width, height = size
    drawn = f'<rect class="box" x="{x:.0f}" y="{y:.0f}" width="{width}" height="{height}" rx="8"/>'
    lines = box.below.split("\n")
    first = y + height / 2 + 5 - 9 * len(lines)
    words = _text(x + 9, first, box.title, "head")
    words += "".join(_text(x + 9, first + 18 * n, line, "small") for n, line in enumerate(lines, 1))
    return f'<g class="{box.kind or kind}">{drawn}{words}</g>'


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(words)}</text>'


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """With its tip at the second point; the line ends in the middle of the tip."""
    far = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
    ahead, aside = ((to_x - x) / far, (to_y - y) / far), (-(to_y - y) / far, (to_x - x) / far)
    corners = [
        (to_x, to_y),
        *((to_x - 9 * ahead[0] + s * aside[0], to_y - 9 * ahead[1] + s * aside[1]) for s in (-5, 5)),
    ]
    tip = " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)
    end = (to_x - 6 * ahead[0], to_y - 6 * ahead[1])
    return f'{_line(x, y, *end)}<polygon class="tip" points="{tip}"/>'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path class="line" d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"/>'


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="t">',
        f'<title id="t">{escape(title)}</title><style>{STYLE}</style>',
        f'<rect class="paper" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
