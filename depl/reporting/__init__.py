"""The report on one plan: a page for whoever pays, with the promise, prices, what binds, and the certificate."""
