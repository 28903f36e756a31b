"""The one logger of a function's process: who appends keys to it, appends them to every line of the library."""

from functools import cache

from aws_lambda_powertools import Logger


@cache
def logger() -> Logger:
    """The logger of this function, by its service name. Made on first use: it reads the environment."""
    return Logger()
