"""The table of costs, as Markdown for docs/cost.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from oncekit.bench.cost.paths import Costs

COLUMNS = (
    "lane", "path", "starts", "transitions", "GB-s", "WRU", "RRU", "Lambda", "S3",
    "log bytes", "traces", "$ a million",
)  # fmt: skip


def cost_table(costs: Costs) -> str:
    """The table as it is in docs/cost.md."""
    return table(COLUMNS, rows(costs))


def rows(costs: Costs) -> Iterator[tuple[str, ...]]:
    for (lane, name), cost in costs.items():
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
        yield (lane, name, *map(str, numbers))


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ("---",) * len(head), *lines))
