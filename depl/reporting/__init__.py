"""The report on one plan: a page for whoever pays, with promise, prices, what binds, and certificate."""
