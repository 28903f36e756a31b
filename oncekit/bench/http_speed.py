"""How long a request by HTTP takes here, and how many a second: as ratios to a direct start in the same run."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from oncekit.bench.cost.by_http import Sender
from oncekit.bench.cost.measuring import Bench
from oncekit.bench.cost.paths import work
from oncekit.local.once_cloud import LocalCloud

REQUESTS = 100
AT_ONCE = 10

Ask = Callable[[str], object]
"""Sends the request with this key, and waits for the answer."""


def http_speed_lines(cloud: LocalCloud) -> Iterator[str]:
    """What was measured, as lines for people."""
    bench = Bench(cloud)
    sender = Sender(bench)
    # Time is virtual here: it stands still while requests come, and no token comes back.
    with cloud.deployed_with({"HttpRequestsPerSecond": "10000"}):
        for kind, name in (("new", "a new request"), ("old", "a duplicate")):
            direct = _taken(lambda key: bench.run("fast", work(key)), f"direct-{kind}", kind == "old")
            by_http = _taken(sender.post, f"http-{kind}", kind == "old")
            one, many = (ours / theirs for ours, theirs in zip(by_http, direct, strict=True))
            yield (
                f"HTTP API: {name} takes {one:.2f} of the time of a direct start in the fast lane "
                f"({by_http[0] * 1000:.0f} ms), {AT_ONCE} at once {many:.2f} ({1 / by_http[1]:.0f} a second)"
            )


def _taken(ask: Ask, name: str, again: bool) -> tuple[float, float]:
    """The median seconds of one request, and the mean of one when many are sent at once; `again` sends one key only."""
    keys = [name if again else f"{name}-{number}" for number in range(2 * REQUESTS)]
    ask(keys[0] if again else f"{name}-first")
    alone = [_seconds(functools.partial(ask, key)) for key in keys[:REQUESTS]]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        together = _seconds(lambda: list(pool.map(ask, keys[REQUESTS:])))
    return statistics.median(alone), together / REQUESTS


def _seconds(done: Callable[[], object]) -> float:
    began = time.perf_counter()
    done()
    return time.perf_counter() - began
