"""The logger that a function and the library share: keys that are appended to it are in every line of both."""

from functools import cache

from aws_lambda_powertools import Logger


@cache
def logger() -> Logger:
    """The logger of this function, by its service name. Made on first use: it reads the environment."""
    return Logger()
