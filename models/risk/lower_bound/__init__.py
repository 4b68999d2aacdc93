"""Lower bounds on the probability of a miss by exponential tilting (Esscher)."""
