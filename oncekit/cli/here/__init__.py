"""Commands that work here: run, demo, up and graph."""
