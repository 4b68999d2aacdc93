"""The report: one page that opens offline, with figures, tables, provenance, and verdicts on the paper."""
