"""Independent ways to what the toolkit computes, by which cases judge it; no other code of it enters them.

Oracles that tests alone use are in `tests/oracles`.
"""
