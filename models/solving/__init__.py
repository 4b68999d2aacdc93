"""The contract of every method, and what is told of its result."""
