"""Draws a state machine as SVG, as it is read: a column for each section, whose states stand in the definition's order.

    graph.py    the states of a definition, the ways between them, and what a run took
    layout.py   places in pixels
    svg.py      the picture

A section begins at a state whose Comment begins with `[its heading]`; without headings there are the states, and the
ends. A choice whose rules have a Comment lists its ways. A path that was taken is drawn in one column.

A line to the next state goes straight down; another one goes in the gutters beside the columns, to a later state on the
right, and crosses columns between their rows. Lines of one kind to the same state join into one before they arrive:
thirty states with sixty lines stay readable.
"""
