"""The commands of the command line, one module each: a function of its options, with these above it."""
