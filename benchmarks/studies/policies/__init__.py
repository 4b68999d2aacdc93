"""Policies on recorded training: how they are made, followed and judged."""
