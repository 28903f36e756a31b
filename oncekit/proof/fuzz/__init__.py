"""Odd input for everything that takes any: `python -m oncekit.proof.fuzz`."""
