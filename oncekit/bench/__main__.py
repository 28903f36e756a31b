"""Prints both tables as Markdown: `python -m oncekit.bench`."""

from __future__ import annotations

from pathlib import Path

from oncekit.bench.cost.table import Costs
from oncekit.bench.scale import scale_table
from oncekit.local.once_cloud import LocalCloud

ROOT = Path(__file__).parents[2]


def main() -> None:
    with LocalCloud(ROOT / "template.yaml", events=False) as cloud:
        costs = Costs(cloud)
        print(f"cost\n\n{costs.markdown()}\n\nscale\n\n{scale_table(cloud, costs)}")


if __name__ == "__main__":
    main()
