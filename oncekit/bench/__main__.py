"""Prints both tables as Markdown: `python -m oncekit.bench`."""

from __future__ import annotations

from pathlib import Path

from oncekit.bench.cost.measuring import Bench
from oncekit.bench.cost.paths import measured
from oncekit.bench.cost.table import cost_table
from oncekit.bench.scale import scale_table
from oncekit.local.once_cloud import LocalCloud

ROOT = Path(__file__).parents[2]


def main() -> None:
    with LocalCloud(ROOT / "template.yaml", events=False) as cloud:
        costs = measured(Bench(cloud))
        print(f"cost\n\n{cost_table(costs)}\n\nscale\n\n{scale_table(costs)}")


if __name__ == "__main__":
    main()
