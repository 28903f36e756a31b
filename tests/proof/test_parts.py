"""The command of the proof: what its parts find decides how it ends."""

from __future__ import annotations

import pytest

from oncekit.proof import __main__ as command


@pytest.mark.parametrize(("arguments", "passed"), [(("--version",), True), (("--no-such-option",), False)])
def test_a_part_that_fails_is_named_and_decides_the_end(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], passed: bool
) -> None:
    monkeypatch.setattr(command, "TESTS", arguments)
    assert command.main(["--only", "tests"]) == int(not passed)
    assert ("✓ tests" if passed else "✗ failed: tests") in capfd.readouterr().out
