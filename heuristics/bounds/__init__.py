"""Lower bounds that hold at any size."""
