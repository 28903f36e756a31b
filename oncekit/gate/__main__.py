"""Run every check and print one line for each finding."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from oncekit.gate.run import findings


def main() -> int:
    """Look for what no linter sees in the template's definitions. Exits with 1 when there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m oncekit.gate", description=main.__doc__)
    parser.add_argument("--template", type=Path, default=Path("template.yaml"))
    found = findings(parser.parse_args().template)
    for each in found:
        print(each)
    print(f"findings: {len(found)}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
