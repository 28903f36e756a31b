"""What the local cloud replaces inside other packages is what it says, no more and no less."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType

import pytest

from oncekit.local import LocalCloud
from oncekit.local.changed_packages import REPLACED, wrong_package

pytestmark = pytest.mark.ours

CODE = (FunctionType, type, property, staticmethod, classmethod)


def test_nothing_else_is_replaced_inside_a_package_and_nothing_stays_so() -> None:
    """In a process of its own, for in this one a cloud may be open."""
    told = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True).stdout
    during, after = told.splitlines()
    assert sorted(during.split()) == sorted(f"{each.owner}.{each.name}" for each in REPLACED)
    assert after == ""


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        (
            "5.1.20",
            "moto 5.1.20 is installed, with which the local cloud was not tried: pip install 'moto>=5.1.21,<6'",
        ),
        ("5.1.21", None),
        ("5.10.0", None),
        (
            "6.0.0",
            "moto 6.0.0 is installed, with which the local cloud was not tried: pip install 'moto>=5.1.21,<6'",
        ),
    ],
)
def test_a_moto_of_another_version_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, installed: str, said: str | None
) -> None:
    monkeypatch.setattr(
        "oncekit.local.changed_packages.version", lambda package: installed if package == "moto" else "0.7.1"
    )
    assert wrong_package() == said


def code_of_the_packages() -> dict[str, object]:
    """Functions and classes, and those in classes, by the names that `Replaced` gives them."""
    found: dict[str, object] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("moto", "airspeed"):
            for attribute, value in list(vars(module).items()):
                found[f"{name}.{attribute}"] = value
                if isinstance(value, type) and value.__module__ == name:
                    found |= {f"{name}:{attribute}.{each}": member for each, member in list(vars(value).items())}
    return {name: value for name, value in found.items() if isinstance(value, CODE)}


def differing(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    return " ".join(name for name in {**before, **now} if before.get(name) is not now.get(name))


class Looks:
    """Looks when a template calls it."""

    def at(self) -> str:
        self.seen = code_of_the_packages()
        return ""


def look() -> None:
    from oncekit.local.gateway import velocity

    def opened() -> Mapping[str, object]:
        looks = Looks()
        with LocalCloud(Path("template.yaml"), events=False):
            velocity.render("$looks.at()", {"looks": looks})
        return looks.seen

    opened()  # all is imported
    before = code_of_the_packages()
    print(differing(before, opened()))
    print(differing(before, code_of_the_packages()))


if __name__ == "__main__":
    look()
