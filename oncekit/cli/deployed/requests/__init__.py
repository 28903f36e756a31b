"""Requests: read from files, judged by their form, sent, waited for, and found where the stack keeps them."""
