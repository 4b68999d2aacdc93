"""Exact model and cluster selection on the real cost: stage 3 inside stage 2 (Sec. IV-B)."""
