"""The `once` command."""
