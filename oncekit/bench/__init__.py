"""`make bench`: what each path costs in either lane, and how many requests a second fit.

cost/    the cost of each path, counted from real runs
scale.py requests a second by AWS's published quotas
deaths.py how long it takes until many owners that died at once are followed, simulated
"""
