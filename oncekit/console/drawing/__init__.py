"""Draws a state machine as SVG, in rows, by Sugiyama's method.

    vertices.py   what a drawing is made of
    layers.py     which row each state is in, and where the edges bend that pass rows
    order.py      the order within the rows, with few crossings
    across.py     the horizontal places, with straight lines
    geometry.py   boxes, lines and ports in pixels
    svg.py        the document

Edges of one kind to the same state share their bends, so that they join into one line before they arrive: thirty states
with sixty edges stay readable.
"""
