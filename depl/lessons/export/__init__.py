"""Lessons as files to teach with: notebooks, slides, handouts, and the kit of a lesson."""
