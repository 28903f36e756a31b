"""Makes a part of a release, or looks at all of it: `python -m oncekit.release bundle|sums|check`."""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

from oncekit.problem import Problem
from oncekit.release import bundle, check

ROOT = Path(__file__).parents[2]


def version() -> str:
    """The one that is going to be released: that of pyproject.toml, whatever is installed here."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def main() -> int:
    """Make a part of a release, or look at all of it. Exits with 1 if something is wrong with it."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.release", description=main.__doc__)
    parser.add_argument("part", choices=("bundle", "sums", "check"))
    parser.add_argument("folder", type=Path, help="where the release is")
    parser.add_argument("--built", type=Path, help="of a bundle: what `sam build` made")
    parser.add_argument("--architecture", choices=bundle.ARCHITECTURES, help="of a bundle")
    parser.add_argument("--tag", default="", help="that the release is for: v, and the version")
    given = parser.parse_args()
    try:
        if given.part == "bundle":
            print(bundle.make(given.built, ROOT, given.folder, version(), given.architecture).name)
        elif given.part == "sums":
            (given.folder / check.SUMS).write_text(check.sums(given.folder))
        else:
            for line in check.release(ROOT, given.folder, version(), given.tag):
                print(f"✓ {line}", flush=True)
    except Problem as problem:
        print(f"✗ {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
