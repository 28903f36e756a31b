"""The list of mutants does not rot: each text is there once, each test exists, and nothing has two names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from proof.mutants import ROOT, Rotten, exists, mutated
from proof.mutants_list import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_changes_its_file(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()
    assert mutated(mutant, text) != text


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_tests_that_should_catch_it_exist(mutant: Mutant) -> None:
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert exists(test), test
        if name and (ROOT / file).is_file():
            assert f"def {name.partition('[')[0].rpartition('::')[2]}(" in (ROOT / file).read_text(), test


def test_every_mutant_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []


def test_text_that_is_not_there_once_is_refused() -> None:
    for text in ("nothing of it", "here and here"):
        with pytest.raises(Rotten, match="times"):
            mutated(Mutant("m", str(Path("f")), (("here", "there"),), ()), text)
