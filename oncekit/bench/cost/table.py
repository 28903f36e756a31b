"""The table of costs, as Markdown for docs/cost.md."""

from __future__ import annotations

from collections.abc import Iterator

from oncekit.bench.cost.counting import Cost
from oncekit.bench.cost.measuring import Bench
from oncekit.bench.cost.paths import paths
from oncekit.local.once_cloud import LocalCloud

COLUMNS = (
    "lane", "path", "starts", "transitions", "GB-s", "WRU", "RRU", "Lambda", "S3",
    "log bytes", "traces", "$ a million",
)  # fmt: skip


class Costs:
    """What all paths cost."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.paths = paths(Bench(cloud))

    def rows(self) -> Iterator[tuple[str, ...]]:
        return (self._row(path.lane, path.name, path.cost) for path in self.paths)

    def markdown(self) -> str:
        """The table as it is in docs/cost.md."""
        lines = [COLUMNS, ("---",) * len(COLUMNS), *self.rows()]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def of(self, lane: str, name: str) -> Cost:
        """What a path costs in a lane."""
        return next(each.cost for each in self.paths if (each.lane, each.name) == (lane, name))

    def _row(self, lane: str, name: str, cost: Cost) -> tuple[str, ...]:
        numbers = (
            cost.starts,
            cost.transitions,
            f"{cost.gigabyte_seconds:.3f}" if cost.gigabyte_seconds else 0,
            cost.write_units,
            cost.read_units,
            cost.invocations,
            cost.puts + cost.gets,
            cost.log_bytes,
            cost.traces,
            f"{cost.dollars_per_million:.2f}",
        )
        return (lane, name, *map(str, numbers))
