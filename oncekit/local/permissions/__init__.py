"""Permissions: checks calls of functions, state machines, rules, pipes and schedules against their roles' policies.

    policies.py     a role's policies as the template deploys them, and what they allow, also under a condition
    needs.py        the actions and resources that a call needs
    guard.py        allows or refuses a call, and remembers both
    http.py         calls that come over HTTP, from functions

Calls under a role that the template does not define are not checked, and neither are callers without a role: people
with `aws`, tests, functions that tests add. Calls under a role that a function has assumed are checked against that
role. Policies of resources (queues, buckets, keys), permission boundaries and policies of an organisation are not
evaluated. If the resource of a call is unknown, only its action is checked. A condition that cannot be evaluated here
counts as met in an Allow, and as not met in a Deny.
"""

from __future__ import annotations

from oncekit.local.permissions.guard import ANYTHING, Caller, Denial, Permissions

__all__ = ["ANYTHING", "Caller", "Denial", "Permissions"]
