"""A template as it is read.

template.py    template.yaml with its parameters
form.py        whether it has the form of a template
sam.py         translates it to CloudFormation
elsewhere.py   values that it takes from elsewhere: once/values.yaml
built.py       what `sam build` has made; archive.py unpacks code that is in an archive
intrinsics.py  Ref, GetAtt, Sub, If...
definition.py  a state machine's definition with its substitutions
"""
