"""The Amazon States Language in JSONata: one interpreter, for the local cloud, for the model and for single states.

It can be stepped, and does nothing itself: calls, time, chance and ids are handed in.

    definition.py   what runs here
    states.py       each type of state: what it asks for, and where it leads
    fields.py       the values of a state's fields
    running.py      an execution from state to state
    history.py      its events
    errors.py       names of errors, and what a Retry or a Catch is for
    sizes.py        256 KiB
    expression.py   JSONata 2.0.6 on jsonata-python, with what is corrected in it:
    functions.py    functions of Step Functions, and those that the engine has otherwise than the reference
    javascript.py   numbers, strings and regular expressions as JavaScript has them
    values.py       JSON values as the engine wants them
"""
