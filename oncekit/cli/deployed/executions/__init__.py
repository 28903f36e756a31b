"""Executions of a stack: who had the lock, which path they took, and what business logic logged in each attempt."""
