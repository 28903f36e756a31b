"""`once doctor`: command.py shows the answers of whole.py and waiting.py, which are made of what finding.py asks."""
