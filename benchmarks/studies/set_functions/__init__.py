"""Set functions and selections of data for the cases on them."""
