"""Prints what was asked for, all by default, as Markdown: `python -m oncekit.bench [--only PART]...`."""

from __future__ import annotations

import argparse
from pathlib import Path

from oncekit.bench.cost.table import Costs
from oncekit.bench.scale import scale_table
from oncekit.bench.speed import speed_lines
from oncekit.local.once_cloud import LocalCloud

ROOT = Path(__file__).parents[2]
PARTS = ("cost", "scale", "speed")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m oncekit.bench")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given again")
    parts = parser.parse_args().only or PARTS
    with LocalCloud(ROOT / "template.yaml", events=False) as cloud:
        if "cost" in parts or "scale" in parts:
            costs = Costs(cloud)
        if "cost" in parts:
            print(f"cost\n\n{costs.markdown()}\n")
        if "scale" in parts:
            print(f"scale\n\n{scale_table(cloud, costs)}\n")
        if "speed" in parts:
            print("\n".join(speed_lines(cloud)))


if __name__ == "__main__":
    main()
