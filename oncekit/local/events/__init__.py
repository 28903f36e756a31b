"""Events: what the local cloud delivers from one service to another, as EventBridge and its relatives do.

    status.py       the event of an execution that began to run or ended
    patterns.py     event patterns: which events a rule or a filter is for
    paths.py        JSON paths, as far as EventBridge has them
    templates.py    inputs made of an event: Input, InputPath, InputTransformer, InputTemplate
    deliveries.py   what was delivered, and what can happen to a delivery
    delivery_queue.py  the thread that delivers; time stands still meanwhile
    targets.py      starts executions and sends messages
    attempts.py     tries a delivery again, and puts it into a dead-letter queue
    rules.py        rules on moto's event buses
    schedules.py    schedules with a rate
    queues.py       queues in the clock's time
    pipes.py        pipes from a queue to a state machine
    exchange.py     all of them together, as deployed

Where AWS says nothing, or was not asked, the module says what is assumed here.
"""

from __future__ import annotations

from oncekit.local.events.deliveries import Delivery, Fate, late, lost, twice

__all__ = ["Delivery", "Fate", "late", "lost", "twice"]
