"""The names of what traces hold besides the loss, and of what a promise may bound; nothing is imported."""

RATES = ("accuracy", "error_rate")
METRICS = (*RATES, "start_loss", "start_accuracy", "start_error_rate")
TARGETS = ("loss", "error_rate")
"""What the target of an instance may bound."""
