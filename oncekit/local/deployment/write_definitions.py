"""Writes every definition of a template as JSON: `python -m oncekit.local.deployment.write_definitions --to FOLDER`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from oncekit.local.deployment.deploy import rendered_definitions


def main() -> None:
    """Write every definition of a template as JSON, substituted as the local cloud would: what `make lint` checks."""
    parser = argparse.ArgumentParser(
        prog="python -m oncekit.local.deployment.write_definitions", description=main.__doc__
    )
    parser.add_argument("--template", type=Path, default=Path("template.yaml"))
    parser.add_argument("--to", type=Path, required=True, help="the folder to write to")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    for name, rendered in rendered_definitions(arguments.template).items():
        (arguments.to / f"{name}.json").write_text(json.dumps(rendered, indent=2))


if __name__ == "__main__":
    main()
