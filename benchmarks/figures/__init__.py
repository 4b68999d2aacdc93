"""Figures, one function per file: it takes data and optional axes, returns the axes, shows and saves nothing.

`canvas` makes axes and writes files. matplotlib is imported here and nowhere above, so that nothing else
waits for it.
"""
