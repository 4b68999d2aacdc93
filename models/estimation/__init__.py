"""From losses of training runs to laws of an instance, and whether these laws may be used (Sec. VI-A)."""
