"""The proof: what is done to see whether the promises of Once hold."""
