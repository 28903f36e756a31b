"""Events: deliveries from one service to another, as EventBridge, Pipes, Scheduler and SQS make them.

    patterns.py     event patterns: which events a rule accepts
    templates.py    paths into an event; Input, InputPath, InputTransformer, InputTemplate
    deliveries.py   deliveries as values, and what can happen to them
    delivery_queue.py  the thread that delivers; virtual time stands still while it works
    targets.py      starts executions, invokes functions and sends messages
    attempts.py     retries a delivery, and puts it into a dead-letter queue in the end
    rules.py        rules on moto's event buses
    expressions.py  schedule expressions: when the next turn is
    schedules.py    schedules, and rules with a schedule
    invocations.py  asynchronous invocations of functions, and their retries
    queues.py       queues in the clock's time
    pipes.py        pipes from a queue to a state machine
    mappings.py     event source mappings from a queue to a function
    streams.py      event source mappings from the stream of a table to a function
    topics.py       subscriptions of topics
    buckets.py      notifications of buckets
    exchange.py     all of them together, as deployed; what of a template is left out

Where AWS documents nothing, the module says what it assumes.
"""

from __future__ import annotations

from oncekit.local.events.deliveries import Delivery, Fate

__all__ = ["Delivery", "Fate"]
