"""Our own checks of the definitions and the template: what linters, SAM, cfn-lint and asl-validator do not see.

    expressions.py      JSONata that AWS cannot evaluate: syntax, functions, names, $states where it has no such member
    variables.py        variables that are not assigned on every path to their use; scopes of Maps
    errors.py           error names in Retry and Catch that the integration cannot raise
    timeouts.py         function < task < lease < execution, over the bounds of the parameters
    substitutions.py    placeholders without a value, outside of a string, or where a number is asked for
    shape.py            comments, names, reachability, ends, what a task must have
    retries.py          retries without a cap or jitter, and those around something that may have happened
    payloads.py         results and messages that may outgrow 256 KiB
    writes.py           conditions of writes to the record
    functions.py        functions that the state machine cannot call, or that no alarm watches
    alarms.py           alarms that CloudWatch does not make, or that do not end
    rollouts.py         alarms that stop a rollout wrongly, or not
    pipes.py            input templates of pipes that no execution can be started with
    cloudformation.py   cfn-lint on the translated template with its definitions rendered

What they read: project.py has the template, machine.py a definition, reading.py and syntax.py an expression, and
metric_math.py evaluates that of an alarm. What is allowed all the same has its reason in reasons.py.
Run as `python -m oncekit.gate`.
"""
