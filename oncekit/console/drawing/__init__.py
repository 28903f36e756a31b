"""Draws a state machine as SVG, in rows, by Sugiyama's method.

    graph.py    the states of a definition, the ways between them, and what a run took
    layout.py   rows, the order within them, and places in pixels
    svg.py      the document

Edges of one kind to the same state share their bends, so that they join into one line before they arrive: thirty states
with sixty edges stay readable.
"""
