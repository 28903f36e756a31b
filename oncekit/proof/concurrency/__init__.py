"""Real processes that are killed, over an atomic DynamoDB-compatible server."""
