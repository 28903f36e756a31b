"""AWS's quotas that more than one part of this package holds."""

EXPRESS_SECONDS = 300
"""An Express execution lives no longer, whatever its machine says (quotas for state machine executions)."""
