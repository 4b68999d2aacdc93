"""The second opinion: whether a plan is what it claims to be, worked out on its own."""
