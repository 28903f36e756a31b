"""Serves the pages.

app.py       which address is which page
guard.py     who is let in
frame.py     what every page has, and the headers of every answer
runs.py      a run, and what is shown of a state when it is opened
records.py   operations: the list, and one, and what an operator does to it
doing.py     start a request; what waits
"""
