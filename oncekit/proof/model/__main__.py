"""Runs what this room is for: `python -m oncekit.proof.model --help` says with which options."""

import sys

from oncekit.proof.model.exploration import main

sys.exit(main())
