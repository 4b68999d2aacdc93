"""What was promised and what was kept."""
