"""Our own checks of the definitions: what cfn-lint, asl-validator, sam and checkov do not see, and a promise needs.

    expressions.py   JSONata that AWS cannot evaluate: functions, names, $states where it has no such member
    variables.py     variables that are not assigned on every path to their use; scopes of Maps
    errors.py        error names in Retry and Catch that the integration cannot raise
    outputs.py       raw answers that go on to the next state
    retries.py       retries that are used up before their execution ends, or repeat what a Catch names
    timeouts.py      function < task < lease < execution, over the bounds of the parameters
    lanes.py         states of the two lanes that differ without a reason
    writes.py        writes to the record without status, owner and fence in their condition

What they read: project.py has the template, machine.py a definition, reading.py an expression.
Run as `python -m oncekit.gate`.
"""
