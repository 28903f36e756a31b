"""Once on this machine: nothing in here is deployed.

local/   the local cloud: runs a SAM template, unchanged
cli/     the `once` command
proof/   breaks what can break, and holds every promise against what comes of it
gate/    our own checks of the definitions and the template
bench/   counts and times what each path costs
"""
