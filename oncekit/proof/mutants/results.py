"""What became of each mutant: kept as JSON, so that a run can go on where another one ended, and told as a table."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from oncekit.proof.mutants.mutant import Mutant

OUTCOMES = ("killed", "survived", "timed out", "stillborn", "doubtful")


@dataclass(frozen=True)
class Result:
    """`by` is the test that killed it, that it hung in, or the check that refused it; `change` tells edits apart."""

    name: str
    kind: str
    outcome: str
    by: str
    why: str
    seconds: float
    cpu: float
    """Seconds of the worker; `seconds` are the clock's."""
    change: str


def change_of(mutant: Mutant) -> str:
    """The same for the same edits."""
    return hashlib.sha256(repr(mutant.edits).encode()).hexdigest()[:12]


class Results:
    """The results in a file, by the mutants' names."""

    def __init__(self, file: Path) -> None:
        self._file = file
        kept = json.loads(file.read_text()) if file.exists() else {"mutants": []}
        self._found = {each["name"]: Result(**each) for each in kept["mutants"]}

    def of(self, mutant: Mutant) -> Result | None:
        """What is known of it, unless it has changed since."""
        known = self._found.get(mutant.name)
        return known if known is not None and known.change == change_of(mutant) else None

    def add(self, result: Result) -> None:
        self._found[result.name] = result

    def save(self, seconds: float) -> None:
        """Write everything that is known."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        found = [asdict(self._found[name]) for name in sorted(self._found)]
        text = json.dumps({"counts": dict(_counts(found)), "seconds": round(seconds), "mutants": found}, indent=1)
        half = self._file.with_suffix(".half")
        half.write_text(text)
        half.replace(self._file)


def _counts(found: Iterable[Mapping[str, object]]) -> Counter[str]:
    return Counter(str(each["outcome"]) for each in found)


def share_killed(results: Iterable[Result], excused: Mapping[str, str]) -> float:
    """Percent of those that were judged and are not excused; 0 of none, for then nothing was seen."""
    judged = [each for each in results if each.outcome in ("killed", "survived") and each.name not in excused]
    return 100 * sum(each.outcome == "killed" for each in judged) / len(judged) if judged else 0.0


def table(results: Iterable[Result], excused: Mapping[str, str]) -> str:
    """Counts by kind; the share of killed ones among those that were judged, excused or not."""
    rows: dict[str, Counter[str]] = {}
    for result in results:
        outcome = "excused" if result.outcome == "survived" and result.name in excused else result.outcome
        for row in (result.kind, "all"):
            rows.setdefault(row, Counter())[outcome] += 1
    columns = ("killed", "survived", "excused", "timed out", "stillborn", "doubtful")
    lines = [f"{'kind':20} {'made':>6} " + " ".join(f"{column:>9}" for column in columns) + "  of judged"]
    for name in sorted(rows, key=lambda each: (each == "all", each)):
        counts = rows[name]
        judged = counts["killed"] + counts["survived"] + counts["excused"]
        share = f"{100 * counts['killed'] / judged:5.1f} %" if judged else "-"
        numbers = " ".join(f"{counts[column]:>9}" for column in columns)
        lines.append(f"{name:20} {sum(counts.values()):>6} {numbers}  {share:>9}")
    return "\n".join(lines)
