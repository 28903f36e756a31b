"""Business logic for the proof, and what it has done to the world: effects that can be counted.

charge-payment, place-order, build-report   the real samples
plain-work       knows nothing of Once; writes its effect under the provider's key
hard-work        does what its payload's `script` says for each attempt or fence, after a write under a provider's key
stepwise         two fenced steps, each of which adds one to a counter
elsewhere        starts work under its name, or finds it, which says what its payload's `says` has, seconds later
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from oncekit.local import LocalCloud
from oncekit.local.patching import replaced
from oncekit.promises.journal import Actor, Fault, Item, rows_of
from oncekit.proof.simulation.functions import Died, Functions
from oncekit.proof.simulation.scheduler import Scheduler

OPERATIONS = ("plain-work", "hard-work", "stepwise", "elsewhere")
WORKERS = 3
"""How often the work elsewhere is begun, if it dies before it has said what it has to say."""


class Business:
    """The functions that are not in the template, and the books."""

    def __init__(self, cloud: LocalCloud, scheduler: Scheduler, functions: Functions) -> None:
        self._cloud, self._scheduler, self._functions = cloud, scheduler, functions
        self.handlers: dict[str, Callable[[Any, Any], Any]] = {"plain-work": self._plain}
        self.keys: dict[str, Counter[str]] = {}
        """By id: how often which key was handed to a provider outside."""
        self.work: set[str] = set()
        """Names of all work that was started elsewhere."""
        from once import operation

        for name, logic in (("hard-work", self._hard), ("stepwise", self._stepwise), ("elsewhere", self._elsewhere)):
            self.handlers[name] = operation(name=name)(logic)

    def clear(self) -> None:
        self.keys.clear()
        self.work.clear()

    def _provider(self, id: str, key: str) -> None:
        """A call to a system outside: it may die before and after it like any other."""
        self._functions.call("provider", lambda: self.keys.setdefault(id, Counter()).update([key]))

    def _plain(self, event: dict[str, Any], _context: object) -> Any:
        self._provider(event["lock"]["id"], hashlib.sha256(event["lock"]["id"].encode()).hexdigest())
        return event["payload"].get("return", {"done": True})

    def _hard(self, request: Any) -> Any:
        from once import LockLostError, NeedsAttention, PermanentError

        script = request.payload["script"]
        turn = request.lock.fence if request.payload.get("by") == "fence" else request.attempt
        what = script[min(turn, len(script)) - 1]
        if what == "dies before":
            raise Died
        self._provider(request.id, request.provider_key("work"))
        if what == "dies after":
            raise Died
        if what in ("PermanentError", "NeedsAttention", "LockLostError"):
            raise {"PermanentError": PermanentError, "NeedsAttention": NeedsAttention, "LockLostError": LockLostError}[
                what
            ]("as the script says")
        if what == "slow":
            self._scheduler.sleep(20)
        if what == "error":
            raise RuntimeError("as the script says")
        return {"attempt": request.attempt, "return": what}

    def _stepwise(self, request: Any) -> Any:
        table = self._cloud.resources["StockTable"]

        def count(name: str) -> Callable[[Any], Any]:
            def write(step: Any) -> Any:
                key = {"sku": f"{request.id}/{name}"}
                step.update(
                    table, key, "SET available = if_not_exists(available, :none) + :one", {":none": 0, ":one": 1}
                )
                return {"step": name, "fence": request.lock.fence}

            return write

        return [request.step(name, count(name)) for name in ("first", "second")]

    def _elsewhere(self, request: Any) -> Any:
        self._provider(request.id, request.provider_key("work"))
        if request.work_name not in self.work:
            self.work.add(request.work_name)
            for number, said in enumerate(request.payload["says"]):
                self._scheduler.spawn(partial(self._say, number, request.ticket, *said), "work elsewhere")
        self._scheduler.sleep(request.payload.get("goesOn", 0))
        return request.pending(request.payload["seconds"])

    def _say(self, number: int, ticket: str, seconds: float, what: str) -> None:
        """`complete`, `fail` or `extend`; a worker that is not sure says it again."""
        import once
        from once.ticket import Ticket

        self._scheduler.sleep(seconds)
        says: dict[str, Callable[[], object]] = {
            "complete": lambda: once.complete(ticket, {"by": number}),
            "fail": lambda: once.fail(ticket, "as the script says"),
            "extend": lambda: once.extend(ticket, 300),
        }
        actor = Actor("ticket", Ticket.read(ticket).of)
        for _ in range(WORKERS):
            with suppress(Died, BotoCoreError, ClientError, once.TicketError):
                self._functions.elsewhere("work-elsewhere", actor, says[what])
                return
            self._scheduler.sleep(10)

    # ---- the results ----

    def faults(self) -> Iterator[Fault]:
        """P2: one effect for each step, one key for each call of a provider, one row in each book."""
        for id, keys in self.keys.items():
            if len(keys) > 1:
                yield Fault("P2", "twice", f"{id}: a provider was handed {len(keys)} keys")
        stock = {row["sku"]: int(row["available"]) for row in self._rows("StockTable")}
        for sku, count in stock.items():
            if "/" in sku and count != 1:
                yield Fault("P2", "twice", f"step {sku} took effect {count} times")
        yield from self._charge_faults()
        yield from self._order_faults(stock)

    def effects(self) -> int:
        """Calls of a provider under keys of their own, rows in the books, and each time that a step added one."""
        calls = sum(len(keys) for keys in self.keys.values())
        steps = sum(int(row["available"]) for row in self._rows("StockTable") if "/" in row["sku"])
        return calls + steps + len(self._rows("ProviderLedgerTable")) + len(self._rows("OrdersTable"))

    def _charge_faults(self) -> Iterator[Fault]:
        charged = Counter(row["orderId"] for row in self._rows("ProviderLedgerTable"))
        for order, count in charged.items():
            if count > 1:
                yield Fault("P2", "twice", f"order {order} was charged {count} times")

    def _order_faults(self, stock: dict[str, int]) -> Iterator[Fault]:
        orders = self._rows("OrdersTable")
        by_request = Counter(row["requestId"] for row in orders)
        yield from (Fault("P2", "twice", f"{id} made {n} orders") for id, n in by_request.items() if n > 1)
        taken: Counter[str] = Counter()
        for row in orders:
            for sku, quantity in row["items"].items():
                taken[sku] += int(quantity)
        for sku, left in stock.items():
            if "/" not in sku and left != 100 - taken[sku]:
                yield Fault("P2", "twice", f"{sku}: {left} left, but {taken[sku]} of 100 are ordered")

    def _rows(self, table: str) -> list[Item]:
        return rows_of(self._cloud, table)


@contextmanager
def pauses_in(scheduler: Scheduler) -> Iterator[None]:
    """The library's pauses pass in virtual time, and are as long as they can be."""
    from once import step_log

    patient = partial(step_log.StepLog, pause=scheduler.sleep, uniform=lambda _low, high: high)
    with replaced((step_log, "StepLog", patient)):
        yield
