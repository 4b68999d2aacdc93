"""Adaptive policies: after every epoch stop, go on or switch, with a promise certified beforehand."""
