"""Commands that work on a deployed stack, or on the local cloud that `once up` keeps up."""
