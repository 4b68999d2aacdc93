"""Exact search for a cheapest plan under the law itself."""
