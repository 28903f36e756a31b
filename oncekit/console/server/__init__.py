"""The console's page: HTML made here, live by server-sent events.

guard.py     who is let in
answers.py   responses, and the headers that each has
live.py      what is told to pages while they are open
frame.py     what every page has
views.py     all pages: lists.py, runs.py, records.py, doing.py
addresses.py where they are
app.py       which address is which page
serving.py   the server, on 127.0.0.1
"""
