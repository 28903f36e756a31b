"""The tests that judge a mutant, and which of them see one: those that visit what it changes, the cheapest first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from oncekit.proof.mutants.mutant import Mutant

_FOLDERS = ("tests/states", "tests/statemachine", "tests/scenarios", "tests/template")
_MODEL = ("tests/proof/test_conditions.py", "tests/proof/test_model.py")
OPERATORS = ("tests/cli/test_operators.py", "tests/cli/test_queues.py")
"""What operators do goes on in the definitions."""
PATHS = (*_FOLDERS, *_MODEL, "tests/gate/test_gate.py", *OPERATORS)
QUICK = ("tests/states", "tests/proof/test_conditions.py", "tests/template", "tests/gate/test_gate.py")
"""Most of what needs no deployment."""
READERS = ("tests/template/", "tests/gate/")
"""Tests that read the template itself, whatever an execution visits."""
_OF_HTTP = ("HttpTemplates", "HttpPages", "RequestApi")
"""Places of the template that only requests by HTTP meet."""
_BY_HTTP = "tests/statemachine/test_http_"
NO_JUDGES = {
    "tests/gate/test_gate.py::test_a_broken_variant": "replaces texts in the file, and fails when they are not there",
    "tests/gate/test_gate.py::test_the_command": "replaces texts in the file, and fails when they are not there",
    "tests/proof/test_model.py::test_model_goes_red": "replaces texts in the file, and fails when they are not there",
    "tests/template/test_permissions.py::test_every_wildcard": "looks for comments in the file",
    "tests/template/test_template.py::test_no_line_is": "looks at the lines of the file",
    "tests/template/test_template.py::test_another_architecture": "replaces texts in the file",
    "tests/template/test_rollout.py::test_a_function_that_a_user_adds": "replaces texts in the file",
}
"""What begins like this judges nothing, and why: a text that is compared with a text says nothing about behaviour."""
LONGEST = 12.0
"""Seconds of this process; a test that takes longer judges nothing, for every survivor would wait for it."""
PATIENCE = 90.0
"""Seconds of tests that one mutant gets; one that outlives them has survived."""


PATIENCE_WITH_CONTROLS = 4.0
"""Tests that look at texts are quick ones."""
_KIND = re.compile("(Alarm|Function|Policy|StateMachine|LogGroup)$")
"""Tests are called by what a resource is about, without what it is."""
_QUICK_MODELS = ("[large]", "[waiting]")


def judges(test: str) -> bool:
    """Of the model the settings that are explored in seconds, of all others those that no text is compared in."""
    if "test_every_promise_is_kept_and_an_end" in test:
        return test.endswith(_QUICK_MODELS)
    return not any(test.startswith(each) for each in NO_JUDGES)


@dataclass
class Suite:
    """The tests by what they visit and what they cost, and which have killed most at a place."""

    seconds: Mapping[str, float]
    visits: Mapping[str, frozenset[str]]
    deployed: frozenset[str] = frozenset()
    """Those that need the mutant deployed: they use the cloud of the session."""
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)

    def for_mutant(self, mutant: Mutant) -> list[str]:
        """The tests that can see it: those that killed others at the same place first, then those that look at that
        place by itself or are called by it, then the cheapest."""
        seeing = [test for test in self.seconds if self._sees(test, mutant) and self.seconds[test] <= LONGEST]
        alone, names = f"{mutant.place}*", (f"[{mutant.place}", f"[{_KIND.sub('', mutant.place)}]")
        seeing.sort(
            key=lambda test: (
                not any(name in test for name in names),
                alone not in self.visits[test],
                self._tier(test),
                test.partition("::")[0],
            )
        )
        killers = [test for test in self._killers(mutant.family) if test in seeing]
        seeing = [*killers, *(test for test in seeing if test not in killers)]
        return list(_within(seeing, self.seconds, PATIENCE_WITH_CONTROLS if mutant.kind == "control" else PATIENCE))

    def _tier(self, test: str) -> int:
        """Cheap, dearer, dear: within a tier the tests of a file follow each other, for they share what is set up."""
        return sum(self.seconds[test] > limit for limit in (0.2, 1.5))

    def _killers(self, family: str) -> list[str]:
        """The three that killed most of a family."""
        here = Counter({test: count for (whose, test), count in self.kills.items() if whose == family})
        return [test for test, _ in here.most_common(3)]

    def _sees(self, test: str, mutant: Mutant) -> bool:
        if mutant.file == "template.yaml":
            meeting = test.startswith(_BY_HTTP) if mutant.place in _OF_HTTP else test in self._cover
            return test.startswith(READERS) or meeting
        visits = self.visits[test]
        return bool(visits & {mutant.part, f"{mutant.place}*", "*"}) if mutant.part else bool(visits)

    @property
    def _cover(self) -> frozenset[str]:
        """The cheapest tests that together visit everything: what a changed template is held against."""
        if not hasattr(self, "_kept_cover"):
            self._kept_cover = frozenset(_smallest_cover(self.visits, self.seconds))
        return self._kept_cover

    def killed(self, mutant: Mutant, by: str) -> None:
        self.kills[mutant.family, by] += 1


def _within(tests: Iterable[str], seconds: Mapping[str, float], patience: float) -> Iterable[str]:
    spent = 0.0
    for test in tests:
        if (spent := spent + seconds[test]) > patience:
            return
        yield test


def _smallest_cover(visits: Mapping[str, frozenset[str]], seconds: Mapping[str, float]) -> Iterable[str]:
    left = set().union(*visits.values())
    while left:
        best = max(visits, key=lambda test: len(visits[test] & left) / (seconds[test] + 0.1))
        if not visits[best] & left:
            return
        left -= visits[best]
        yield best
