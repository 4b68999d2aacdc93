"""What every room stands on: errors, documents, files, deadlines, compiled code."""
