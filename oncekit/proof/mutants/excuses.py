"""Mutants that may survive, one by one, each with the reason why no test can tell them from what is there.

An excuse that no surviving mutant needs is a finding.
"""

from __future__ import annotations

EXCUSES: dict[str, str] = {}
