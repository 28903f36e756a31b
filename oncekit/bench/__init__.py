"""`make bench`: what each path costs, how many requests a second each lane carries, and how long things take here.

cost/    the cost of each path in either lane, and Powertools' beside it
scale.py requests a second by AWS's published quotas
speed.py the import time of a function, and the speed of the local cloud
"""
