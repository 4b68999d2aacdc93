"""Training traces: the loss (or the error rate) of real runs, epoch by epoch, and the files they come in.

This is where estimation begins (Sec. VI-A of the paper): a trace says what training really did, and every
law of an instance is fitted to traces.
"""
