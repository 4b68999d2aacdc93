"""Lower bounds of the cost of every plan, by prices of time, gain and variance, at any size."""
