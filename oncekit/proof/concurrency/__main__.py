"""Runs what this room is for: `python -m oncekit.proof.concurrency --help` says with which options."""

from oncekit.proof.concurrency.fleet import main

main()
