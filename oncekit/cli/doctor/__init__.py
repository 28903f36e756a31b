"""`once doctor`: command.py shows the answers of whole.py, waiting.py and dead.py; finding.py is how AWS is asked."""
