"""Figures: functions that take data and optional axes, return the axes, and show and save nothing.

`style` makes axes, legends and files. matplotlib is imported here and nowhere above, so that nothing else
waits for it.
"""
