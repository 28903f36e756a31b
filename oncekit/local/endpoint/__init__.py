"""The endpoint of AWS on this machine.

server.py         the endpoint; loopback.py any server on 127.0.0.1
access_keys.py    the access keys of one run; every call needs one
request_rules.py  which HTTP requests are accepted on this machine, in front of a WSGI application
rest_requests.py  what a request of a REST protocol asks for
own_services.py   services that are answered before moto sees the request
"""
