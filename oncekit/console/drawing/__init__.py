"""Draws a state machine as SVG: its states in a column, in the order of its definition, which is written as it is read.

    graph.py    the states of a definition, the ways between them, and what a run took
    layout.py   places in pixels
    svg.py      the document

A line to the next state goes straight down; one that skips states is on the right, one to an earlier state on the left.
Lines of one kind to the same state join into one before they arrive: thirty states with sixty lines stay readable.
"""
