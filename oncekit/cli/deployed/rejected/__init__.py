"""Refused requests, which wait in a queue: what each message says, what would become of it, and what is done to it."""
