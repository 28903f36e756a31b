"""Business logic that leaves the decision to a person."""

from once import NeedsAttention, Request, operation


@operation()
def handler(request: Request) -> None:
    raise NeedsAttention("somebody has to look at it")
