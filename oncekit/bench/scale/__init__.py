"""Requests a second that each lane carries, simulated with AWS's published quotas as token buckets.

quotas.py      AWS's default quotas, with their sources
demand.py      what requests take of them, counted from runs of the local cloud
simulation.py  token buckets, and requests that take from them and come again
scenarios.py   what is asked of the simulation
report.py      the tables of docs/scale.md
"""
