"""What the product and its tools agree on: what a stack is made of, what it is given and what it keeps.

lanes.py                the lanes, and which one an owner is in
own_stack.py            which stack is Once's own, and what its outputs are called
operation_functions.py  which function each operation has
requests.py             whose request an input is; http_request.py reads one of the HTTP API, picked_request.py one that
                        a rule or a pipe of an application passes on
record_form.py          which records Once has written
items.py, objects.py    the items of a table, and the objects of a bucket, as plain values
words.py                words that Once writes; quotas.py AWS quotas
"""
