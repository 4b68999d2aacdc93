"""Path problems for the cases on model selection, and their peers."""
