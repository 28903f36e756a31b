"""The tests in `application/` are a user's, and are run as a user runs them: test_kit.py starts them."""

collect_ignore = ["application"]
