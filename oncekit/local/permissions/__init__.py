"""Permissions: calls of functions, state machines, rules, pipes and schedules are held against their roles' policies.

    policies.py     a role's policies as the template deploys them, and what they allow
    conditions.py   conditions of statements, as far as they can be told here
    managed.py      policies that AWS manages
    needs.py        the actions and resources that a call needs
    guard.py        lets a call pass or refuses it, and remembers both
    http.py         calls that come over HTTP, from functions

A role that the template does not make is not held to anything, and neither is who has none: people with `aws`, tests,
functions that tests add. Calls under a role that a function has assumed are held to that role. Policies of resources
(queues, buckets, keys), permission boundaries and policies of an organisation are not looked at. Where nobody here
knows which resource a call is about, its action alone is held against the policies. A condition that cannot be told
here counts as met where it allows, and as not met where it denies.
"""

from __future__ import annotations

from oncekit.local.permissions.guard import ANYTHING, Caller, Denial, Guard, Permissions, Unrestricted

__all__ = ["ANYTHING", "Caller", "Denial", "Guard", "Permissions", "Unrestricted"]
