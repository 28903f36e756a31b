"""AWS quotas that more than one module of this package uses."""

EXPRESS_SECONDS = 300
"""An Express execution lives no longer, whatever its machine says (quotas for state machine executions)."""

MOST_INLINE_BYTES = 4096
"""Of a record with its request or its answer in it, as the template has it: larger ones are in the bucket."""
