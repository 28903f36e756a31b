"""The cloud of a test: the local cloud whose functions can be seen at work, with other systems and faults by name."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from oncekit.contract.items import plain_item
from oncekit.contract.lanes import FULL, Lane
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.clock import VirtualClock
from oncekit.local.events import rules
from oncekit.local.execution import Execution
from oncekit.local.lambda_runtime import languages
from oncekit.local.once_cloud import LocalCloud
from oncekit.local.patching import replaced
from oncekit.testing.outside import Outside
from oncekit.testing.watch import Watch

SWEEPS = 40
"""How many recovery periods pass before something counts as stuck."""
SWEEP_SECONDS = 61
OPEN = "IN_PROGRESS"
ENTRIES = {
    languages.PYTHON: "in_function.py",
    languages.NODE: "in_node.cjs",
    languages.PROVIDED: "in_bootstrap.py",
}
"""By language, what the kit starts a function's process with."""


Fault = Callable[["TestCloud"], AbstractContextManager[None]]
"""Is there while the context is open: see faults.py."""


class TestCloud(LocalCloud):
    """A LocalCloud in virtual time. `outside` is what functions reach by HTTP; `watch` has their calls."""

    __test__ = False  # of its name pytest would take it for tests

    def __init__(self, template: Path, parameters: Mapping[str, object] | None = None) -> None:
        super().__init__(template, parameters, clock=VirtualClock())
        self.watch = Watch(lambda function, event: self.operations.operations_of(function, event))
        self.outside = Outside(self.watch)
        self._own = ExitStack()
        self._own.callback(self.outside.close)

    def __enter__(self) -> Self:
        # What a function's process is started with; it goes on to the one that is replaced.
        self._entries = languages.ENTRIES
        ours = {name: Path(__file__).with_name(file) for name, file in ENTRIES.items()}
        self._own.enter_context(replaced((languages, "ENTRIES", {**self._entries, **ours})))
        try:
            return super().__enter__()
        except BaseException:
            self._own.close()
            raise

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._own.close()

    @property
    def environment(self) -> dict[str, str]:
        return {
            **super().environment,
            "ONCE_TESTING_OUTSIDE": self.outside.address,
            "ONCE_TESTING_ENTRY": str(self._entries[languages.PYTHON]),
            "ONCE_TESTING_NODE_ENTRY": str(self._entries[languages.NODE]),
            "ONCE_TESTING_BOOTSTRAP": str(self._entries[languages.PROVIDED]),
            "ONCE_TESTING_FOLDER": str(self._path.parent.resolve()),
        }

    def _watched(self, environ: Any, application: Any) -> Any:
        return self.watch.around(environ, application)

    def reset(self) -> None:
        super().reset()
        self.watch.clear()
        self.outside.clear()

    @contextmanager
    def for_one_test(self) -> Iterator[None]:
        """Empty, at a whole second. Raises Unanswered at the end for what nobody has answered until then."""
        self.reset()
        self.outside.forget()
        assert isinstance(self.clock, VirtualClock)
        self.clock.advance(math.ceil(self.clock.now()) - self.clock.now())
        yield
        self.outside.check()

    # ---- acts ----

    def wait(self, arn: str, timeout: float = 60) -> Execution:
        """As any cloud does. Raises Unanswered: see `outside.check`."""
        ended = super().wait(arn, timeout)
        self.outside.check()
        return ended

    def settle(self, timeout: float = 60) -> None:
        """As any cloud does. Raises Unanswered: see `outside.check`."""
        super().settle(timeout)
        self.outside.check()

    @contextmanager
    def fault(self, *faults: Fault) -> Iterator[None]:
        """Each fault happens once while the context is open, at its place.

        Raises NeverHappened for one that has not happened at its end.
        """
        with ExitStack() as stack:
            for each in faults:
                stack.enter_context(each(self))
            yield

    def finish(self, request: Any, lane: Lane = FULL) -> Execution:
        """Send a request, let recovery bring it to its end, and send it again: what the sender gets then."""
        self.start(request, lane=lane)
        self.recover()
        return self.run(request, lane=lane)

    def deliver(self, bus: str, event: Mapping[str, Any]) -> None:
        """Put an event on a bus, by its logical id or its name, with the id, time, account and region that it has.

        So it is one that EventBridge delivers again, or one of AWS's own; `put_events` makes another one of it.
        """
        made = {"version": "0", "id": str(uuid.uuid4()), "account": ACCOUNT, "region": REGION, "resources": []}
        rules.put(self.resources.get(bus, bus).rpartition("/")[2], {**made, "time": self.clock.now(), **event})

    def recover(self) -> None:
        """Let time pass until no record is in progress: recovery gets its turns. Raises TimeoutError when one stays."""
        self.settle()
        for _ in range(SWEEPS):
            if not self.open_records():
                return
            assert isinstance(self.clock, VirtualClock)
            self.clock.advance(SWEEP_SECONDS)
            self.settle()
        raise TimeoutError(f"after {SWEEPS} sweeps still in progress: {', '.join(self.open_records())}")

    # ---- what is there ----

    def open_records(self) -> list[str]:
        return [row["id"] for row in self.rows(self.once.outputs["TableName"]) if row["status"] == OPEN]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All items of a table, by its logical id or its name, as plain Python values."""
        name = self.resources.get(table, table)
        pages = self.client("dynamodb").get_paginator("scan").paginate(TableName=name, ConsistentRead=True)
        return [plain_item(item) for page in pages for item in page["Items"]]

    def put(self, table: str, *items: Mapping[str, Any]) -> None:
        """Write items of plain Python values into a table, by its logical id or its name."""
        from once.values import to_dynamodb

        for item in items:
            self.client("dynamodb").put_item(
                TableName=self.resources.get(table, table), Item=to_dynamodb(item, f"an item of {table}")
            )
