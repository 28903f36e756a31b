"""AWS quotas that more than one module of this package uses."""

EXPRESS_SECONDS = 300
"""An Express execution lives no longer, whatever its machine says (quotas for state machine executions)."""
