"""Sweeps over suites that survive: every finished attempt is stored at once, and every failure is one."""
