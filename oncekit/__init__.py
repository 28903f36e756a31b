"""Once on this machine: nothing in here is deployed.

application.py   where the application is that people install with the command
local/   the local cloud: runs a SAM template, unchanged
cli/     the `once` command
promises/   the rules that hold the promises against what happened
testing/ the test kit: a pytest plugin
proof/   breaks what can break, and holds every promise against what comes of it
gate/    our own checks of the definitions and the template
bench/   counts and times what each path costs
"""
