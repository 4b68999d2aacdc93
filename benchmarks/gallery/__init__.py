"""Figures with their numbers: of one family of instances, and of everything that a sweep measured."""
