"""Commands that work on a deployed stack, or on the local cloud that `once up` keeps up.

A command is a module of its name, with its options and what it prints; oncekit.stack has what it does. They share:

    on_stack.py        connects, prints, and gives the exit code
    rejected_lines.py  refused requests as people read them
"""
