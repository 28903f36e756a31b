"""What each path costs in each lane, counted from real runs.

prices.py      what AWS asks for, and what is assumed of time
counting.py    counts the calls of a run, and what DynamoDB charges for them
logged.py      counts the bytes that a run logs
measuring.py   runs one request, and adds up what it and what it started took
paths.py       the paths of a request
by_http.py     the paths of a request by HTTP
by_function.py the paths of a request in the direct lane
table.py       the table
"""
