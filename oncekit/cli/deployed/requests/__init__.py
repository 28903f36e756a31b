"""Requests: read from files, sent, waited for, and found where the stack keeps them."""
