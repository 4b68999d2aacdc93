"""The default method: exact search, greedy rule and loop in turn, one answer."""
