"""Resources of a template are made here.

deploy.py             makes them, and adds what moto drops; moto_resources.py those that are moto's
resources.py          by type of resource, its names and who makes it
stack.py              what a deployment has made
stack_answers.py      what CloudFormation says of it; parameter_answers.py what Parameter Store does,
                      secret_answers.py what Secrets Manager does
write_definitions.py  writes the definitions of the state machines into files
"""
