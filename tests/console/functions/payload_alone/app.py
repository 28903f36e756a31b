"""Business logic that gets a payload, and knows nothing of Once."""


def handler(event: object, _context: object) -> object:
    return {"got": event}
