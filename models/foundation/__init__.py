"""What every room stands on: errors, documents, files, compiled code."""
