"""Refused requests, objects in the response bucket: what would become of each, and what is done to it."""
