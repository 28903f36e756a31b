"""The local cloud under faults that a plan or a seed decides, in virtual time."""
