"""The distribution of the final loss: certified probabilities and quantiles, and independent estimates."""
