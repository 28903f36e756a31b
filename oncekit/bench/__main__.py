"""Prints what was asked for, all by default, as Markdown: `python -m oncekit.bench [--only PART]...`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from oncekit.bench.cost.table import Costs
from oncekit.bench.http_speed import http_speed_lines
from oncekit.bench.scale.demand import demand
from oncekit.bench.scale.report import tables
from oncekit.bench.speed import speed_lines
from oncekit.local.once_cloud import LocalCloud

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "bench.json"
PARTS = ("cost", "scale", "speed", "http")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m oncekit.bench")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given again")
    parts = parser.parse_args().only or PARTS
    with LocalCloud(ROOT / "template.yaml", events=False) as cloud:
        if "cost" in parts:
            _cost(cloud)
        if "scale" in parts:
            for name, table in tables(demand(cloud)).items():
                print(f"{name}\n\n{table}\n")
        if "speed" in parts:
            print("\n".join(speed_lines(cloud)))
        if "http" in parts:
            print("\n".join(http_speed_lines(cloud)))


def _cost(cloud: LocalCloud) -> None:
    costs = Costs(cloud)
    print(f"cost\n\n{costs.markdown()}\n")
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(costs.as_json(), indent=2) + "\n", encoding="utf-8")
    print(f"kept in {KEPT.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
