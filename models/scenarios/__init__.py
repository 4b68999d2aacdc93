"""Sampled noise: draws, the problem with counted scenarios, and what a sample proves."""
