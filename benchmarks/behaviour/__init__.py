"""A record of what every method answers, and its comparison with what the methods answer now.

``depl bench behaviour record FILE`` solves a fixed list of problems by every method and
writes what came out; ``compare FILE`` does so again and prints every difference. A change of the code that is
meant to keep behaviour is made between the two. The committed record is
``benchmarks/results/behaviour/record.json``.
"""
