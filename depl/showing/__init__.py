"""How objects show themselves: the tables of the command line, pages for notebooks, and frames of pandas."""
