"""Odd input for everything that takes any: `python -m proof.fuzz`."""
