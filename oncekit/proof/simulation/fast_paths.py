"""The paths of the crash matrix in the fast lane, and in both lanes on the same ids; and all paths there are."""

from __future__ import annotations

from dataclasses import replace

from oncekit.proof.simulation import paths
from oncekit.proof.simulation.paths import (
    CAREFUL,
    DEATHS,
    FAILS_ONCE,
    LARGE,
    ORDER,
    REPORT,
    SLOW,
    STEPS,
    Path,
    charge,
    hard,
    request,
)

UNREADABLE = request("hard-work", {"script": ["ok"], "_jsonata_lambda": True})
"""No expression can look at it."""
SLOW_AND_WAITED_FOR = hard("slow", onConflict="wait")
ENDS_EARLY = (*DEATHS, "hangs to its end", "slow", "answer lost", "never arrives")
IN_THE_END = (*ENDS_EARLY, "the other lane", "arrives late")


def _fast(path: Path) -> Path:
    return replace(path, lane="fast", lane_before="fast")


ALONE: tuple[Path, ...] = (
    Path("fast: new", (charge(),), enduring=True, joined=True),
    Path("fast: new, large request", (LARGE,), enduring=True),
    Path("fast: new, plain, large result", (request("plain-work", {"return": "x" * 6000}),)),
    Path("fast: new, quarantine", (CAREFUL,), joined=True),
    Path("fast: fenced steps", (STEPS,)),
    Path("fast: replay", (charge(),), before=(charge(),)),
    Path("fast: permanent error", (hard("PermanentError"),), ends=("FAILED",), enduring=True),
    Path("fast: retry, then success", (hard("error", "ok"),)),
    Path("fast: attempts used up", (hard("error"),), ends=("QUARANTINED",), operated=True, faults=IN_THE_END),
    Path("fast: function is gone", (request("gone-work", {}),), ends=("QUARANTINED",), faults=ENDS_EARLY),
    Path("fast: failed, tried again", (FAILS_ONCE,), before=(FAILS_ONCE,)),
    Path("fast: refused", (request("charge-payment", {}, idempotencyKey=""),), ends=(), enduring=True),
    Path("fast: unreadable", (UNREADABLE,), ends=()),
    Path("fast: operation for the full lane", (ORDER,), joined=True, operated=True),
    Path("fast: operation for the full lane, waited for", ({**ORDER, "onConflict": "wait"},)),
    Path("fast: no time left", (charge(),), throttled=200.0, joined=True, operated=True),
    Path("fast: no time left, quarantine", (CAREFUL,), throttled=200.0, faults=ENDS_EARLY),
    Path("fast: duplicate of a dead owner", (charge(),), before=(charge(),), dead="ExecuteBusinessLogic"),
    Path("fast: recovered", (LARGE,), killed="Finalize"),
    Path("fast: recovered, quarantine", (CAREFUL,), killed="Finalize", ends=("QUARANTINED",), faults=ENDS_EARLY),
)
TWICE: tuple[Path, ...] = (
    Path("fast: twice at once", (charge(),), background="fast twice"),
    Path("fast: twice, the second soon", (SLOW_AND_WAITED_FOR,), background="fast soon", faults=ENDS_EARLY),
    Path("fast: twice, the second late", (LARGE,), background="fast late", killed="Finalize", faults=ENDS_EARLY),
    Path("fast: twice at once, for the full lane", (ORDER,), background="fast twice", faults=ENDS_EARLY),
    Path("fast: twice at once, no time left", (charge(),), throttled=200.0, background="fast twice", faults=ENDS_EARLY),
    Path(
        "fast: twice, the second late, failed", (FAILS_ONCE,), ends=("FAILED",), background="fast late", faults=DEATHS
    ),
)
MIXED: tuple[Path, ...] = (
    Path("mixed: in progress, acknowledge", (SLOW, SLOW), apart=3, lane="mixed"),
    Path("mixed: in progress, wait", (SLOW, SLOW_AND_WAITED_FOR), apart=3, lane="mixed"),
    Path("mixed: fast duplicate of a full owner", (REPORT,), before=(REPORT,), lane="fast"),
    Path("mixed: fast duplicate of a dead full owner", (charge(),), (charge(),), dead="Finalize", lane="fast"),
    Path(
        "mixed: full duplicate of a dead fast owner",
        (charge(),),
        before=(charge(),),
        dead="ExecuteBusinessLogic",
        lane_before="fast",
        enduring=True,
    ),
    Path(
        "mixed: two duplicates of a dead fast owner",
        (charge(), charge()),
        before=(charge(),),
        dead="ExecuteBusinessLogic",
        lane="mixed",
        lane_before="fast",
        faults=ENDS_EARLY,
    ),
    Path("mixed: in progress for long", (SLOW, SLOW), apart=150, lane="mixed", faults=ENDS_EARLY),
    Path("mixed: failed in one, tried again in the other", (FAILS_ONCE,), before=(FAILS_ONCE,), lane="fast"),
    Path("mixed: mismatch", (charge(1),), before=(charge(),), lane="fast"),
)
FAST_PATHS = (*map(_fast, ALONE + TWICE), *MIXED)
PATHS = (*paths.PATHS, *FAST_PATHS)
