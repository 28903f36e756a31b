"""The console's page: HTML made here, live by server-sent events.

guard.py     who is let in
answers.py   responses, and the headers that each has
live.py      what is told to pages while they are open
views.py     one function a page
app.py       which address is which page
serving.py   the server, on 127.0.0.1
"""
