"""Exact search for a cheapest plan under scenarios, where the mathematical programs give up."""
