"""API Gateway: serves the REST APIs of the template over HTTP, with their own mapping templates.

    rest_api.py     an API as deployed: its routes, methods and integrations
    listener.py     the HTTP server
    callers.py      who may call
    exchange.py     one request: validated, mapped, passed on, and its answer mapped
    integrations.py calls of AWS services, as the role of the integration
    proxy.py        functions that answer requests of an API of one's own
    velocity.py     mapping templates, in Velocity (airspeed)
    variables.py    $input, $util and $context
    refusals.py     what API Gateway answers by itself

What is believed of API Gateway is in these modules, each with its source: a sentence of AWS's documentation, an answer
recorded on AWS, or the word "unconfirmed" and a row of docs/verify-on-aws.md.
"""
