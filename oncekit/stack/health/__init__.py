"""What is wrong with a stack: whole.py, waiting.py and dead.py look; finding.py is an answer, and how AWS is asked."""
